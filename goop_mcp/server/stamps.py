"""What tells whether a resource of the project has changed: a value that is another one after each change of it."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from goop_mcp import workspace
from goop_mcp.errors import GoopError
from goop_mcp.server.project_resources import MEMORIES, memory_id
from goop_mcp.workspace.layout import ADL, CHRONICLE, DOCUMENTS, HANDOFF, document_uri

if TYPE_CHECKING:
    from goop_mcp.composition import Application
    from goop_mcp.store.interface import Reading

__all__ = ["Stamps"]

_NAMES = {document_uri(name): name for name in DOCUMENTS}
_RECORDED = {document_uri(name): name for name in (CHRONICLE, ADL, HANDOFF)}


class Stamps:
    """Takes the stamps of many resources at once: it asks for the project's revision, and for more only if that moved.

    It opens nothing that does not exist. May be called by several threads.
    """

    def __init__(self, application: "Application") -> None:
        """Take the application whose resources they are."""
        self._application = application
        self._last: tuple[int, Mapping[str, object]] = (0, {})

    def __call__(self, uris: Collection[str]) -> Mapping[str, object]:
        """Return a stamp for each of `uris`, None for what is not there. Raises StoreError."""
        kept = [uri for uri in uris if self._is_kept(uri)]
        rows = self._of_rows(kept) if kept else {}
        return {
            uri: _both(rows.get(uri), self._of_file(_NAMES[uri]) if uri in _NAMES else None)
            for uri in uris
        }

    def _is_kept(self, uri: str) -> bool:
        """Tell whether the database has a part in the resource."""
        return uri.startswith(MEMORIES) or (
            uri in _RECORDED and not self._application.settings.writes_files
        )

    def _of_rows(self, uris: Collection[str]) -> Mapping[str, object]:
        def ask(reading: "Reading") -> tuple[int, Mapping[str, object]]:
            revision, known = reading.revision(), self._last
            if known[0] == revision and known[1].keys() >= set(uris):
                return known
            return revision, {uri: _of_row(uri, reading) for uri in uris}

        self._last = last = self._application.store.read(ask)
        return last[1]

    def _of_file(self, name: str) -> object:
        files = self._application.files
        try:
            path = workspace.places.find_current_document(files, name)
            stamp = files.stamp(path)
        except (GoopError, OSError) as error:
            return str(error)

        return None if stamp is None else (path, stamp)


def _both(row: object, file: object) -> object:
    return None if row is None and file is None else (row, file)


def _of_row(uri: str, reading: "Reading") -> object:
    if uri in _RECORDED:
        return reading.document_revision(_RECORDED[uri]) or None
    number = memory_id(uri.removeprefix(MEMORIES))
    found = None if number is None else reading.memory(number)
    return None if found is None else (found.revision, found.forgotten_at)

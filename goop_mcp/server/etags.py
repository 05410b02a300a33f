"""ETags of resources: values that differ after each change of a document, report or memory."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from goop_mcp import workspace
from goop_mcp.errors import GoopError
from goop_mcp.server.project_resources import MEMORIES, REPORTS, row_id
from goop_mcp.workspace.layout import (
    ADL,
    CHRONICLE,
    DOCUMENTS,
    HANDOFF,
    PEOPLES_DOCUMENTS,
    STATE,
    document_uri,
)

if TYPE_CHECKING:
    from goop_mcp.context import AppContext
    from goop_mcp.store.interface import ReadTransaction

__all__ = ["ETags"]

_NAMES = {document_uri(name): name for name in DOCUMENTS}
_RECORDED = {
    document_uri(name): name for name in (CHRONICLE, ADL, HANDOFF, STATE, *PEOPLES_DOCUMENTS)
}


class ETags:
    """Reads the etags of many resources at once; calls from several threads are safe.

    It reads the project's revision, and rows only if the revision has changed. It opens nothing
    that does not exist.
    """

    def __init__(self, application: "AppContext") -> None:
        """Read etags of the resources of `application`."""
        self._application = application
        self._last: tuple[int, Mapping[str, object]] = (0, {})

    def __call__(self, uris: Collection[str]) -> Mapping[str, object]:
        """Return an etag for each of `uris`, None for what does not exist. Raises StoreError."""
        # Memories and reports are rows; recorded documents, the state and what steps have kept are,
        # unless the server writes files.
        shows_rows = not self._application.settings.writes_files
        in_rows = [
            uri
            for uri in uris
            if uri.startswith((MEMORIES, REPORTS)) or (shows_rows and uri in _RECORDED)
        ]
        if shows_rows and any(uri in _NAMES for uri in uris):
            # The state says in which folder a document is.
            in_rows.append(document_uri(STATE))
        rows = self._of_rows(in_rows) if in_rows else {}
        state = rows.get(document_uri(STATE))
        stored = state if isinstance(state, str) else None

        etags: dict[str, object] = {}
        files = self._application.files
        for uri in uris:
            row: object = rows.get(uri)
            file: object = None
            if uri in _NAMES:
                try:
                    path = workspace.document_lookup.find_current_document(
                        files, _NAMES[uri], stored=stored
                    )
                    stamp = files.stamp(path)
                    file = None if stamp is None else (path, stamp)
                except (GoopError, OSError) as error:
                    # That a document becomes unreadable, or readable again, is a change as well.
                    file = str(error)

            etags[uri] = None if row is None and file is None else (row, file)

        return etags

    def _of_rows(self, uris: Collection[str]) -> Mapping[str, object]:
        def ask(reading: "ReadTransaction") -> tuple[int, Mapping[str, object]]:
            revision, known = reading.revision(), self._last
            if known[0] == revision and known[1].keys() >= set(uris):
                return known

            etags: dict[str, object] = {}
            for uri in uris:
                if uri in _RECORDED:
                    name = _RECORDED[uri]
                    if name == STATE:
                        etags[uri] = reading.stored_state()
                    elif name in PEOPLES_DOCUMENTS:
                        kept = reading.kept_document(name)
                        etags[uri] = None if kept is None else kept.revision
                    else:
                        etags[uri] = reading.document_revision(name) or None

                    continue

                if uri == REPORTS:
                    newest = reading.reports(include_retired=True, limit=1)
                    # An empty list is there too, and becomes another one with the first report.
                    last = newest[0].id if newest else 0
                    etags[uri] = (last, reading.round().number, reading.reports_changed_at())
                    continue

                if uri.startswith(f"{REPORTS}/"):
                    number = row_id(uri.removeprefix(f"{REPORTS}/"))
                    report = None if number is None else reading.report(number)
                    # Closing or opening its round changes whether a report is late.
                    etags[uri] = (
                        None if report is None else (report.id, reading.reports_changed_at())
                    )
                    continue

                number = row_id(uri.removeprefix(MEMORIES))
                found = None if number is None else reading.memory(number)
                etags[uri] = None if found is None else (found.revision, found.forgotten_at)

            return revision, etags

        # Revision and etags are kept as one value, because another thread may replace them.
        self._last = last = self._application.store.read(ask)
        return last[1]

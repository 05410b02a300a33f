"""The revisions that the files of a project show, whatever its database says.

They are newer than the database if an older copy of it was put back, if it was removed, and if the
files came from another machine or database.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from goop_mcp.errors import WorkspaceError
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.store.older_copies import OLDER_COPIES, OlderCopy
from goop_mcp.workspace.archive import ARCHIVE_FOLDER, read_archive_name
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import (
    ADL,
    CHECKPOINTS_FOLDER,
    CHRONICLE,
    FOLDER,
    HANDOFF,
    archived_document,
)
from goop_mcp.workspace.state import ProjectState, read_state

__all__ = ["newest_anywhere", "newest_shown", "older_copy_of"]

# Anybody can write a mark into a document. Longer numbers are none that changes could have reached,
# and would leave no room for later ones.
_MARK: Final = re.compile(r"<!-- goop:(?:rev|state) (\d{1,15})(?: \w+)? -->")
_END_MARK: Final = re.compile(r"<!-- goop:end (\d{1,15}) -->")
_NAMED: Final = re.compile(r"(?:.+\.conflict-|state\.broken-|cp-.+-)(\d{1,15})\.(?:md|json)")
_ROUND: Final = re.compile(r"round-(\d{1,9})")
_LARGEST: Final = 10**15
_MOST_BYTES: Final = 64 * 1024 * 1024
# The last entry of an archive ends there, whatever people have added after it.
_END: Final = 64 * 1024


def newest_shown(files: ProjectFiles) -> int:
    """Return the newest revision in the documents that show entries, 0 without any."""
    return max(_shown(files, [f"{FOLDER}/{name}" for name in (CHRONICLE, ADL, HANDOFF)]), default=0)


def newest_anywhere(files: ProjectFiles) -> int:
    """Return the newest revision in any file that goop-mcp writes into the project's folder."""
    with suppress(WorkspaceError, OSError):
        return max([newest_shown(files), *_elsewhere(files)])
    return newest_shown(files)


def older_copy_of(reading: ReadTransaction, files: ProjectFiles | None) -> OlderCopy | None:
    """Return how much older the database is than its `files`, or was earlier in this round.

    None if it is not; `files` is None where the database shows all documents.
    """
    used = newest_shown(files) if files is not None else 0
    if used > reading.revision():
        return OlderCopy(had=reading.revision(), used=used)

    newest = reading.event_revisions(OLDER_COPIES, without=(), limit=1)
    if not newest or newest[0] < reading.round().first_revision:
        return None
    [*_, event] = reading.events(after_revision=newest[0] - 1, document=OLDER_COPIES)
    return OlderCopy.of_event(event)


def _elsewhere(files: ProjectFiles) -> Iterator[int]:
    """Yield revisions in copies, archives and names of files, and in the state."""
    names = files.names(FOLDER)
    for name in (*names, *files.names(CHECKPOINTS_FOLDER)):
        if match := _NAMED.fullmatch(name):
            yield int(match[1])
    yield from _shown(files, [f"{FOLDER}/{name}" for name in names if ".conflict-" in name])

    archived = files.names(ARCHIVE_FOLDER)
    for name in archived:
        if read_archive_name(name) is not None:
            end = files.read_end(f"{ARCHIVE_FOLDER}/{name}", _END)
            # An entry may be longer than that, but not its last line.
            yield from _revisions(end.decode(errors="replace") if end else "", mark=_END_MARK)

    rounds = [int(match[1]) for name in archived if (match := _ROUND.fullmatch(name))]
    yield from _shown(
        files,
        [archived_document(name, round=max(rounds, default=0)) for name in (CHRONICLE, HANDOFF)],
    )

    state = read_state(files)
    if isinstance(state, ProjectState) and 0 < (state.revision or 0) < _LARGEST:
        yield state.revision or 0


def _shown(files: ProjectFiles, paths: list[str]) -> Iterator[int]:
    for path in paths:
        # A file that cannot be read shows nothing.
        with suppress(WorkspaceError):
            if not files.is_link(path):
                yield from _revisions(files.read_text(path, most=_MOST_BYTES) or "")


def _revisions(text: str, *, mark: re.Pattern[str] = _MARK) -> Iterator[int]:
    return (int(found[1]) for found in mark.finditer(text))

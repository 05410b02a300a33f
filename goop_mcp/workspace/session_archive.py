"""Pack the folder of each finished session into an archive next to it, without losing data (H-58).

Files are removed only after the archive was written, synced and read back, and only if they have
not changed since they were packed. The same folder always gives the same bytes, so that an
interrupted run can be repeated: it finds its own archive and continues with the removal.
"""

import gzip
import io
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from goop_mcp.errors import PathRefusedError, UnwritableFileError, WorkspaceError
from goop_mcp.validation.findings import excerpt
from goop_mcp.workspace.files import MOST_BYTES, FileKind, FileStamp, ProjectFiles
from goop_mcp.workspace.folders import open_folder
from goop_mcp.workspace.layout import SESSIONS_FOLDER, session_archive, session_folder
from goop_mcp.workspace.replacing import place_file
from goop_mcp.workspace.sessions import SessionFolder, list_sessions, read_session

__all__ = ["FINISHED", "ArchivedSession", "archive_session", "finished_sessions", "is_finished"]

FINISHED = frozenset({"CANCELLED", "COMPLETE", "COMPLETED", "DONE", "FAILED", "KILLED"})
"""The values in state.json of a session that has ended; any other value may be a running one."""

_DATE = "%Y%m%d-%H%M%S"
_LENGTH_OF_DATE = len("20260114-093000")
_MOST_FILES = 1_000
_MODE = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedSession:
    """A packed session: the path of its archive, and the sizes before and after packing.

    `kept` are files that changed during packing.
    """

    id: str
    path: str
    files: int
    bytes: int
    packed_bytes: int
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Packed:
    path: str
    stamp: FileStamp
    content: bytes


def finished_sessions(files: ProjectFiles, *, before: datetime | None = None) -> tuple[str, ...]:
    """Return the finished sessions, oldest first; with `before` only those begun earlier.

    The id states when a session began; one without a date counts as begun now.
    """
    sessions = (read_session(files, id) for id in list_sessions(files))
    return tuple(
        each.id
        for each in sessions
        if is_finished(each) and (before is None or _start_of(each.id) < before)
    )


def is_finished(session: SessionFolder) -> bool:
    """Whether the session has ended, by its state."""
    return (session.status or "").upper() in FINISHED


def archive_session(files: ProjectFiles, id: str, *, dry_run: bool = False) -> ArchivedSession:
    """Pack the folder of session `id` into `<id>.tar.gz` next to it, and remove the folder.

    With `dry_run` nothing is written or removed. Raises WorkspaceError for a session that does not
    exist, is not finished, or contains links, devices, more than MOST_BYTES or more than 1,000
    files. Raises UnwritableFileError if another archive has its name.
    """
    session = read_session(files, id)
    if not files.exists(session_folder(id)):
        raise WorkspaceError(f"there is no session {id} below {SESSIONS_FOLDER}")
    if not is_finished(session):
        state = f"the state {excerpt(session.status, 40)!r}" if session.status else "no state"
        raise WorkspaceError(
            f"session {id} has {state}; expected one of {', '.join(sorted(FINISHED))}"
        )

    folder, left = session_folder(id), MOST_BYTES
    packed: list[_Packed] = []
    for number, path in enumerate(_walk(files, folder)):
        stamp, content = files.stamp(path), files.read_bytes(path)
        if stamp is None or content is None:
            raise WorkspaceError(f"{path} went away while it was packed; call again")

        left -= len(content)
        if left < 0 or number >= _MOST_FILES:
            most = f"{MOST_BYTES:,} bytes or {_MOST_FILES:,} files"
            raise WorkspaceError(f"{folder} holds more than {most}; pack it by hand")

        packed.append(_Packed(path, stamp, content))

    archive = _archive(id, packed)
    if not dry_run:
        place_file(files, session_archive(id), archive, advice="another archive has its name")
        # Reading the archive back detects a disk that lost data, before the files are removed.
        if files.read_bytes(session_archive(id)) != archive:
            raise UnwritableFileError(
                f"{session_archive(id)} was not written as it should be; the session's folder is"
                " left as it is"
            )

    return ArchivedSession(
        id=id,
        path=session_archive(id),
        files=len(packed),
        bytes=sum(len(each.content) for each in packed),
        packed_bytes=len(archive),
        kept=() if dry_run else tuple(_remove(files, folder, packed)),
    )


def _start_of(id: str) -> datetime:
    try:
        return datetime.strptime(id[:_LENGTH_OF_DATE], _DATE).astimezone(UTC)
    except ValueError:
        return datetime.now(UTC)


def _walk(files: ProjectFiles, folder: str) -> Iterator[str]:
    for name in files.names(folder):
        path = f"{folder}/{name}"
        if files.is_link(path):
            raise PathRefusedError(
                f"{path} is a link, which is not packed; remove it, or put the file itself there"
            )

        kind = files.kind(path)
        if kind is FileKind.FOLDER:
            yield from _walk(files, path)
        elif kind is FileKind.FILE:
            yield path
        else:
            raise PathRefusedError(f"{path} is not a file; remove it first")


def _archive(id: str, packed: list[_Packed]) -> bytes:
    """Return the compressed archive of the session; the same files give the same bytes."""
    buffer = io.BytesIO()
    # Owner, group and the time of packing would differ between runs, so none of them is stored.
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        for each in packed:
            member = tarfile.TarInfo(f"{id}/{each.path.removeprefix(session_folder(id) + '/')}")
            member.size, member.mode = len(each.content), _MODE
            member.mtime = each.stamp.changed_ns // 1_000_000_000
            tar.addfile(member, io.BytesIO(each.content))

    return buffer.getvalue()


def _remove(files: ProjectFiles, folder: str, packed: list[_Packed]) -> Iterator[str]:
    """Remove the files that are unchanged since packing, and empty folders; yield those left."""
    # A file that changed after it was packed is newer than the archive and must stay.
    for each in packed:
        parent, _, name = each.path.rpartition("/")
        with open_folder(files.root, files.resolve(parent)) as place:
            if files.stamp(each.path) == each.stamp:
                place.unlink(name)

    left = list(_walk(files, folder))
    yield from left
    if not left:
        _remove_empty(files, folder)


def _remove_empty(files: ProjectFiles, folder: str) -> None:
    for name in files.names(folder):
        _remove_empty(files, f"{folder}/{name}")
    parent, _, name = folder.rpartition("/")
    with open_folder(files.root, files.resolve(parent)) as place:
        os.rmdir(place.name(name), dir_fd=place.handle)

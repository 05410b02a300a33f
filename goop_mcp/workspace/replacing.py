"""Replace a file whole or not at all, and clear away what killed writers left (STORAGE, section 4)."""

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from io import FileIO
from typing import Protocol

from goop_mcp.errors import PathRefusedError, UnwritableFileError
from goop_mcp.store.failpoints import Failpoint, failpoint
from goop_mcp.validation.findings import excerpt
from goop_mcp.workspace.files import FileKind, ProjectFiles
from goop_mcp.workspace.folders import Folder, open_folder
from goop_mcp.workspace.layout import FOLDER, may_create, may_write
from goop_mcp.workspace.paths import relative_parts

__all__ = [
    "Missing",
    "append_file",
    "create_file",
    "is_stray",
    "place_file",
    "replace_file",
    "sha256",
    "sweep_strays",
]

_NEW_FILE_MODE = 0o644
_PIECE = 1024 * 1024
_STRAY = re.compile(r"\..{1,200}\.\d{1,10}\.[0-9a-f]{8}\.goop-tmp")
_PATIENCE_ON_WINDOWS = 1.0
_PAUSE_ON_WINDOWS = 0.02
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_REASONS = {
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "the disk quota is used up; free some space and try again",
    errno.EFBIG: "the file would become larger than the system allows",
    errno.EROFS: "the disk is read-only",
    errno.ENOTDIR: "a part of its path is no folder; move it away",
    errno.ELOOP: "a part of its path is a link that is not followed; put a folder there",
    errno.EACCES: "this user may not write there; change the permissions of the folder",
    errno.EPERM: "this user may not write there; change the permissions of the folder",
    errno.EMFILE: "too many files are open in this process",
    errno.ENFILE: "too many files are open on this machine",
}


def sha256(data: bytes) -> str:
    """Return the digest by which projections are compared, in hex."""
    return hashlib.sha256(data).hexdigest()


def replace_file(
    files: ProjectFiles, path: str, data: bytes, *, allowed: Callable[[str], bool] = may_write
) -> str:
    """Put `data` in place of the file at `path`, or create it; a reader sees the old or the new, whole.

    `allowed` tells which paths the caller may write; the default is what belongs to us in a project.

    Missing folders are made; the mode of an existing file is kept. The caller holds the queue of writers. Returns the
    sha256 of `data`. Raises PathRefusedError for a path outside the list of what we write and where a link stands in
    place of the file or of a folder, UnwritableFileError when the system refuses; the old file then lies there as it
    was, but for a fault of the last step, where it may be the new one.
    """
    with _writing(files, path, allowed) as (folder, name):
        _put(folder, name, data, mode=_mode(folder, name), into_place=_rename)

    return sha256(data)


class Missing(Protocol):
    """Says what has to follow the bytes that a file ends with; `is_whole` tells that these are all."""

    def __call__(self, found: bytes, *, is_whole: bool) -> bytes:
        """Return nothing where nothing is missing."""
        ...


def append_file(files: ProjectFiles, path: str, *, end: int, missing: Missing) -> None:
    """Append to the file at `path`, or create it, what `missing` returns for its last `end` bytes.

    A file that cannot take all of it keeps what fitted. The caller holds the queue of writers.
    Raises as replace_file.
    """
    with _writing(files, path, may_write) as (folder, name):
        _mode(folder, name)
        descriptor = folder.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, _NEW_FILE_MODE)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            size = os.fstat(descriptor).st_size
            file.seek(max(size - end, 0))
            data = missing(_all_of(file), is_whole=size <= end)
            if not data:
                return

            written = 0
            while written < len(data):
                written += file.write(data[written:]) or 0

            failpoint(Failpoint.ARCHIVE_APPEND)
            os.fsync(descriptor)
            failpoint(Failpoint.ARCHIVE_FSYNC)

        if size == 0:
            folder.sync()


def _all_of(file: FileIO) -> bytes:
    parts = []
    while part := file.read(_PIECE):
        parts.append(part)
    return b"".join(parts)


def create_file(files: ProjectFiles, path: str, data: bytes) -> bool:
    """Write `data` to `path` unless something is there already; tell whether it was written.

    Raises as replace_file.

    Nobody has to hold the queue of writers: of two who write at once one succeeds.
    """
    with _writing(files, path, may_create) as (folder, name):
        with contextlib.suppress(FileNotFoundError):
            folder.stat(name)
            return False

        with contextlib.suppress(FileExistsError):
            _put(folder, name, data, mode=None, into_place=_link)
            return True

    return False


def place_file(
    files: ProjectFiles, path: str, data: bytes, *, advice: str = "move it away first"
) -> None:
    """Write `data` to `path`; a file that says the same is left as it is. Raises as replace_file.

    UnwritableFileError also where another file is there already; `advice` says what to do then.
    """
    if create_file(files, path, data):
        return
    if (
        files.is_link(path)
        or files.kind(path) is not FileKind.FILE
        or files.read_bytes(path) != data
    ):
        raise UnwritableFileError(
            f"{files.relative(path)} is there already and says something else; {advice}"
        )


def is_stray(name: str) -> bool:
    """Tell whether `name` is that of a temporary file of ours."""
    return _STRAY.fullmatch(name) is not None


def sweep_strays(files: ProjectFiles, folder: str = FOLDER) -> tuple[str, ...]:
    """Remove the temporary files that killed writers left in `folder`; return their names.

    The caller holds the queue of writers, so that none of them is in use.
    """
    parts = files.resolve(folder)
    try:
        with open_folder(files.root, parts) as place:
            strays = tuple(name for name in place.names() if is_stray(name))
            for name in strays:
                place.unlink(name)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _not_written(folder, error) from error

    return strays


@contextlib.contextmanager
def _writing(
    files: ProjectFiles, path: str, allowed: Callable[[str], bool]
) -> Iterator[tuple[Folder, str]]:
    parts = relative_parts(path)
    if not allowed("/".join(parts)):
        raise PathRefusedError(
            f"path {excerpt(path, 60)!r} is not ours to write; expected a document that is"
        )

    try:
        with open_folder(files.root, _real_parts(files, parts[:-1]), create=True) as folder:
            yield folder, parts[-1]
    except PathRefusedError:
        raise
    except OSError as error:
        raise _not_written(path, error) from error


def _real_parts(files: ProjectFiles, parts: Sequence[str]) -> Sequence[str]:
    """Return where a folder really lies; a link to another folder of the project is followed."""
    return files.resolve("/".join(parts)) if parts else ()


def _mode(folder: Folder, name: str) -> int | None:
    """Return the mode of the file that is to be replaced, None when there is none yet."""
    try:
        found = folder.stat(name)
    except FileNotFoundError:
        return None

    if stat.S_ISLNK(found.st_mode):
        raise PathRefusedError(
            f"{name} is a link; expected the file itself, put it in place of the link"
        )

    if not stat.S_ISREG(found.st_mode):
        raise PathRefusedError(
            f"{name} is no file; expected a file there, move away what has its name"
        )

    return stat.S_IMODE(found.st_mode)


def _put(
    folder: Folder,
    name: str,
    data: bytes,
    *,
    mode: int | None,
    into_place: Callable[[Folder, str, str], None],
) -> None:
    temporary = f".{name}.{os.getpid()}.{secrets.token_hex(4)}.goop-tmp"
    try:
        _write_whole(folder, temporary, data, mode=mode)
        into_place(folder, temporary, name)
        failpoint(Failpoint.RENAME)
        folder.sync()
        failpoint(Failpoint.DIRECTORY_FSYNC)
    except BaseException:
        folder.unlink(temporary)
        raise


def _write_whole(folder: Folder, temporary: str, data: bytes, *, mode: int | None) -> None:
    descriptor = folder.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _NEW_FILE_MODE)
    # A file object loops over short writes; a bare write on a full disk ends early without an
    # error.
    with os.fdopen(descriptor, "wb") as file:
        failpoint(Failpoint.TEMPORARY_FILE)
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(descriptor, mode)

        file.write(data)
        file.flush()
        os.fsync(descriptor)
        if os.fstat(descriptor).st_size != len(data):
            raise OSError(errno.ENOSPC, "short write")

        failpoint(Failpoint.FSYNC)


def _link(folder: Folder, temporary: str, name: str) -> None:
    """Give the temporary file its name, if nobody has it: raises FileExistsError then."""
    try:
        folder.link(temporary, name)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise

        # Such a disk has no names that two can ask for at once; somebody may come between the look
        # and this.
        _rename(folder, temporary, name)
    else:
        folder.unlink(temporary)


def _rename(folder: Folder, temporary: str, name: str) -> None:
    """Put the temporary file in place; on Windows wait for whoever reads the old one."""
    deadline = time.monotonic() + _PATIENCE_ON_WINDOWS
    while True:
        try:
            folder.replace(temporary, name)
        except PermissionError:
            if os.name != "nt" or time.monotonic() > deadline:
                raise

            time.sleep(_PAUSE_ON_WINDOWS)
        else:
            return


def _not_written(path: str, error: OSError) -> UnwritableFileError:
    code = error.errno if error.errno is not None else 0
    reason = _REASONS.get(code) or (
        os.strerror(code).lower() if code else "the system gives no reason"
    )
    return UnwritableFileError(f"{path} was not written: {reason}")

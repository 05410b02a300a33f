"""Replace files atomically, and remove the temporary files of killed writers.

Data goes to a temporary file in the same folder, which is synced and then renamed. A reader sees
the old or the new content as a whole, and so does the next start after a power failure, because the
folder is synced as well.
"""

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from goop_mcp.errors import PathRefusedError, UnwritableFileError
from goop_mcp.store.failpoints import Failpoint, failpoint
from goop_mcp.store.git_ignore import GIT_IGNORE, NOT_FOR_GIT
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
    errno.ENOTDIR: "a part of its path is not a folder; move it away",
    errno.ELOOP: "a part of its path is a link that is not followed; put a folder there",
    errno.EACCES: "this user may not write there; change the permissions of the folder",
    errno.EPERM: "this user may not write there; change the permissions of the folder",
    errno.EMFILE: "too many files are open in this process",
    errno.ENFILE: "too many files are open on this machine",
}


def sha256(data: bytes) -> str:
    """Return the hexadecimal digest that is used to compare projections."""
    return hashlib.sha256(data).hexdigest()


def replace_file(
    files: ProjectFiles, path: str, data: bytes, *, allowed: Callable[[str], bool] = may_write
) -> str:
    """Replace the file at `path` with `data`, or create it; return the sha256 of `data`.

    `allowed` decides which paths the caller may write; the default are our files of a project.
    Missing folders are created; the mode of an existing file is kept. The caller holds the lock of
    the queue of writers. Raises PathRefusedError for any other path and for a link in place of the
    file or a folder, and UnwritableFileError if the system refuses; the old file is unchanged then,
    except after an error in the last step, when it may be the new one.
    """
    with _writing(files, path, allowed) as (folder, name):
        _put(folder, name, data, mode=_mode(folder, name), into_place=_rename)

    return sha256(data)


class Missing(Protocol):
    """Returns the bytes to append after `found`, the end of a file, or all of it if `is_whole`."""

    def __call__(self, found: bytes, *, is_whole: bool) -> bytes:
        """Return b"" if nothing is missing."""
        ...


def append_file(files: ProjectFiles, path: str, *, end: int, missing: Missing) -> None:
    """Append what `missing` returns for the last `end` bytes of the file at `path`, or create it.

    On a full disk the file keeps the part that was written. The caller holds the lock of the queue
    of writers. Raises as `replace_file`.
    """
    with _writing(files, path, may_write) as (folder, name):
        _mode(folder, name)  # raises for a link and for anything that is not a file
        descriptor = folder.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, _NEW_FILE_MODE)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            size = os.fstat(descriptor).st_size
            file.seek(max(size - end, 0))
            found = b"".join(iter(lambda: file.read(_PIECE) or b"", b""))
            data = missing(found, is_whole=size <= end)
            if not data:
                return

            # A raw write may take only a part, for instance just before the disk is full.
            written = 0
            while written < len(data):
                written += file.write(data[written:]) or 0

            failpoint(Failpoint.ARCHIVE_APPEND)
            os.fsync(descriptor)
            failpoint(Failpoint.ARCHIVE_FSYNC)

        if size == 0:
            folder.sync()


def create_file(files: ProjectFiles, path: str, data: bytes) -> bool:
    """Write `data` to `path` unless it exists already; return whether it was written.

    Needs no lock: of two concurrent writers exactly one succeeds. Raises as `replace_file`.
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
    """Write `data` to `path`; a file with the same content is left as it is.

    Raises as `replace_file`, and UnwritableFileError with `advice` if another file exists there.
    """
    if create_file(files, path, data):
        return
    if (
        files.is_link(path)
        or files.kind(path) is not FileKind.FILE
        or files.read_bytes(path) != data
    ):
        raise UnwritableFileError(
            f"{files.relative(path)} exists already with other content; {advice}"
        )


def is_stray(name: str) -> bool:
    """Whether `name` is that of one of our temporary files."""
    return _STRAY.fullmatch(name) is not None


def sweep_strays(files: ProjectFiles, folder: str = FOLDER) -> tuple[str, ...]:
    """Remove the temporary files of killed writers from `folder`; return their names.

    The caller holds the lock of the queue of writers, so that none of these files is in use.
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
    """Open the folder of `path`, creating it if necessary, and yield it with the file name."""
    parts = relative_parts(path)
    if not allowed("/".join(parts)):
        raise PathRefusedError(
            f"path {excerpt(path, 60)!r} is not ours to write; expected a document that is"
        )

    try:
        # Whoever creates the folder of a project protects what others will put there from git.
        ignored = f"{FOLDER}/{GIT_IGNORE}"
        if (
            parts[0] == FOLDER
            and "/".join(parts) != ignored
            and not os.path.lexists(files.root / FOLDER)
        ):
            create_file(files, ignored, NOT_FOR_GIT.encode())

        # A link to another folder of the project is followed.
        parents = files.resolve("/".join(parts[:-1])) if parts[:-1] else ()
        with open_folder(files.root, parents, create=True) as folder:
            yield folder, parts[-1]
    except (PathRefusedError, UnwritableFileError):
        raise
    except OSError as error:
        raise _not_written(path, error) from error


def _mode(folder: Folder, name: str) -> int | None:
    """Return the mode of the file to replace, None without a file; raise for anything else."""
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
            f"{name} is not a file; expected a file there, move away what has its name"
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

        into_place(folder, temporary, name)
        failpoint(Failpoint.RENAME)
        folder.sync()
        failpoint(Failpoint.DIRECTORY_FSYNC)
    except BaseException:
        folder.unlink(temporary)
        raise


def _link(folder: Folder, temporary: str, name: str) -> None:
    """Give the temporary file its name; raise FileExistsError if the name is taken."""
    try:
        folder.link(temporary, name)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise

        # A file system without hard links has no atomic "create unless it exists" for a whole file:
        # another writer may create the file between the check of the caller and this rename.
        _rename(folder, temporary, name)
    else:
        folder.unlink(temporary)


def _rename(folder: Folder, temporary: str, name: str) -> None:
    """Rename the temporary file to `name`; on Windows wait until nobody reads the old file."""
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

"""Put a file that is not there yet into a project: inside of it, whole or not at all, in nobody's place."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from goop_mcp.errors import UnwritableFileError

__all__ = ["put_new_file"]

_HAS_HANDLES = os.open in os.supports_dir_fd
_FOLDER_FLAGS = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NO_FOLDER = (errno.ENOTDIR, errno.ELOOP)
_FILE_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def put_new_file(project: Path, place: str, text: str, *, advice: str = "move it away first") -> None:
    """Write `text` to `place`, a path relative to the folder `project`, with the folders on the way to it.

    A file that is there already and says the same is left as it is. Raises UnwritableFileError, which names `place`,
    when another file is there (`advice` says what to do then), when a part of the way is a link or no folder, and when
    nothing can be written; the folders that were made stay, nothing else does.
    """
    path = PurePosixPath(place)
    if path.is_absolute() or ".." in path.parts or not path.name or "\0" in place:
        raise UnwritableFileError(f"{place[:200]!r} leads out of the project; name a file inside of it")
    try:
        with _entered(project, path.parts[:-1]) as (handle, folder):
            _put(handle, folder, path.name, text.encode())
    except FileExistsError as error:
        raise UnwritableFileError(f"{place} is there already and says something else; {advice}") from error
    except OSError as error:
        if error.errno in _NO_FOLDER:
            reason = "a part of its path is a link or no folder; put a folder in its place"
        else:
            reason = f"{(error.strerror or 'unknown reason').lower()}; check the permissions and the disk"
        raise UnwritableFileError(f"{place} cannot be written: {reason}") from error


@contextmanager
def _entered(project: Path, folders: tuple[str, ...]) -> Iterator[tuple[int | None, Path]]:
    """Give a handle on the last of `folders`, each of which is made where it is missing, and how to name files in it.

    With a handle nobody can put a link into the way between check and use; where the system has none, it is None.
    """
    if not _HAS_HANDLES:
        yield None, _checked(project, folders)
        return
    handle = os.open(project, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        for name in folders:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=handle)
            inner = os.open(name, os.O_RDONLY | _FOLDER_FLAGS, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle, Path()
    finally:
        os.close(handle)


def _checked(project: Path, folders: tuple[str, ...]) -> Path:
    folder = project
    for name in folders:
        folder /= name
        if folder.is_symlink():
            raise NotADirectoryError(errno.ENOTDIR, "a link", name)
        folder.mkdir(exist_ok=True)
    return folder


def _put(handle: int | None, folder: Path, name: str, content: bytes) -> None:
    """Write beside `name` first; the name is given last, and only if nobody has it. Raises FileExistsError."""
    target, part = str(folder / name), str(folder / f".{name}.{secrets.token_hex(4)}")
    if _says(handle, target, content):
        return
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE_FLAGS, 0o666, dir_fd=handle)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(part, target, src_dir_fd=handle, dst_dir_fd=handle)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(part, dir_fd=handle)


def _says(handle: int | None, name: str, content: bytes) -> bool:
    """Return whether the file `name` holds `content`; False when it is not there, FileExistsError when it differs."""
    try:
        descriptor = os.open(name, os.O_RDONLY | _FILE_FLAGS | getattr(os, "O_NONBLOCK", 0), dir_fd=handle)
    except FileNotFoundError:
        return False
    except OSError as error:
        # A link, or a file that may not be read: whatever it is, it is not ours.
        raise FileExistsError(name) from error
    with os.fdopen(descriptor, "rb") as file:
        if file.read(len(content) + 1) != content:
            raise FileExistsError(name)
    return True

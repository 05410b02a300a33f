"""The only access to the files of a project: nothing outside its folder is ever opened.

A path is resolved first and then opened step by step through folder handles that follow no link.
Whoever puts a link on the path between the two steps gets an error, not another file.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from goop_mcp.errors import DocumentUnreadableError, GoopError, PathRefusedError
from goop_mcp.workspace.folders import Folder, open_folder
from goop_mcp.workspace.paths import relative_parts

__all__ = ["MOST_BYTES", "FileKind", "FileStamp", "ProjectFiles"]

MOST_BYTES = 16 * 1024 * 1024
"""Size of the largest document that is read, in bytes; a diary of years stays far below."""


class FileKind(StrEnum):
    """The kind of a path's target; links inside the project are followed."""

    MISSING = "missing"
    FILE = "file"
    FOLDER = "folder"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStamp:
    """Size in bytes and modification time in nanoseconds since 1970, to detect changes."""

    size: int
    changed_ns: int


class ProjectFiles:
    """The files below one folder.

    Paths are relative to it, with `/`. Links that stay inside are followed. Every method raises
    PathRefusedError for a path that leads out, with a text that contains no absolute path.
    """

    def __init__(self, root: Path) -> None:
        """Use the folder `root`, which must exist when a method is called; nothing is created."""
        self.root = Path(os.path.realpath(root))

    def relative(self, path: str) -> str:
        """Return `path` normalised for comparison and display; does not access the disk."""
        return "/".join(relative_parts(path)) or "."

    def resolve(self, path: str) -> tuple[str, ...]:
        """Return the names on the path from the root to the target of `path`, links resolved."""
        parts = relative_parts(path)
        try:
            target = Path(os.path.realpath(self.root.joinpath(*parts)))
            inside = target.is_relative_to(self.root)
            names = target.relative_to(self.root).parts if inside else ()
            # `realpath` gives up on a circle of links and leaves them in the path. The check ends
            # at a missing folder.
            circle, place = False, str(self.root)
            with suppress(FileNotFoundError, NotADirectoryError):
                for name in names:
                    place = f"{place}/{name}"
                    if stat.S_ISLNK(os.lstat(place).st_mode):
                        circle = True
                        break
        except OSError as error:  # an endless chain of links, or a path too long for the system
            raise _unusable(self.root, path, error) from None

        if not inside:
            raise PathRefusedError(
                f"path {self.relative(path)!r} leads out of the project through a link; remove the"
                " link"
            )

        if circle:
            raise PathRefusedError(
                f"path {self.relative(path)!r} leads in a circle of links; remove them"
            )

        return names

    def kind(self, path: str) -> FileKind:
        """Return the kind of the target of `path`; a broken link is MISSING."""
        found = self._stat(path)
        if found is None:
            return FileKind.MISSING
        if stat.S_ISREG(found.st_mode):
            return FileKind.FILE
        return FileKind.FOLDER if stat.S_ISDIR(found.st_mode) else FileKind.OTHER

    def exists(self, path: str) -> bool:
        """Whether the target of `path` exists."""
        return self.kind(path) is not FileKind.MISSING

    def is_link(self, path: str) -> bool:
        """Whether the last name of `path` is a link, to any target; links are never written."""
        return self.root.joinpath(*relative_parts(path)).is_symlink()

    def stamp(self, path: str) -> FileStamp | None:
        """Return size and modification time of the file, None if there is no file."""
        found = self._stat(path)
        if found is None or not stat.S_ISREG(found.st_mode):
            return None
        return FileStamp(size=found.st_size, changed_ns=found.st_mtime_ns)

    def read_bytes(self, path: str, *, most: int = MOST_BYTES) -> bytes | None:
        """Return the content of the file, None if there is no file.

        Raises DocumentUnreadableError for a folder, a device, or more than `most` bytes.
        """
        descriptor = self._opened(path)
        if descriptor is None:
            return None

        with os.fdopen(descriptor, "rb") as file:
            # The size of the open file, which nobody can exchange any more.
            size = os.fstat(descriptor).st_size
            if size > most:
                found = f"{size:,} bytes; expected at most {most:,}"
                raise DocumentUnreadableError(f"{self.relative(path)} has {found}")

            return file.read(most + 1)

    def read_end(self, path: str, size: int) -> bytes | None:
        """Return the last `size` bytes of the file or all of it, None if there is no file."""
        descriptor = self._opened(path)
        if descriptor is None:
            return None

        with os.fdopen(descriptor, "rb") as file:
            file.seek(max(os.fstat(descriptor).st_size - size, 0))
            return file.read(size)

    def _opened(self, path: str) -> int | None:
        """Return a descriptor of the file, None if there is no file; raises as `read_bytes`."""
        try:
            with self._entry(path) as (folder, name):
                # Opening a pipe must not wait for a writer; it is refused below.
                descriptor = folder.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if isinstance(error, GoopError):
                raise

            raise _unusable(self.root, path, error) from None

        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise DocumentUnreadableError(
                f"{self.relative(path)} is not a file; expected a text file there"
            )

        return descriptor

    def read_text(self, path: str, *, most: int = MOST_BYTES) -> str | None:
        """Return the text of the file with its line ends and byte order mark, None without a file.

        Raises DocumentUnreadableError with the position of invalid UTF-8, and for more than `most`
        bytes.
        """
        content = self.read_bytes(path, most=most)
        if content is None:
            return None

        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise DocumentUnreadableError(
                f"{self.relative(path)} is not UTF-8 text: byte 0x{content[error.start]:02x} in"
                f" line {line}; save it as UTF-8"
            ) from None

    def names(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder, sorted; () if there is no such folder."""
        try:
            with open_folder(self.root, self.resolve(path)) as folder:
                return folder.names()
        except (FileNotFoundError, NotADirectoryError):
            return ()

    def _stat(self, path: str) -> os.stat_result | None:
        try:
            with self._entry(path) as (folder, name):
                found = folder.stat(name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except PermissionError as error:
            raise _unusable(self.root, path, error) from None

        if stat.S_ISLNK(found.st_mode):
            # The path was resolved before, so that this link is new and perhaps an attack.
            raise PathRefusedError(
                f"path {self.relative(path)!r} became a link while it was looked at"
            )

        return found

    @contextmanager
    def _entry(self, path: str) -> Iterator[tuple[Folder, str]]:
        parts = self.resolve(path)
        with open_folder(self.root, parts[:-1]) as folder:
            yield folder, parts[-1] if parts else "."


def _unusable(root: Path, path: str, error: OSError) -> PathRefusedError | DocumentUnreadableError:
    reason = "the system gives no reason"
    if error.errno is not None:
        reason = os.strerror(error.errno).lower()
    if error.errno in (errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL):
        return PathRefusedError(f"path {path[:60]!r} cannot be followed: {reason}")
    refused = error.errno in (errno.EACCES, errno.EPERM)
    if refused and not os.access(root, os.R_OK | os.X_OK):
        # No file in it is the reason, and the one that was looked for may not exist at all.
        return DocumentUnreadableError(
            "the folder of the project may not be read by you; change its permissions"
        )

    fix = "; change its permissions" if refused else ""
    return DocumentUnreadableError(f"{path[:60]} cannot be read: {reason}{fix}")

"""Handles on folders: a file opened through a handle is in that folder, whatever is renamed."""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from goop_mcp.errors import PathRefusedError

__all__ = ["Folder", "open_folder"]

# Windows has neither; the check of the resolved path is the only protection there.
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_HAS_HANDLES = os.open in os.supports_dir_fd and _DIRECTORY != 0
_LINK_MET = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})


@dataclass(frozen=True, slots=True)
class Folder:
    """An open folder.

    `handle` is None if the system has no handles on folders; `path` is used then.
    """

    path: Path
    handle: int | None

    def name(self, name: str) -> str:
        """Return the path argument of `os` functions for the entry `name`, used with `handle`."""
        return name if self.handle is not None else str(self.path / name)

    def open(self, name: str, flags: int, mode: int = 0o644) -> int:
        """Return a descriptor of the entry `name`, never of the target of a link."""
        return os.open(self.name(name), flags | _NO_FOLLOW | _BINARY, mode, dir_fd=self.handle)

    def stat(self, name: str) -> os.stat_result:
        """Return the stat result of the entry or link itself; raises FileNotFoundError."""
        return os.stat(self.name(name), dir_fd=self.handle, follow_symlinks=False)

    def names(self) -> tuple[str, ...]:
        """Return the names of all entries, sorted."""
        with os.scandir(self.path if self.handle is None else self.handle) as entries:
            return tuple(sorted(entry.name for entry in entries))

    def unlink(self, name: str) -> None:
        """Remove the entry `name` if it exists."""
        with suppress(FileNotFoundError):
            os.unlink(self.name(name), dir_fd=self.handle)

    def replace(self, source: str, target: str) -> None:
        """Rename the entry `source` to `target`, replacing it atomically."""
        os.replace(
            self.name(source), self.name(target), src_dir_fd=self.handle, dst_dir_fd=self.handle
        )

    def link(self, source: str, target: str) -> None:
        """Give the entry `source` a second name `target`; raises FileExistsError if it is taken."""
        os.link(
            self.name(source), self.name(target), src_dir_fd=self.handle, dst_dir_fd=self.handle
        )

    def sync(self) -> None:
        """Wait until renames in this folder are on disk, if the system can sync folders."""
        if self.handle is not None:
            os.fsync(self.handle)


@contextmanager
def open_folder(root: Path, parts: Sequence[str], *, create: bool = False) -> Iterator[Folder]:
    """Open the folder at `parts` below `root`, one step at a time, following no link.

    With `create` missing folders are created. Raises FileNotFoundError, NotADirectoryError for a
    file on the path, and PathRefusedError for a link.
    """
    if not _HAS_HANDLES:
        path = root.joinpath(*parts)
        if create:
            path.mkdir(parents=True, exist_ok=True)

        yield Folder(path, None)

        return

    handle = os.open(root, os.O_RDONLY | _DIRECTORY)

    try:
        # `O_NOFOLLOW` guards only the last name of a path, so each name gets an `open` call.
        for part in parts:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o777, dir_fd=handle)
                    # Otherwise a power failure could lose the folder with a file that is already
                    # synced.
                    os.fsync(handle)

            try:
                below = os.open(part, os.O_RDONLY | _DIRECTORY | _NO_FOLLOW, dir_fd=handle)
            except OSError as error:
                # Systems report a refused link by different numbers, some of which have other
                # causes too.
                if error.errno in _LINK_MET and stat.S_ISLNK(
                    os.stat(part, dir_fd=handle, follow_symlinks=False).st_mode
                ):
                    raise PathRefusedError(
                        f"folder {part!r} is a link; expected a folder of the project itself"
                    ) from None

                raise

            os.close(handle)
            handle = below

        yield Folder(root.joinpath(*parts), handle)
    finally:
        os.close(handle)

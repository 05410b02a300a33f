"""Small files by key in a folder that processes share, such as one for each agent."""

import os
import time
from contextlib import suppress
from importlib import import_module
from typing import Final

from goop_mcp.services.small_files import read_whole

__all__ = ["KeptFiles"]

_KEPT_SECONDS: Final = 7 * 24 * 60 * 60
_MOST_FILES: Final = 1_000
_LONGEST_KEY: Final = 64


class KeptFiles:
    """The files in the folder `name` of the folder `state`; keys may be any text.

    A file goes a week after it was last written or used, earlier where there are more than 1,000.
    """

    def __init__(self, state: str, name: str, *, most_bytes: int) -> None:
        self._folder, self._most = f"{state}{os.sep}{name}", most_bytes

    def read(self, key: str) -> bytes | None:
        """Return the content of the file, None where it cannot be read."""
        try:
            return read_whole(self._path(key), most=self._most)
        except OSError:
            return None

    def written_ns(self, key: str) -> int | None:
        """Return when the file was last written or used, in ns since 1970, None if unknown."""
        try:
            return os.stat(self._path(key)).st_mtime_ns  # noqa: PTH116 - pathlib is slow to load
        except OSError:
            return None

    def create(self, key: str, content: bytes) -> None:
        """Write the file unless there is one. Raises OSError."""
        os.makedirs(self._folder, exist_ok=True)  # noqa: PTH103 - pathlib is slow to load
        self._make_room()
        path, temporary = self._path(key), self._written(key, content)
        try:
            os.link(temporary, path)
        except FileExistsError:
            # Somebody else was first.
            pass
        except OSError:
            # A file system without links.
            os.replace(temporary, path)  # noqa: PTH105
        with suppress(FileNotFoundError):
            os.unlink(temporary)  # noqa: PTH108

    def replace(self, key: str, content: bytes) -> None:
        """Write the file in place of the one that is there. Raises OSError."""
        os.replace(self._written(key, content), self._path(key))  # noqa: PTH105

    def use(self, key: str) -> None:
        """Keep the file for another week."""
        with suppress(OSError):
            os.utime(self._path(key))

    def _written(self, key: str, content: bytes) -> str:
        """Return the path of a new file with `content`: whoever is killed here leaves no half."""
        path = f"{self._path(key)}.{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
            file.write(content)

        return path

    def _make_room(self) -> None:
        with os.scandir(self._folder) as found:
            files = [entry for entry, _ in zip(found, range(2 * _MOST_FILES), strict=False)]

        times: list[tuple[float, str]] = []
        for entry in files:
            with suppress(OSError):
                times.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))

        oldest = time.time() - _KEPT_SECONDS
        if len(times) > _MOST_FILES:
            # Half of them, so that this is not due again with the next file.
            oldest = max(oldest, sorted(times)[len(times) // 2][0])
        for at, path in times:
            if at < oldest:
                with suppress(OSError):
                    os.unlink(path)  # noqa: PTH108

    def _path(self, key: str) -> str:
        # Ids come from the host, and may hold what no name of a file can. Most do not.
        if key.replace("-", "").isalnum() and key.isascii() and len(key) <= _LONGEST_KEY:
            return f"{self._folder}{os.sep}{key}"
        plain = "".join(each for each in key if each.isascii() and each.isalnum())[:_LONGEST_KEY]
        checksum = import_module("zlib").crc32(key.encode("utf-8", "surrogatepass"))
        return f"{self._folder}{os.sep}{plain}_{checksum:08x}"

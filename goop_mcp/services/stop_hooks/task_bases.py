"""Keep the commit at which each running agent began, one small file an agent.

The file is created once and never changed: an agent that is resumed reports the files of its
earlier tasks as well, so that its first start counts.
"""

import os
import time
from contextlib import suppress
from typing import Final
from zlib import crc32

from goop_mcp.services.small_files import read_whole

__all__ = ["base_of", "keep_base"]

_FOLDER: Final = "task-bases"
_KEPT_SECONDS = 7 * 24 * 60 * 60
_MOST_FILES = 1_000
_LONGEST_ID = 64


def keep_base(state: str, agent: str, commit: str) -> None:
    """Keep `commit`, a full id, for the agent, in the folder `state`. Raises OSError."""
    folder = f"{state}{os.sep}{_FOLDER}"
    os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - pathlib is slow to load
    _remove_old(folder)

    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with suppress(FileExistsError):
        file = os.open(_path(state, agent), flags, 0o600)
        try:
            os.write(file, commit.encode("ascii", "replace"))
        finally:
            os.close(file)


def base_of(state: str, agent: str) -> str | None:
    """Return the commit at which the agent began, None if it is not known."""
    try:
        content = read_whole(_path(state, agent), most=_LONGEST_ID)
    except OSError:
        return None

    text = (content or b"").decode("ascii", "replace")

    # A writer that was killed leaves an empty file.
    return text if text and all(each in "0123456789abcdef" for each in text) else None


def _path(state: str, agent: str) -> str:
    # Ids come from the host, and may hold what no name of a file can.
    plain = "".join(each for each in agent if each.isascii() and each.isalnum())[:_LONGEST_ID]
    checksum = crc32(agent.encode("utf-8", "surrogatepass"))
    return f"{state}{os.sep}{_FOLDER}{os.sep}{plain}-{checksum:08x}"


def _remove_old(folder: str) -> None:
    """Remove what no agent needs any more, and everything where there is too much."""
    with os.scandir(folder) as entries:
        files = [entry for entry, _ in zip(entries, range(_MOST_FILES + 1), strict=False)]

    oldest = time.time() - _KEPT_SECONDS if len(files) <= _MOST_FILES else float("inf")
    for entry in files:
        with suppress(OSError):
            if entry.stat(follow_symlinks=False).st_mtime < oldest:
                os.unlink(entry.path)  # noqa: PTH108 - pathlib is slow to load

"""Keep the commit and the changed files with which each agent began, one small file an agent.

The file is created once and never changed: an agent that is resumed reports the files of its
earlier tasks as well, so that its first start counts.
"""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NamedTuple
from zlib import crc32

from goop_mcp.services.small_files import read_whole

__all__ = ["TaskBase", "base_of", "keep_base"]

_FOLDER: Final = "task-bases"
_KEPT_SECONDS = 7 * 24 * 60 * 60
_MOST_FILES = 1_000
_LONGEST_ID = 64
_MOST_BYTES = 128 * 1024
_DIGITS = frozenset("0123456789abcdef")


class TaskBase(NamedTuple):
    """What an agent began with: the id of the commit, and the files changed without a commit.

    `changed` maps the path from the project's folder to size in bytes and modification time in
    nanoseconds; it is empty where that is not known.
    """

    commit: str
    changed: Mapping[str, tuple[int, int]] = {}


def keep_base(state: str, agent: str, base: TaskBase) -> None:
    """Keep `base`, whose commit is a full id, for the agent, in the folder `state`.

    Raises OSError.
    """
    folder = f"{state}{os.sep}{_FOLDER}"
    os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - pathlib is slow to load

    # What no agent needs any more goes first, and everything where there is too much.
    with os.scandir(folder) as found:
        files = [entry for entry, _ in zip(found, range(_MOST_FILES + 1), strict=False)]

    oldest = time.time() - _KEPT_SECONDS if len(files) <= _MOST_FILES else float("inf")
    for entry in files:
        with suppress(OSError):
            if entry.stat(follow_symlinks=False).st_mtime < oldest:
                os.unlink(entry.path)  # noqa: PTH108 - pathlib is slow to load

    entries = [f"{size} {time_ns} {path}" for path, (size, time_ns) in base.changed.items()]
    content = "\0".join((base.commit, *entries)).encode("utf-8", "surrogateescape")
    if len(content) > _MOST_BYTES:
        # A part of the list would say of the other files that they were as committed.
        content = base.commit.encode("ascii")

    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with suppress(FileExistsError):
        file = os.open(_path(state, agent), flags, 0o600)
        try:
            os.write(file, content)
        finally:
            os.close(file)


def base_of(state: str, agent: str) -> TaskBase | None:
    """Return what the agent began with, None if it is not known."""
    try:
        content = read_whole(_path(state, agent), most=_MOST_BYTES)
    except OSError:
        return None

    commit, *entries = (content or b"").decode("utf-8", "surrogateescape").split("\0")
    # A writer that was killed leaves an empty file.
    if not commit or len(commit) > _LONGEST_ID or any(each not in _DIGITS for each in commit):
        return None

    changed: dict[str, tuple[int, int]] = {}
    for entry in entries:
        size, _, rest = entry.partition(" ")
        time_ns, _, path = rest.partition(" ")
        if path and size.isdecimal() and time_ns.isdecimal():
            changed[path] = int(size), int(time_ns)

    return TaskBase(commit, changed)


def _path(state: str, agent: str) -> str:
    # Ids come from the host, and may hold what no name of a file can.
    plain = "".join(each for each in agent if each.isascii() and each.isalnum())[:_LONGEST_ID]
    checksum = crc32(agent.encode("utf-8", "surrogatepass"))
    return f"{state}{os.sep}{_FOLDER}{os.sep}{plain}-{checksum:08x}"

"""Keep the commit and the changed files with which each agent began, one small file an agent.

The file is created once and never changed: an agent that is resumed reports the files of its
earlier tasks as well, so that its first start counts.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from goop_mcp.services.stop_hooks.kept_files import KeptFiles

__all__ = ["TaskBase", "base_of", "keep_base"]

_FOLDER: Final = "task-bases"
_LONGEST_ID = 64
_MOST_BYTES = 128 * 1024
_DIGITS = frozenset("0123456789abcdef")


class TaskBase(NamedTuple):
    """What an agent began with: the id of the commit, and the files changed without a commit.

    `changed` maps the path from the project's folder to size in bytes and modification time in
    nanoseconds; it is empty where that is not known. `began` is when this was kept, in nanoseconds
    since 1970 by the clock of the files, None if unknown.
    """

    commit: str
    changed: Mapping[str, tuple[int, int]] = {}
    began: int | None = None


def keep_base(state: str, agent: str, base: TaskBase) -> None:
    """Keep `base`, whose commit is a full id, for the agent, in the folder `state`.

    Raises OSError.
    """
    entries = [f"{size} {time_ns} {path}" for path, (size, time_ns) in base.changed.items()]
    content = "\0".join((base.commit, *entries)).encode("utf-8", "surrogateescape")
    if len(content) > _MOST_BYTES:
        # A part of the list would say of the other files that they were as committed.
        content = base.commit.encode("ascii")

    _files(state).create(agent, content)


def base_of(state: str, agent: str) -> TaskBase | None:
    """Return what the agent began with, None if it is not known."""
    content = _files(state).read(agent)
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

    return TaskBase(commit, changed, _files(state).written_ns(agent))


def _files(state: str) -> KeptFiles:
    return KeptFiles(state, _FOLDER, most_bytes=_MOST_BYTES)

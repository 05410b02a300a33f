"""One transcript of a host, before it is read."""

from typing import NamedTuple

__all__ = ["Source"]


class Source(NamedTuple):
    """A transcript: a file, or a `session` in the database or the storage of OpenCode.

    `host` is "" where only its content says it. `size` is in bytes, as far as it is known before
    reading; `changed` is the time of its last change, in seconds.
    """

    host: str
    path: str
    session: str
    size: int
    changed: float
    problem: str = ""

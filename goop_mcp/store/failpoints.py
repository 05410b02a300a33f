"""Name the moments of a write at which a fault matters, so that tests can make one happen there."""

from collections.abc import Callable
from enum import StrEnum

__all__ = ["Failpoint", "failpoint", "install"]


class Failpoint(StrEnum):
    """A moment of a write, right after the step that it is named for."""

    LOCK = "lock"
    BEGIN = "begin"
    INSERT = "insert"
    COMMIT = "commit"
    TEMPORARY_FILE = "temporary file"
    FSYNC = "fsync"
    ARCHIVE_APPEND = "archive append"
    ARCHIVE_FSYNC = "archive fsync"
    RENAME = "rename"
    DIRECTORY_FSYNC = "directory fsync"


_installed: list[Callable[[Failpoint], None]] = []


def failpoint(point: Failpoint) -> None:
    """Do nothing, unless a test has installed something to be done here."""
    for action in _installed:
        action(point)


def install(action: Callable[[Failpoint], None] | None) -> None:
    """Do `action` at every failpoint of this process from now on, None for nothing.

    For tests; there is no switch.
    """
    _installed[:] = [] if action is None else [action]

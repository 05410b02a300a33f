"""Fault injection: named points in a write at which tests can make the process fail.

A kill at a random moment hardly ever hits the short time between two steps. The code that writes
calls `failpoint` after each step, and a test installs an action that kills the process there.
"""

from collections.abc import Callable
from enum import StrEnum

__all__ = ["Failpoint", "failpoint", "install"]


class Failpoint(StrEnum):
    """A point in a write, right after the step that it is named after."""

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
    """Run the action that a test installed; without one do nothing."""
    for action in _installed:
        action(point)


def install(action: Callable[[Failpoint], None] | None) -> None:
    """Run `action` at every failpoint of this process from now on; None removes it.

    Only tests call it; no setting or environment variable leads here.
    """
    _installed[:] = [] if action is None else [action]

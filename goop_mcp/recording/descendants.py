"""End the descendants of a command that left its process group. Linux only."""

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["adopt_orphans", "end_descendants"]

_SUBREAPER: Final = 36
_SECONDS: Final = 2.0


def adopt_orphans() -> None:
    """Become the parent of descendants that lose theirs, so that all of them can be ended."""
    if not sys.platform.startswith("linux"):
        return

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def end_descendants() -> None:
    """End what left the group of a command that was killed, and wait for it."""
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        children: set[int] = set()
        with suppress(OSError):
            for task in Path("/proc/self/task").iterdir():
                children.update(map(int, (task / "children").read_text(encoding="ascii").split()))

        if not children:
            return

        for pid in children:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)

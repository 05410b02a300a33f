"""Tell a client that waits how far a long look has come, and stop looking for one that waits no more."""

from collections.abc import Callable
from time import monotonic
from typing import Any, Final

import anyio.from_thread
from mcp.server.mcpserver import Context

__all__ = ["teller"]

_INTERVAL: Final = 0.1


def teller(context: Context[Any, Any], message: str) -> Callable[[int, int], None]:
    """Return what a worker thread calls with how much of how much is done; the client hears of it if it asked to.

    At most ten times a second, and at the end. A call that was cancelled ends there, by the exception of a cancelled
    task.
    """
    told = -_INTERVAL

    def tell(done: int, total: int) -> None:
        nonlocal told
        anyio.from_thread.check_cancelled()
        if done == total or monotonic() - told >= _INTERVAL:
            told = monotonic()
            anyio.from_thread.run(context.report_progress, done, total, message)

    return tell

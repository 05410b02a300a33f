"""Report the progress of long work to the client, and end the work when the call is cancelled."""

from collections.abc import Callable
from time import monotonic
from typing import Any, Final

import anyio.from_thread
from mcp.server.mcpserver import Context

__all__ = ["progress_reporter"]

_INTERVAL: Final = 0.1


def progress_reporter(context: Context[Any, Any], message: str) -> Callable[[int, int], None]:
    """Return a function for a worker thread to call with the steps done and their total.

    It notifies a client that asked for progress, at most ten times a second, from the first tenth
    on and never at the end: clients in TypeScript take a notification that arrives together with
    the result for one of an unknown call. If the call was cancelled, it raises the exception of
    cancelled tasks.
    """
    reported_at = monotonic()

    def report(done: int, total: int) -> None:
        nonlocal reported_at
        anyio.from_thread.check_cancelled()
        if done < total and monotonic() - reported_at >= _INTERVAL:
            reported_at = monotonic()
            anyio.from_thread.run(context.report_progress, done, total, message)

    return report

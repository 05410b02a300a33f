"""Serve over a transport; each function returns the exit code of the program."""

import logging
import os
import signal
import threading
from types import FrameType
from typing import Final

import anyio

from goop_mcp.context import AppContext
from goop_mcp.server.app import create_server
from goop_mcp.server.telemetry_export import start_exporting
from goop_mcp.settings import Settings

__all__ = ["serve_stdio"]


_logger = logging.getLogger(__name__)
_LAST_MOMENTS: Final = 0.3
"""Seconds for closing after a signal: hosts kill a server that does not end soon after it."""


def serve_stdio(settings: Settings) -> int:
    """Serve one client on stdin and stdout until its end of input."""
    exporting = start_exporting(os.environ)
    try:
        # Closing merges the write-ahead log into the database: people copy the single file.
        with AppContext(settings) as application:
            _close_on_signals(application)
            anyio.run(create_server(settings, application=application).run_stdio_async)
    except* BrokenPipeError:
        _logger.info("the client closed its end before it had read every answer")
    finally:
        exporting.finish()

    return 0


def _close_on_signals(application: AppContext) -> None:
    """Close the database when a host ends the server by a signal, as at the end of its input."""

    def end(number: int, _frame: FrameType | None) -> None:
        # In another thread, because the interrupted code may hold a lock that closing waits for.
        closing = threading.Thread(target=application.close, daemon=True)
        closing.start()
        closing.join(_LAST_MOMENTS)
        # Without cleaning up: a regular exit would wait for worker threads that may never return.
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)

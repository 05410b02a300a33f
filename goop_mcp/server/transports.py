"""Ways to serve: one function a transport, each returning the exit code of the program."""

import logging
import os
import signal
import threading
from types import FrameType
from typing import Final

import anyio

from goop_mcp.composition import Application
from goop_mcp.server.app import create_server
from goop_mcp.server.exporting import start_exporting
from goop_mcp.settings import Settings

__all__ = ["serve_stdio"]


_logger = logging.getLogger(__name__)
_LAST_MOMENTS: Final = 0.3
"""Seconds for closing when a signal comes: hosts kill a server that is not gone soon after."""


def serve_stdio(settings: Settings) -> int:
    """Serve one client on stdin and stdout until its end of input."""
    exporting = start_exporting(os.environ)
    try:
        # Closing leaves the whole database in one file, which people copy.
        with Application(settings) as application:
            _close_on_signals(application)
            anyio.run(create_server(settings, application=application).run_stdio_async)
    except* BrokenPipeError:
        _logger.info("the client closed its end before it had read every answer")
    finally:
        exporting.finish()

    return 0


def _close_on_signals(application: Application) -> None:
    """Let the signals with which hosts end a server close the database first, as its end of input does."""

    def end(number: int, _frame: FrameType | None) -> None:
        # In a thread: what is interrupted here may hold what closing waits for.
        closing = threading.Thread(target=application.close, daemon=True)
        closing.start()
        closing.join(_LAST_MOMENTS)
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)

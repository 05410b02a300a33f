"""Ways to serve: one function a transport, each returning the exit code of the program."""

import logging
import os

import anyio

from goop_mcp.server.app import create_server
from goop_mcp.server.exporting import start_exporting
from goop_mcp.settings import Settings

__all__ = ["serve_stdio"]


_logger = logging.getLogger(__name__)


def serve_stdio(settings: Settings) -> int:
    """Serve one client on stdin and stdout until its end of input."""
    exporting = start_exporting(os.environ)
    try:
        anyio.run(create_server(settings).run_stdio_async)
    except* BrokenPipeError:
        _logger.info("the client closed its end before it had read every answer")
    finally:
        exporting.finish()
    return 0

"""`goop-mcp serve`: the MCP server. Nothing here loads the SDK before the settings are known to be good."""

import os
import signal
from types import FrameType

import click

from goop_mcp.settings import configure_logging, read_settings

__all__ = ["run_stdio", "serve"]


@click.command()
@click.option(
    "--transport", type=click.Choice(["stdio"]), default="stdio", show_default=True, help="How clients connect."
)
@click.option("--project", metavar="DIR", help="Project folder; the default is the current folder.")
def serve(transport: str, project: str | None) -> int:
    """Serve MCP clients until they close the connection."""
    return _SERVERS[transport](project)


def run_stdio(project: str | None) -> int:
    """Serve one MCP client on stdin and stdout and return the exit code: 0 at the end of input.

    `project` is the option --project, None when it was not given. An interrupt ends the process with 130, a request to
    terminate with 143. Raises SettingsError.
    """
    settings = read_settings(os.environ, project=project)
    configure_logging(settings.log_level)
    _exit_on_signals()
    from goop_mcp.server.transports import serve_stdio  # noqa: PLC0415 - loading the SDK takes half a second

    return serve_stdio(settings)


_SERVERS = {"stdio": run_stdio}


def _exit_on_signals() -> None:
    """Let both signals end the process at once, with the exit code that a shell expects.

    A thread that waits for input would hold up every gentler way until the client closes the connection.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _exit)


def _exit(number: int, _frame: FrameType | None) -> None:
    os._exit(128 + number)

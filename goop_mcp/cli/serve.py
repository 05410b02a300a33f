"""`goop-mcp serve`: the MCP server. Nothing here loads the SDK before the settings are known to be good."""

import os
import signal
from dataclasses import replace
from types import FrameType

import click

from goop_mcp.cli.options import DATABASE, PROJECT, PROJECT_ID
from goop_mcp.cli.streams import start_log
from goop_mcp.settings import Settings, read_settings

__all__ = ["run_stdio", "serve"]


@click.command()
@click.option(
    "--transport", type=click.Choice(["stdio"]), default="stdio", show_default=True, help="How clients connect."
)
@PROJECT
@DATABASE
@PROJECT_ID
@click.option(
    "--goopspec-aliases", is_flag=True, help="Offer memory_save and memory_search as the GoopSpec packages do."
)
@click.option("--hook-tool", is_flag=True, help="Offer hook_check, for hooks of type mcp_tool.")
def serve(
    transport: str,
    *,
    project: str | None,
    database: str | None,
    project_id: str | None,
    goopspec_aliases: bool,
    hook_tool: bool,
) -> int:
    """Serve MCP clients until they close the connection."""
    settings = read_settings(os.environ, project=project, database=database, project_id=project_id)
    return _SERVERS[transport](replace(settings, goopspec_aliases=goopspec_aliases, hook_tool=hook_tool))


def run_stdio(settings: Settings) -> int:
    """Serve one MCP client on stdin and stdout and return the exit code: 0 at the end of input.

    An interrupt ends the process with 130, a request to terminate with 143.
    """
    start_log(settings)
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

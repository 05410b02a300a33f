"""`goop-mcp serve`: the MCP server.

Nothing here loads the SDK before the settings are known to be good.
"""

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

import click

from goop_mcp import operations
from goop_mcp.cli.options import DATABASE, PROJECT, PROJECT_ID, WrongCallError
from goop_mcp.cli.streams import start_log
from goop_mcp.server.network.options import Options
from goop_mcp.settings import Settings, read_settings

__all__ = ["serve"]

_TRANSPORTS = ("stdio", "sse", "streamable-http", "http")


@click.command()
@click.option(
    "--transport",
    type=click.Choice(_TRANSPORTS),
    default="stdio",
    show_default=True,
    help="How clients connect; http is streamable-http and sse in one.",
)
@PROJECT
@DATABASE
@PROJECT_ID
@click.option(
    "--host",
    metavar="ADDRESS",
    help="Address to serve on; the default, 127.0.0.1, is this machine only.",
)
@click.option(
    "--port",
    type=int,
    metavar="N",
    help="Port to serve on; the default is 8000, 0 is any that is free.",
)
@click.option(
    "--token-file",
    metavar="FILE",
    help="File with the token that clients show, or with several in TOML.",
)
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Name by which clients reach the server.",
)
@click.option(
    "--allowed-origin",
    "allowed_origins",
    multiple=True,
    metavar="URL",
    help="Web page origin to let in, by CORS.",
)
@click.option(
    "--rate-limit",
    "rate",
    type=float,
    metavar="N",
    help="Requests a second for each client; default 20, 0: no limit.",
)
@click.option(
    "--stateless/--stateful",
    default=None,
    help="Keep no sessions, so that any replica can answer; the default with postgresql://.",
)
@click.option(
    "--goopspec-aliases",
    is_flag=True,
    help="Offer memory_save and memory_search as the GoopSpec packages do.",
)
@click.option(
    "--rules",
    multiple=True,
    metavar="WHERE",
    help="Also judge by rules of your own; see goop-mcp check --help.",
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
    rules: tuple[str, ...],
    host: str | None,
    port: int | None,
    token_file: str | None,
    allowed_hosts: tuple[str, ...],
    allowed_origins: tuple[str, ...],
    rate: float | None,
    stateless: bool | None,
) -> int:
    """Serve MCP clients until they close the connection, or on a network until a signal comes."""
    settings = read_settings(os.environ, project=project, database=database, project_id=project_id)
    settings = replace(
        settings, goopspec_aliases=goopspec_aliases, hook_tool=hook_tool, rules=rules
    )
    if rules:
        operations.load_rules.load_rules(
            rules
        )  # a slip is told here, and not in the middle of serving

    options = Options(
        host=host,
        port=port,
        token_file=token_file,
        allowed_hosts=allowed_hosts,
        allowed_origins=allowed_origins,
        rate=rate,
        stateless=stateless,
    )
    if transport != "stdio":
        return _run_network(settings, options, transport=transport)
    if given := options.given():
        raise WrongCallError(
            f"{given[0]} is for a network; give --transport http as well, or leave it out"
        )

    return _run_stdio(settings)


def _run_stdio(settings: Settings) -> int:
    """Serve one MCP client on stdin and stdout and return the exit code: 0 at the end of input.

    An interrupt ends the process with 130, a request to terminate with 143.
    """
    start_log(settings)
    _exit_on_signals()
    with _loading():
        # Loading the SDK takes half a second
        from goop_mcp.server.transports import serve_stdio  # noqa: PLC0415

    return serve_stdio(settings)


def _run_network(settings: Settings, options: Options, *, transport: str) -> int:
    """Serve until a signal comes; after the last answers it ends the process as it would have at once."""
    # Stdio does without
    from goop_mcp.server.network.settings import read_network_settings  # noqa: PLC0415

    network = read_network_settings(os.environ, settings, options, transport=transport)
    start_log(settings)
    _exit_on_signals()
    with _loading():
        # As above
        from goop_mcp.server.network.serving import serve_network  # noqa: PLC0415

    # Beside a database server the rows are all there is to keep: other machines do not see this
    # one's files.
    return serve_network(replace(settings, keeps_files=settings.database_in_a_file), network)


@contextmanager
def _loading() -> Iterator[None]:
    """Look for garbage neither while modules are loaded nor in them afterwards: nothing of that ever goes."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _exit_on_signals() -> None:
    """Let both signals end the process at once, with the exit code that a shell expects.

    A thread that waits for input would hold up every gentler way until the client closes the
    connection.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _exit)


def _exit(number: int, _frame: FrameType | None) -> None:
    os._exit(128 + number)

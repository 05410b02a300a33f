"""`goop-mcp serve`: the MCP server.

The SDK is loaded only after the settings were validated, because loading it takes half a second.
"""

import gc
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import FrameType

import click

from goop_mcp import services, workbench
from goop_mcp.cli.completion import file_names
from goop_mcp.cli.options import DATABASE, PROJECT, PROJECT_ID, WrongCallError
from goop_mcp.cli.streams import complain, start_log
from goop_mcp.errors import GoopError, HookEventError
from goop_mcp.hosts import hooks
from goop_mcp.server.http.options import Options
from goop_mcp.settings import ALL_TOOLS, Settings, SettingsError, read_settings

__all__ = ["serve"]

_TRANSPORTS = ("stdio", "sse", "streamable-http", "http")
_PATIENCE = 1.0
"""Seconds in which a host has written the event of a hook, if that is what it started us for."""


class _Serve(click.Command):
    """The command; the event of a hook that comes instead of an MCP client is answered.

    Some hosts ignore the arguments of a hook and start the program alone. Any exit code but 0 could
    then stop the session, and 2 refuses every prompt of a person.
    """

    def invoke(self, ctx: click.Context) -> object:
        """Run the command, or answer the event on standard input."""
        try:
            return super().invoke(ctx)
        except HookEventError as error:
            event = error.event
        except GoopError as error:
            # The server could not start and has read nothing.
            waiting = _waiting_event(ctx.params["transport"])
            if waiting is None:
                raise

            event = waiting
            complain(str(error))

        complain(str(HookEventError(event)))
        rules = [word for each in ctx.params["rules"] for word in ("--rules", each)]
        # The event does not say which host it is from; most have the form of Claude Code.
        return hooks.hook.main(["claude-code", *rules], event)


def _waiting_event(transport: str) -> bytes | None:
    """Return the event of a hook on standard input, None if something else or nothing is there."""
    if transport != "stdio" or sys.stdin is None or sys.stdin.isatty():
        return None

    content = bytearray()
    with suppress(OSError, ValueError):
        # The first word of a client settles it: it would wait, and not close the pipe.
        while b'"jsonrpc"' not in content and select.select([sys.stdin], [], [], _PATIENCE)[0]:
            chunk = os.read(sys.stdin.fileno(), 65_536)
            content += chunk
            if not chunk or len(content) > hooks.hook.MOST_BYTES:
                break

    before, mark, _ = content.partition(b'"hook_event_name"')

    return bytes(content) if mark and b'"jsonrpc"' not in before else None


@click.command(cls=_Serve)
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
    help="Address to listen on; the default, 127.0.0.1, is this machine only.",
)
@click.option(
    "--port",
    type=int,
    metavar="N",
    help="Port to listen on; the default is 8000, 0 is any free port.",
)
@click.option(
    "--token-file",
    metavar="FILE",
    shell_complete=file_names,
    help="File with the token that clients send, or with several in TOML.",
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
    help="Web page origin to allow, by CORS.",
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
    shell_complete=file_names,
    help="Also apply custom rules; see goop-mcp check --help.",
)
@click.option(
    "--tools",
    metavar="WHICH",
    default=ALL_TOOLS,
    show_default=True,
    help=(
        "Tools to offer: core, for agents that only work and report, all, or names separated by"
        " commas."
    ),
)
@click.option("--ui", is_flag=True, help="Also serve the workbench, to people with a token.")
@click.option("--hook-tool", is_flag=True, help="Offer hook_check, for hooks of type mcp_tool.")
@click.option(
    "--allow-run",
    is_flag=True,
    help="Offer run_check: named commands of a trusted checks.toml, over stdio only.",
)
def serve(
    transport: str,
    *,
    project: str | None,
    database: str | None,
    project_id: str | None,
    goopspec_aliases: bool,
    hook_tool: bool,
    allow_run: bool,
    ui: bool,
    tools: str,
    rules: tuple[str, ...],
    host: str | None,
    port: int | None,
    token_file: str | None,
    allowed_hosts: tuple[str, ...],
    allowed_origins: tuple[str, ...],
    rate: float | None,
    stateless: bool | None,
) -> int:
    """Serve MCP clients until they close the connection, or on a network until a signal arrives."""
    settings = read_settings(os.environ, project=project, database=database, project_id=project_id)
    settings = replace(
        settings,
        goopspec_aliases=goopspec_aliases,
        hook_tool=hook_tool,
        allow_run=allow_run,
        tools=tools,
        rules=rules,
    )
    if rules:
        # An error in a rule ends the command here, and not the first request.
        services.load_rules.load_rules(rules)

    options = Options(
        host=host,
        port=port,
        token_file=token_file,
        allowed_hosts=allowed_hosts,
        allowed_origins=allowed_origins,
        rate=rate,
        stateless=stateless,
    )
    if allow_run and transport != "stdio":
        raise WrongCallError(
            "--allow-run is for stdio: whoever reaches a network server would run commands here"
        )
    if transport != "stdio":
        return _run_network(settings, options, transport=transport, ui=ui)
    if ui:
        raise WrongCallError(
            "--ui is for a network; give --transport http as well, or run goop-mcp ui"
        )
    if given := options.given():
        raise WrongCallError(
            f"{given[0]} is for a network; give --transport http as well, or leave it out"
        )

    # The exit code is 0 at the end of input; a signal ends the process with 130 or 143.
    start_log(settings)
    _exit_on_signals()
    with _loading():
        from goop_mcp.server.serving import serve_stdio  # noqa: PLC0415

    return serve_stdio(settings)


def _run_network(settings: Settings, options: Options, *, transport: str, ui: bool) -> int:
    """Serve until a signal comes, finish the open requests, and end as the signal would have."""
    # stdio works without these modules.
    from goop_mcp.server.http.settings import read_network_settings  # noqa: PLC0415

    network = read_network_settings(os.environ, settings, options, transport=transport)
    if ui and not network.asks_for_tokens:
        raise SettingsError(
            "--ui lets people log in with a token, and none is set; set GOOP_TOKEN or --token-file,"
            " or run goop-mcp ui for this machine alone"
        )

    start_log(settings)
    _exit_on_signals()
    with _loading():
        from goop_mcp.server.http.serving import serve_network  # noqa: PLC0415

    # With a database server, the database is all there is to keep: replicas on other machines do
    # not see the files of this one.
    return serve_network(
        replace(settings, keeps_files=settings.database_in_a_file),
        network,
        pages=workbench.team.team_pages if ui else None,
    )


@contextmanager
def _loading() -> Iterator[None]:
    """Exclude the loaded modules from garbage collection, now and later: they are never freed."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _exit_on_signals() -> None:
    """End the process at once on both signals, with the exit code that a shell expects.

    A thread waits for input, so an orderly exit would hang until the client closes the connection.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _exit)


def _exit(number: int, _frame: FrameType | None) -> None:
    os._exit(128 + number)

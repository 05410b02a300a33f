"""How a play reaches its server: over stdio or HTTP, with each database."""

import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Literal

from mcp import Client
from mcp.client.session import ElicitationFnT
from mcp.client.stdio import StdioServerParameters

from goop_mcp.cli.demo.full_player import Connect
from goop_mcp.settings import Settings
from tests.server.connections import target
from tests.server.http.serving import Served, served

__all__ = ["Transport", "connecting", "database_options", "stdio"]

Transport = Literal["stdio", "streamable-http"]

_PRODUCT = ("goop_mcp",)
_TOKEN = secrets.token_hex(16)
_TOKENS = f"""\
[tokens.ann]
token = "{_TOKEN}"
scopes = ["read", "write", "workspace", "confirm"]
"""


def database_options(settings: Settings) -> list[str]:
    """Return the options with which a command finds the database of `settings`."""
    if settings.database is None:
        return []
    return ["--database", settings.database.reveal(), "--project-id", str(settings.project_id)]


def stdio(*options: str, protocol_mode: str = "auto", program: Sequence[str] = _PRODUCT) -> Connect:
    """Return what connects to a server of its own over stdio.

    `program` is the module that serves, and its arguments before those of the server.
    """

    def connect(answer: ElicitationFnT | None) -> AbstractAsyncContextManager[Client]:
        command = StdioServerParameters(
            command=sys.executable, args=["-m", *program, "serve", *options]
        )
        return Client(
            command, mode=protocol_mode, elicitation_callback=answer, read_timeout_seconds=120
        )

    return connect


@contextmanager
def connecting(
    settings: Settings,
    *,
    transport: Transport = "stdio",
    protocol_mode: str = "auto",
    folder: Path | None = None,
    program: Sequence[str] = _PRODUCT,
    restarts: bool = False,
) -> Iterator[Connect]:
    """Yield what connects to a server for the project of `settings`, which is in `folder`.

    Over HTTP it is the same server for all sessions, or another one for each if it `restarts`.
    """
    folder, options = folder or settings.project, database_options(settings)
    if transport == "stdio":
        own = ("--project", str(folder))
        yield stdio(*own, *options, protocol_mode=protocol_mode, program=program)
        return

    tokens = folder.parent / f"{folder.name}.tokens.toml"
    tokens.touch(mode=0o600)
    tokens.write_text(_TOKENS, encoding="utf-8")
    network = ["--transport", transport, "--rate-limit", "0", "--stateful"]
    with ExitStack() as stack:
        running: list[Served] = []

        def connect(answer: ElicitationFnT | None) -> AbstractAsyncContextManager[Client]:
            if restarts:
                stack.close()
                running.clear()
            if not running:
                server = served(
                    *network, "--token-file", str(tokens), *options, project=folder, program=program
                )
                running.append(stack.enter_context(server))
            address = target(running[0], "streamable-http", token=_TOKEN)
            return Client(address, mode=protocol_mode, elicitation_callback=answer)

        yield connect

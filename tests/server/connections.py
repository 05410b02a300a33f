"""Clients for each combination of transport and protocol version."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeVar, get_args

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client import Transport as ClientTransport
from mcp.client._transport import TransportStreams
from mcp.client.session import ElicitationFnT
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import CallToolResult, TextContent, TextResourceContents, Tool
from pydantic import JsonValue

from goop_mcp.server import create_server
from goop_mcp.settings import Settings
from tests.repository import ROOT
from tests.server.http.serving import Served, environment, served

PROTOCOL_MODES = ("auto", "legacy")
"""Modes of the SDK's client: auto is 2026-07-28 if the server supports it, legacy 2025-11-25."""

# A dependency of the SDK, without type hints.
_jsonschema = import_module("jsonschema")

Transport = Literal["memory", "stdio", "sse", "streamable-http"]
TRANSPORTS: tuple[Transport, ...] = get_args(Transport)
PATIENCE = 120.0
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Connection:
    """An open client in another thread; `call` runs one of its methods there."""

    portal: BlockingPortal
    client: Client

    def call(self, method: Callable[[], Awaitable[_T]]) -> _T:
        return self.portal.call(method)

    def tool(self, name: str, /, **arguments: JsonValue) -> CallToolResult:
        return self.call(lambda: self.client.call_tool(name, arguments))

    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self.call(self.client.list_tools).tools}

    def read(self, uri: str) -> TextResourceContents:
        (contents,) = self.call(lambda: self.client.read_resource(uri)).contents
        assert isinstance(contents, TextResourceContents)
        return contents

    def prompt(self, name: str, **arguments: str) -> str:
        (message,) = self.call(lambda: self.client.get_prompt(name, arguments)).messages
        assert isinstance(message.content, TextContent)
        return message.content.text


@contextmanager
def connect(
    server: MCPServer | StdioServerParameters | ClientTransport,
    protocol_mode: str,
    *,
    elicitation: ElicitationFnT | None = None,
) -> Iterator[Connection]:
    """Connect a client, which declares elicitation if it has a function that answers."""
    client = Client(
        server,
        mode=protocol_mode,
        read_timeout_seconds=PATIENCE,
        elicitation_callback=elicitation,
    )
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        yield Connection(portal, client)


@contextmanager
def connected(transport: Transport, protocol_mode: str) -> Iterator[Connection]:
    """Start a server and connect to it over `transport`."""
    if transport == "memory":
        with connect(create_server(Settings(project=ROOT)), protocol_mode) as connection:
            yield connection
    elif transport == "stdio":
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "goop_mcp", "serve"], cwd=ROOT
        )
        with connect(command, protocol_mode) as connection:
            yield connection
    else:
        with (
            served("--transport", transport, "--rate-limit", "0", project=ROOT) as server,
            connect(target(server, transport), protocol_mode) as connection,
        ):
            yield connection


def target(server: Served, transport: Transport, *, token: str | None = None) -> ClientTransport:
    """Return the client transport for a server on the network; it serves one client."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return (
        _streamable(server.mcp, headers)
        if transport == "streamable-http"
        else sse_client(server.sse, headers)
    )


@asynccontextmanager
async def _streamable(url: str, headers: dict[str, str]) -> AsyncIterator[TransportStreams]:
    async with (
        create_mcp_http_client(headers) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def check_against_schema(result: CallToolResult, tool: Tool) -> None:
    _jsonschema.validate(result.structured_content, tool.output_schema)


def stdio_server(project: Path, *options: str) -> StdioServerParameters:
    """Return how a client starts a server of its own for `project`."""
    command = ["-m", "goop_mcp", "serve", "--project", str(project), *options]
    return StdioServerParameters(command=sys.executable, args=command, env=environment())

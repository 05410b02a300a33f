"""One client a combination of transport and protocol era, so that each promise is tested over all of them."""

import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeVar

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent, TextResourceContents, Tool
from pydantic import JsonValue

from goop_mcp.server.app import create_server
from goop_mcp.settings import Settings
from tests.repository import ROOT

ERAS = ("auto", "legacy")
"""auto is 2026-07-28 with every server that speaks it; most hosts still speak legacy."""

# Comes with the SDK, and without types.
_jsonschema = pytest.importorskip("jsonschema")

Transport = Literal["memory", "stdio"]
PATIENCE = 20.0
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Connection:
    """An open client in a thread of its own; `call` runs one of its methods there."""

    portal: BlockingPortal
    client: Client

    def call(self, method: Callable[[], Awaitable[_T]]) -> _T:
        return self.portal.call(method)

    def tool(self, name: str, **arguments: JsonValue) -> CallToolResult:
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
def connect(server: MCPServer | StdioServerParameters, era: str) -> Iterator[Connection]:
    client = Client(server, mode=era, read_timeout_seconds=PATIENCE)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        yield Connection(portal, client)


def server_for(transport: Transport) -> MCPServer | StdioServerParameters:
    if transport == "memory":
        return create_server(Settings(project=ROOT))
    return StdioServerParameters(command=sys.executable, args=["-m", "goop_mcp", "serve"], cwd=ROOT)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def check_against_schema(result: CallToolResult, tool: Tool) -> None:
    _jsonschema.validate(result.structured_content, tool.output_schema)


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of the tests without settings of ours that someone has at home."""
    ours = ("GOOP_", "CLAUDE_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | variables

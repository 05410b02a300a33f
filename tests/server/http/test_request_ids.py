"""The id of an HTTP request: kept or made, in the answer, and known to everything done for it."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from opentelemetry import trace
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from goop_mcp.current_request import current_request
from goop_mcp.server import create_server
from goop_mcp.server.http.request_ids import HEADER, RequestIds
from goop_mcp.server.telemetry import REQUEST_ID_KEY
from goop_mcp.settings import Settings
from tests.telemetry import EXPORTER, set_up

NEW = re.compile(r"[0-9a-f]{16}")
PLACE = "http://127.0.0.1:8000"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}


async def show(request: Request) -> Response:
    assert isinstance(request.scope[REQUEST_ID_KEY], str)
    return PlainTextResponse(str(current_request()))


def show_on_a_thread(_: Request) -> Response:
    return PlainTextResponse(str(current_request()))


APP = RequestIds(Starlette(routes=[Route("/", show), Route("/thread", show_on_a_thread)]))


@asynccontextmanager
async def client_of(app: RequestIds) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app), base_url=PLACE
    ) as client:
        yield client


@pytest.mark.parametrize("path", ["/", "/thread"])
async def test_the_id_of_the_caller_is_kept_and_answered_and_known(path: str) -> None:
    async with client_of(APP) as client:
        answer = await client.get(path, headers={HEADER: "from-the-proxy_1.2"})
    assert answer.headers[HEADER] == "from-the-proxy_1.2"
    assert answer.text == "ClientMessage(id='from-the-proxy_1.2', tool=None, caller=None)"
    assert current_request() is None


@pytest.mark.parametrize("given", [None, "a b", "x" * 65, "<b>"])
async def test_an_id_that_cannot_be_used_is_replaced(given: str | None) -> None:
    async with client_of(APP) as client:
        answer = await client.get("/", headers={} if given is None else {HEADER: given})
    assert NEW.fullmatch(answer.headers[HEADER])
    assert answer.headers[HEADER] in answer.text


async def test_a_refusal_bears_the_id_too() -> None:
    async with client_of(APP) as client:
        assert (await client.get("/nowhere", headers={HEADER: "lost"})).headers[HEADER] == "lost"


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
PARAMS = {"name": "explain_rule", "arguments": {"rule": "goop_report/unknown-status"}}
ACCEPT = {"Accept": "application/json, text/event-stream"}


async def call_modern(client: httpx2.AsyncClient) -> httpx2.Response:
    names = {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "explain_rule",
    }
    call = {**CALL, "params": {**PARAMS, "_meta": MODERN}}
    return await client.post("/mcp", json=call, headers={**ACCEPT, **names, HEADER: "http-1"})


async def call_legacy(client: httpx2.AsyncClient) -> httpx2.Response:
    """Call in a session, whose task was begun by another request."""
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
    opened = await client.post("/mcp", json=opening, headers={**ACCEPT, HEADER: "http-0"})
    session = {**ACCEPT, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
    await client.post(
        "/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session
    )

    return await client.post(
        "/mcp", json={**CALL, "params": PARAMS}, headers={**session, HEADER: "http-1"}
    )


@pytest.mark.parametrize("call", [call_modern, call_legacy])
async def test_a_tool_that_is_called_over_http_belongs_to_the_http_request(
    tmp_path: Path, call: Callable[[httpx2.AsyncClient], Awaitable[httpx2.Response]]
) -> None:
    set_up()
    EXPORTER.clear()
    server = create_server(Settings(project=tmp_path))
    app = RequestIds(server.streamable_http_app(json_response=True))
    async with server.session_manager.run(), client_of(app) as client:
        answer = await call(client)

    assert answer.status_code == 200, answer.text
    assert answer.headers[HEADER] == "http-1"
    served = [
        each for each in EXPORTER.get_finished_spans() if each.name == "tools/call explain_rule"
    ]
    (attributes,) = [
        dict(each.attributes or {}) for each in served if each.kind is trace.SpanKind.SERVER
    ]
    assert attributes["goop.request.id"] == "http-1"
    assert attributes["network.transport"] == "tcp"
    # An id of a session opens it, and whoever collects traces may not.
    recorded = str(
        [(each.name, dict(each.attributes or {})) for each in EXPORTER.get_finished_spans()]
    )
    assert answer.headers.get("mcp-session-id", "no session") not in recorded

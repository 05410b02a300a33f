"""Answers over HTTP: in one piece, without a stream if there is no progress, errors in one form."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from pydantic import JsonValue
from starlette.types import Receive, Scope, Send

from goop_mcp.server.http.error_responses import JsonErrors
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.server.http.requests import HEADERS, ask, refusal_of
from tests.server.http.serving import Served, served
from tests.server.http.sockets import HEALTH, opened

MODERN = "2026-07-28"
META: dict[str, JsonValue] = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served("--transport", "http", project=tmp_path_factory.mktemp("project")) as running:
        yield running


def call(
    server: Served,
    tool: str,
    *,
    arguments: dict[str, JsonValue],
    named: str | None = None,
    accept: str = HEADERS["Accept"],
) -> httpx2.Response:
    """Call `tool` as a client of 2026 does; the headers say that `named` is called."""
    parameters: dict[str, JsonValue] = {
        "name": tool,
        "arguments": arguments,
        "_meta": {**META, "progressToken": "p"},
    }
    body: JsonValue = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}

    return ask(
        server.mcp,
        body=body,
        Accept=accept,
        MCP_Protocol_Version=MODERN,
        Mcp_Method="tools/call",
        Mcp_Name=named or tool,
    )


def verdict_of(answer: httpx2.Response) -> dict[str, Any]:
    """Return the structured answer, which is the last event of a stream."""
    text = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        text = [
            line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")
        ][-1]

    structure: dict[str, Any] = json.loads(text)["result"]["structuredContent"]

    return structure


def test_a_reply_is_judged_alike_with_a_stream_and_without(server: Served) -> None:
    direct = call(server, "validate_report", arguments={"text": COMPLETE_REPLY})
    padding = "Some words before it. " * 1_000
    streamed = call(server, "validate_report", arguments={"text": f"{padding}\n{COMPLETE_REPLY}"})
    assert direct.headers["content-type"] == "application/json"
    assert verdict_of(direct)["verdict"] == verdict_of(streamed)["verdict"] == "accepted"
    assert verdict_of(direct)["envelope"] == verdict_of(streamed)["envelope"]


def test_what_looks_at_files_may_report_its_progress(server: Served) -> None:
    answer = call(
        server, "validate_report", arguments={"text": COMPLETE_REPLY, "check_workspace": True}
    )
    # What is over within a tenth of a second reports nothing, and needs no stream.
    assert answer.headers["content-type"].startswith("application/json")
    assert verdict_of(answer)["verdict"] == "rejected"


def test_a_call_whose_header_names_another_tool_is_refused(server: Served) -> None:
    note: dict[str, JsonValue] = {
        "type": "note",
        "title": "planted",
        "content": "by a header that names another tool",
    }
    answer = call(server, "save_memory", arguments=note, named="validate_report")
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32020
    found = call(server, "search_memory", arguments={"queries": ["planted"]})
    assert verdict_of(found)["total"] == 0


@pytest.mark.parametrize("tool", ["validate_report", "explain_rule"])
def test_both_kinds_of_answers_have_to_be_accepted_for_every_tool(
    server: Served, tool: str
) -> None:
    arguments: dict[str, JsonValue] = (
        {"text": COMPLETE_REPLY} if tool == "validate_report" else {"rule": "envelope/missing"}
    )
    assert refusal_of(call(server, tool, arguments=arguments, accept="application/json")) == (
        406,
        "not_acceptable",
    )


def test_the_head_and_the_body_of_an_answer_arrive_together(server: Served) -> None:
    with opened(server.port) as (connection,):
        connection.sendall(HEALTH)
        head, _, body = connection.recv(1 << 16).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert json.loads(body) == {"status": "ok"}


async def test_a_failure_is_answered_in_the_form_of_a_refusal_and_raised_to_the_server() -> None:
    async def fail(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise RuntimeError("the secret of the house")

    through = httpx2.ASGITransport(JsonErrors(fail), raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=through, base_url="http://127.0.0.1") as client:
        answer = await client.get("/mcp")

    assert refusal_of(answer) == (500, "fault")
    assert "secret" not in answer.text

    with pytest.raises(RuntimeError, match="the secret of the house"):
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(JsonErrors(fail)), base_url="http://x"
        ) as client:
            await client.get("/mcp")


async def test_a_refusal_that_was_begun_and_failed_is_an_error_of_the_server() -> None:
    async def fail(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        raise RuntimeError("the secret of the house")

    through = httpx2.ASGITransport(JsonErrors(fail), raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=through, base_url="http://127.0.0.1") as client:
        assert refusal_of(await client.get("/mcp")) == (500, "fault")

"""A tool that asks for input is called again with the answers, over HTTP (2026-07-28)."""

from pathlib import Path
from typing import Any

import httpx2 as httpx

from tests.server.http.serving import served

TOOL = "test_input_required_result_multi_round"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "asked", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}


def called(url: str, number: int, **more: object) -> dict[str, Any]:
    params = {"name": TOOL, "arguments": {}, "_meta": META, **more}
    answer = httpx.post(
        url,
        json={"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params},
        headers={
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": TOOL,
        },
        timeout=30,
    )
    message: dict[str, Any] = answer.json()
    assert "error" not in message, message
    result: dict[str, Any] = message["result"]

    return result


def test_what_a_server_sealed_for_a_request_is_accepted_with_the_next_round(tmp_path: Path) -> None:
    options = ("--transport", "streamable-http")
    with served(*options, project=tmp_path, program="tests.conformance.fixture") as server:
        first = called(server.mcp, 1)
        answers = {"step1": {"action": "accept", "content": {"name": "Ann"}}}
        second = called(server.mcp, 2, inputResponses=answers, requestState=first["requestState"])

    assert second["resultType"] == "input_required"
    assert list(second["inputRequests"]) == ["step2"]

"""Messages with fields that are far too large: what they cost, and what of them is kept."""

import http.client
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Self

import pytest
from pydantic import JsonValue

from benchmarks.machine import resident_mb
from tests.server.http.large_messages import SIZE, VERSIONS, Field, fields, large_values
from tests.server.http.requests import HEADERS, INITIALIZE, ask
from tests.server.http.serving import PATIENCE, Served, served
from tests.server.http.sockets import opened

MOST_MB = 60
"""What a server may hold more after all of them than before; each of them is 4 MB."""

LONGEST = 20
"""How many times as long as most of them the costliest may keep the processor busy."""

TOKENS = (
    '[tokens.one]\ntoken = "the-token-of-the-first"\n[tokens.other]\ntoken ='
    ' "the-token-of-another"\n'
)
INITIALIZED: JsonValue = {"jsonrpc": "2.0", "method": "notifications/initialized"}

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the system does not show the memory"
)


@dataclass
class Client:
    """A client of one server, on one connection."""

    server: Served
    token: str | None = None
    session: str | None = None

    def __post_init__(self) -> None:
        self._connection = http.client.HTTPConnection(
            "127.0.0.1", self.server.port, timeout=PATIENCE
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._connection.close()

    def post(self, body: bytes, **headers: str) -> tuple[int, bytes]:
        sent = HEADERS | {name.replace("_", "-"): value for name, value in headers.items()}
        if self.session is not None:
            sent["Mcp-Session-Id"] = self.session
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"

        self._connection.request("POST", "/mcp", body, sent)
        answer = self._connection.getresponse()
        self.session = answer.headers.get("mcp-session-id", self.session)

        return answer.status, answer.read()

    def end(self, session: str | None) -> int:
        """End a session of this client, and return the status."""
        self._connection.request(
            "DELETE",
            "/mcp",
            headers={
                **HEADERS,
                "Mcp-Session-Id": str(session),
                "Authorization": f"Bearer {self.token}",
            },
        )
        answer = self._connection.getresponse()
        answer.read()

        return answer.status

    def open(self, **about: JsonValue) -> int:
        """Open another session with `about` as the description of the client; return the status."""
        self.session = None
        message = json.loads(json.dumps(INITIALIZE))
        message["params"]["clientInfo"] |= about
        status, _ = self.post(json.dumps(message).encode())
        if status == 200:
            self.post(json.dumps(INITIALIZED).encode())
        return status


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served("--transport", "http", "--rate-limit", "0", project=tmp_path) as running:
        yield running


def memory(server: Served) -> float:
    held = resident_mb(server.process.pid)
    assert held is not None
    return held


def processor_seconds(server: Served) -> float:
    ticks = (
        Path(f"/proc/{server.process.pid}/stat")
        .read_text(encoding="ascii")
        .rpartition(")")[2]
        .split()
    )
    return sum(map(int, ticks[11:13])) / os.sysconf("SC_CLK_TCK")


def headers(field: Field, body: bytes) -> dict[str, str]:
    if field.version == VERSIONS[0]:
        return {}

    params = json.loads(body).get("params")
    name = (params.get("name") or params.get("uri")) if isinstance(params, dict) else None
    named = {"Mcp_Name": name} if isinstance(name, str) else {}
    return {"MCP_Protocol_Version": field.version, "Mcp_Method": field.method, **named}


@pytest.mark.parametrize("version", VERSIONS)
def test_no_field_of_any_message_fills_the_memory_or_stops_the_server(
    server: Served, version: str
) -> None:
    values = large_values()
    every = list(fields(version))
    assert len({field.method for field in every}) >= 11

    with Client(server) as client:
        assert client.open() == 200
        before, costs = memory(server), []
        for field in every:
            is_broad = len(field.path) == 2 or field.path[-1] in {
                "icons",
                "sizes",
                "resourceSubscriptions",
            }
            for kind in values if is_broad else ["a string"]:
                # A message that opens a session opens another one each time.
                client.session = None if field.method == "initialize" else client.session
                started = processor_seconds(server)
                status, _ = client.post(
                    field.message(values[kind]), **headers(field, field.message(b'"short"'))
                )
                costs.append((processor_seconds(server) - started, kind, field))
                assert status in {200, 202, 400, 404, 413}, (kind, field)
                if field.method == "initialize":
                    assert client.open() == 200

            assert ask(f"{server.address}/health", method="GET").status_code == 200

    usual = max(median(cost for cost, *_ in costs), 0.01)
    assert max(costs, key=lambda each: each[0])[0] < LONGEST * usual, sorted(
        costs, key=lambda each: -each[0]
    )[:5]
    assert memory(server) - before < MOST_MB


def test_an_idle_session_holds_next_to_nothing_of_its_last_message(server: Served) -> None:
    icons: JsonValue = [{"src": "data:image/png;base64," + "A" * 200_000}]
    call = {"name": "validate_report", "arguments": {"text": "x" * 2_000_000}}
    message = json.dumps(
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
    ).encode()

    with Client(server) as client:
        assert client.open(icons=icons) == 200
        client.post(message)
        before = memory(server)
        for _ in range(50):
            assert client.open(icons=icons) == 200
            assert client.post(message)[0] == 200

    assert memory(server) - before < MOST_MB


def test_one_client_cannot_take_all_sessions(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(TOKENS, encoding="utf-8")
    file.chmod(0o600)
    options = ("--transport", "http", "--rate-limit", "0", "--token-file", str(file))

    with (
        served(*options, project=tmp_path) as server,
        Client(server, "the-token-of-the-first") as one,
        Client(server, "the-token-of-another") as other,
    ):
        body = json.dumps(INITIALIZE).encode()
        sessions: list[str | None] = []
        for _ in range(1_000):
            one.session = None
            assert one.post(body)[0] == 200
            sessions.append(one.session)

        one.session = None
        status, answer = one.post(body)
        assert (status, "1,000 sessions" in json.loads(answer)["error"]["message"]) == (503, True)
        assert other.open() == 200
        assert one.end(sessions[0]) == 200
        assert one.open() == 200


def test_the_message_that_a_stream_began_with_counts_for_its_client(server: Served) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSIONS[1],
        "io.modelcontextprotocol/clientCapabilities": {},
        "padding": "x" * 250_000,
    }
    params = {"_meta": meta, "notifications": {"resourceSubscriptions": ["goop://project/SPEC.md"]}}
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    ).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type:"
        f" application/json\r\nContent-Length: {len(body)}\r\nAccept: application/json,"
        " text/event-stream\r\nMcp-Method: subscriptions/listen\r\nMCP-Protocol-Version:"
        f" {VERSIONS[1]}\r\n\r\n"
    ).encode()
    before = memory(server)

    with opened(server.port, count=80) as connections:
        answers = []
        for connection in connections:
            connection.sendall(head + body)
            answers.append(connection.recv(1 << 16))

        assert sum(b"acknowledged" in answer for answer in answers) > 50
        assert b"the open streams of this client hold" in answers[-1]
        assert memory(server) - before < MOST_MB + 3 * 16


def test_large_values_are_as_large_as_they_are_meant_to_be() -> None:
    for kind, value in large_values().items():
        assert SIZE * 0.9 < len(value) < SIZE * 1.05, kind
        json.loads(value)

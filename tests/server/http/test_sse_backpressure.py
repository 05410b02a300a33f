"""Clients that send on and read nothing, and what others notice of them."""

import json
import socket
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning

from tests.server.http.requests import INITIALIZE, ask
from tests.server.http.serving import Served, served
from tests.server.http.sockets import opened, until
from tests.server.notifications import Heard

MOST_MESSAGES = 2_000
URI = "goop://project/SPEC.md"

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning"
)


def request(number: int, method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def stream(connection: socket.socket) -> str:
    """Open a stream, and return where its messages go."""
    connection.sendall(b"GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n")
    return until(connection, rb"data: (\S+)")[1].decode()


def fill(server: Served, address: str) -> list[int]:
    """Ask for long answers until the server accepts no more; return the status of each request."""
    statuses = []
    for number in range(MOST_MESSAGES):
        body = request(number + 10, "tools/list")
        statuses.append(ask(f"{server.address}{address}", content=body).status_code)
        if statuses[-1] == 503:
            break

    return statuses


def test_who_reads_no_answers_over_sse_cannot_ask_on_and_others_hear_of_changes(
    tmp_path: Path,
) -> None:
    specification = tmp_path / ".goopspec" / "SPEC.md"
    specification.parent.mkdir()
    specification.write_text("first", encoding="utf-8")

    with served("--transport", "http", "--rate-limit", "0", project=tmp_path) as server:
        with opened(server.port) as (silent,):
            address = stream(silent)
            ask(f"{server.address}{address}", body=INITIALIZE)
            until(silent, rb'"id":1')
            notification = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
            ask(f"{server.address}{address}", content=notification)
            subscription = request(2, "resources/subscribe", uri=URI)
            ask(f"{server.address}{address}", content=subscription)
            until(silent, rb'"id":2')
            statuses = fill(server, address)
            assert (statuses[0], statuses[-1]) == (202, 503)
            anyio.run(hear_of_changes, server, specification)
            assert ask(f"{server.address}/health", method="GET").status_code == 200

        # The stream has ended, and with it what waited for it.
        with opened(server.port) as (second,):
            assert ask(f"{server.address}{stream(second)}", body=INITIALIZE).status_code == 202


async def hear_of_changes(server: Served, specification: Path) -> None:
    heard = Heard()
    async with Client(server.mcp, mode="legacy", message_handler=heard.note) as client:
        await client.subscribe_resource(URI)
        for number in range(2):
            await anyio.Path(specification).write_text(f"changed {number}", encoding="utf-8")
            await heard.wait_for_count(number + 1)

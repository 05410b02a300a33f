"""The end of the server: calls are answered, streams are closed, the exit code is a shell's."""

import json
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.server.connections import PROTOCOL_MODES, Transport, connect, target, text_of
from tests.server.http.serving import PATIENCE, served
from tests.server.http.sockets import HEALTH, opened, rest_of

SLOW = "tests.server.http.slow_server"
NETWORK: tuple[Transport, ...] = ("streamable-http", "sse")
COMBINATIONS = [
    pytest.param(transport, protocol_mode, id=f"{transport}-{protocol_mode}")
    for transport in NETWORK
    for protocol_mode in PROTOCOL_MODES
]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_server_with_the_code_of_a_shell_and_no_more_words(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with served("--transport", "http", project=tmp_path) as server:
        assert server.stop(number) == code
        assert server.stderr() == f"goop-mcp: serving {server.mcp} and {server.sse}\n"


@pytest.mark.parametrize(("transport", "protocol_mode"), COMBINATIONS)
def test_a_call_that_runs_is_answered_before_the_server_ends(
    tmp_path: Path, transport: Transport, protocol_mode: str
) -> None:
    with (
        served("--transport", "http", project=tmp_path, program=SLOW) as server,
        ThreadPoolExecutor(1) as pool,
    ):

        def call() -> str:
            with connect(target(server, transport), protocol_mode) as connection:
                # Else the client asks for the tool's schema once the answer is there, which is too
                # late.
                connection.tools()
                return text_of(connection.tool("wait", seconds=1))

        waiting = pool.submit(call)
        server.wait_for_line("waiting begins")
        assert server.stop() == 143
        assert waiting.result(timeout=PATIENCE) == "waited"


@pytest.mark.parametrize(
    ("transport", "protocol_mode"), [("streamable-http", "auto"), ("sse", "legacy")]
)
def test_a_call_that_runs_for_ever_is_given_up(
    tmp_path: Path, transport: Transport, protocol_mode: str
) -> None:
    with (
        served("--transport", "http", project=tmp_path, program=SLOW) as server,
        ThreadPoolExecutor(1) as pool,
    ):

        def call() -> None:
            with connect(target(server, transport), protocol_mode) as connection:
                connection.tool("wait", seconds=10_000)

        waiting = pool.submit(call)
        server.wait_for_line("waiting begins")
        assert server.stop() == 143
        server.wait_for_line("waiting given up")
        assert waiting.exception(timeout=PATIENCE) is not None


def test_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    with (
        served("--transport", "http", project=tmp_path, program=SLOW) as server,
        ThreadPoolExecutor(1) as pool,
    ):

        def call() -> None:
            with connect(target(server, "streamable-http"), "auto") as connection:
                connection.tool("wait", seconds=10_000)

        waiting = pool.submit(call)
        server.wait_for_line("waiting begins")
        server.process.send_signal(signal.SIGTERM)
        assert server.stop(signal.SIGINT) in (128 + signal.SIGINT, 128 + signal.SIGTERM)
        assert "waiting given up" not in server.stderr()
        assert waiting.exception(timeout=PATIENCE) is not None


def test_a_call_whose_client_closes_its_half_of_the_connection_is_given_up(tmp_path: Path) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "wait", "arguments": {"seconds": 10_000}, "_meta": meta}
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    ).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
        f"Mcp-Method: tools/call\r\nMcp-Name: wait\r\nContent-Length: {len(body)}\r\n\r\n"
    )

    with (
        served("--transport", "http", project=tmp_path, program=SLOW) as server,
        opened(server.port) as (half,),
    ):
        half.sendall(head.encode() + body)
        server.wait_for_line("waiting begins")
        half.shutdown(socket.SHUT_WR)
        server.wait_for_line("waiting given up")
        assert rest_of(half) == b""


def test_idle_connections_and_open_streams_do_not_hold_up_the_end(tmp_path: Path) -> None:
    with (
        served("--transport", "http", project=tmp_path) as server,
        connect(target(server, "streamable-http"), "legacy") as one,
        connect(target(server, "sse"), "legacy") as other,
        opened(server.port) as (idle,),
    ):
        idle.sendall(HEALTH)
        assert idle.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        for connection in (one, other):
            assert connection.tools()

        assert server.stop() == 143
        assert rest_of(idle) in (b"", b'{"status":"ok"}')


@pytest.mark.parametrize("transport", NETWORK)
def test_a_client_that_goes_away_ends_its_call_and_nothing_else(
    tmp_path: Path, transport: Transport
) -> None:
    with served("--transport", "http", project=tmp_path, program=SLOW) as server:
        for protocol_mode in PROTOCOL_MODES:
            with connect(target(server, transport), protocol_mode) as connection:
                call = connection.portal.start_task_soon(
                    connection.client.call_tool, "wait", {"seconds": 10_000}
                )
                server.wait_for_line("waiting begins")
                call.cancel()
                server.wait_for_line("waiting given up")

            with connect(target(server, transport), protocol_mode) as connection:
                assert not connection.tool(
                    "save_memory", title="A title", content=f"Something in {protocol_mode}."
                ).is_error

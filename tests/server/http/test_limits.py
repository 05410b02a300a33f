"""Requests that are too large, too many, too slow, or not HTTP/1.1."""

import gzip
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import httpx2
import pytest
import uvicorn
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from goop_mcp.server.clients import ClientCounter
from goop_mcp.server.http.body import BodyReader
from goop_mcp.server.http.concurrency import ConcurrencyLimiter
from goop_mcp.server.http.ports import bind
from goop_mcp.server.http.principal import client_of
from goop_mcp.server.http.rate_limit import RateLimiter
from goop_mcp.server.http.uvicorn_protocol import TimedProtocol
from tests.server.connections import connect, target
from tests.server.http.requests import INITIALIZE, ask, refusal_of
from tests.server.http.serving import PATIENCE, Served, served
from tests.server.http.sockets import HEALTH, exchange, opened, rest_of

MODERN = "2026-07-28"
MOST_CALLS_OF_ONE = 256


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("project")
    with served(
        "--transport", "http", "--rate-limit", "0", project=folder, GOOP_LOG_LEVEL="INFO"
    ) as running:
        yield running


@contextmanager
def limited_to(connections: int) -> Iterator[int]:
    """Serve a word on as few connections as that less one, and give the port."""
    config = uvicorn.Config(
        PlainTextResponse("ok"),
        http=TimedProtocol,
        lifespan="off",
        log_config=None,
        limit_concurrency=connections,
    )
    running = uvicorn.Server(config)

    with bind("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=running.run, args=[[listening]], daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            running.should_exit = True
            thread.join(PATIENCE)


def asked_once(connection: socket.socket) -> bytes:
    """Ask on a connection that stays open, and return the whole answer, which ends in ok."""
    connection.sendall(HEALTH)
    answer = b""
    while not answer.endswith(b"ok"):
        chunk = connection.recv(1 << 16)
        assert chunk, answer
        answer += chunk

    return answer


def still_answers(server: Served) -> None:
    with connect(target(server, "streamable-http"), "auto") as connection:
        assert not connection.tool("explain_rule", rule="xml/unescaped").is_error


@pytest.mark.parametrize("path", ["/mcp", "/messages/?session_id=x"])
def test_a_body_over_four_mebibytes_is_refused_however_it_is_sent(
    server: Served, path: str
) -> None:
    large = b" " * (4 * 1024 * 1024 + 1)
    request_head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {10**12}\r\n\r\n".encode()
    )
    with opened(server.port) as (connection,):
        connection.sendall(request_head)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 413 ")

    assert refusal_of(ask(f"{server.address}{path}", content=large)) == (413, "too_large")
    chunked = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    )
    with opened(server.port) as (connection,):
        connection.sendall(chunked + b"%x\r\n" % len(large) + large)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 413 ")

    still_answers(server)


def test_a_compressed_body_is_refused_before_it_is_read(server: Served) -> None:
    body = gzip.compress(json.dumps(INITIALIZE).encode())
    for coding in ("gzip", "identity, br"):
        assert refusal_of(ask(server.mcp, content=body, Content_Encoding=coding)) == (
            415,
            "compressed",
        )

    assert ask(server.mcp, Content_Encoding="identity").status_code == 200


def test_bad_bytes_after_an_answer_close_the_connection_and_leave_no_traceback(
    tmp_path: Path,
) -> None:
    with served("--transport", "http", project=tmp_path) as server:
        with opened(server.port) as (connection,):
            connection.sendall(
                b"POST /none HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 404 ")
            connection.sendall(b"no size of a chunk\r\n\r\n")
            assert b"HTTP/1.1 " not in rest_of(connection)

        assert server.stop() == 143
        assert "Traceback" not in server.stderr()


def test_one_connection_too_many_reads_when_to_come_back() -> None:
    with limited_to(2) as port, opened(port) as (first,):
        assert asked_once(first).startswith(b"HTTP/1.1 200 ")
        answer = exchange(port, HEALTH)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in answer.lower()
        assert b'"error":"busy"' in answer
        assert asked_once(first).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_another_content_type_is_refused(server: Served, content_type: str) -> None:
    content = json.dumps(INITIALIZE).encode()
    modern = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/list"}
    for url, headers in (
        (server.mcp, {}),
        (server.mcp, modern),
        (f"{server.address}/messages/?session_id=x", {}),
    ):
        answer = ask(url, content=content, Content_Type=content_type, **headers)
        assert refusal_of(answer) == (415, "wrong_type")
        assert "Content-Type: application/json" in answer.json()["error_description"]


def test_a_client_that_asks_too_fast_reads_how_long_to_wait(tmp_path: Path) -> None:
    # So slow that no machine gets a second one in by being slow itself.
    with served("--transport", "http", "--rate-limit", "0.001", project=tmp_path) as server:
        assert ask(server.mcp).status_code == 200
        slow = [ask(server.mcp) for _ in range(3)]
        assert {refusal_of(answer) for answer in slow} == {(429, "too_many_requests")}
        assert all(1 <= int(answer.headers["retry-after"]) <= 1_000 for answer in slow)
        assert ask(f"{server.address}/health", method="GET").status_code == 200


def test_whoever_guesses_tokens_is_slowed_down_and_nobody_else(tmp_path: Path) -> None:
    options = ("--transport", "http", "--rate-limit", "0.001")
    with served(*options, project=tmp_path, GOOP_TOKEN="the-right-one-of-all") as server:
        guesses = [ask(server.mcp, token=f"guess{n}").status_code for n in range(3)]
        assert guesses == [401, 429, 429]
        assert ask(server.mcp, token="the-right-one-of-all").status_code == 200


def test_a_bucket_lets_a_burst_through_and_fills_steadily() -> None:
    now = 0.0
    rates = RateLimiter(20, clock=lambda: now)
    assert [rates.wait("a") for _ in range(60)] == [0.0] * 60
    assert rates.wait("a") == pytest.approx(0.05)
    assert rates.wait("b") == 0
    now = 0.5
    assert [rates.wait("a") for _ in range(10)] == [0.0] * 10
    assert rates.wait("a") > 0
    now = 1e6
    assert [rates.wait("a") for _ in range(60)] == [0.0] * 60
    assert rates.wait("a") > 0


@pytest.mark.parametrize(
    ("one", "other", "is_one_client"),
    [
        ("127.0.0.1", "127.44.5.6", True),
        ("127.0.0.1", "::1", True),
        ("127.0.0.1", "::ffff:127.9.9.9", True),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:1:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("127.0.0.1", "192.0.2.1", False),
        ("no address", "another one", False),
    ],
)
def test_addresses_that_one_host_has_at_will_are_one_client(
    one: str, other: str, *, is_one_client: bool
) -> None:
    clients = {client_of({"type": "http", "client": (host, 1)}) for host in (one, other)}
    assert len(clients) == 1 + (not is_one_client)


def test_all_addresses_of_this_machine_share_their_requests(tmp_path: Path) -> None:
    with served(
        "--transport",
        "http",
        "--rate-limit",
        "0.001",
        "--host",
        "0.0.0.0",
        "--allowed-host",
        "127.0.0.1",
        "--allowed-host",
        "127.0.0.2",
        project=tmp_path,
        GOOP_TOKEN="the-right-one-of-all",
    ) as server:
        port = server.port
        statuses = [
            ask(f"http://{host}:{port}/ready", method="GET").status_code
            for host in ("127.0.0.1", "127.0.0.2")
        ]
        assert statuses == [200, 429]


def test_a_large_body_costs_as_many_requests_as_it_has_64_kib_and_at_most_a_burst() -> None:
    now = 0.0
    rates = RateLimiter(20, clock=lambda: now)
    rates.charge("a", 65_535)
    assert rates.wait("a") == 0
    rates.charge("a", 58 * 65_536)
    assert rates.wait("a") == 0
    assert rates.wait("a") > 0
    rates.charge("a", 1_000 * 65_536)
    assert rates.wait("a") == pytest.approx(61 / 20)
    assert rates.wait("b") == 0
    now = 3.1
    assert rates.wait("a") == 0


async def test_what_was_read_of_a_body_is_charged_whatever_becomes_of_it() -> None:
    charged: list[tuple[str, int]] = []
    app = BodyReader(
        PlainTextResponse("read"), charge=lambda client, size: charged.append((client, size))
    )
    transport = httpx2.ASGITransport(app=app, client=("192.0.2.1", 1))

    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        for size in (100_000, 4 * 1024 * 1024 + 1):

            async def pieces(size: int = size) -> AsyncIterator[bytes]:
                yield b" " * size

            await client.post("/", content=pieces())

    assert charged == [("address 192.0.2.1", 100_000), ("address 192.0.2.1", 4 * 1024 * 1024 + 1)]


def test_as_many_buckets_as_anyone_likes_take_no_more_memory() -> None:
    rates = RateLimiter(20, clock=lambda: 0.0)
    for number in range(20_000):
        rates.wait(str(number))
    assert len(rates) == 10_000


def test_five_hundred_idle_and_slow_sockets_leave_a_healthy_client_alone(server: Served) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    body = head + b"Content-Length: 1000\r\n\r\n"
    with opened(server.port, count=500) as sockets:
        beginnings = (b"", head, body)
        drops = threading.Event()
        for number, connection in enumerate(sockets):
            connection.sendall(beginnings[number % 3])

        def drip() -> None:
            while not drops.wait(1):
                for number, connection in enumerate(sockets):
                    if number % 3:
                        _send(connection, b"x")

        with ThreadPoolExecutor(1) as pool:
            dripping = pool.submit(drip)
            try:
                for _ in range(20):
                    still_answers(server)
            finally:
                drops.set()

            dripping.result(timeout=PATIENCE)


def test_a_head_that_never_ends_is_given_up(server: Served) -> None:
    with (
        opened(server.port) as (idle,),
        opened(server.port) as (slow,),
        opened(server.port) as (second,),
    ):
        slow.sendall(b"GET /health HTTP/1.1\r\nHost: 127")
        second.sendall(HEALTH)
        answer = b""
        while not answer.endswith(b"}"):
            answer += second.recv(1 << 16)

        second.sendall(b"GET /health HT")
        assert rest_of(idle) == b""
        for connection in (slow, second):
            assert rest_of(connection).startswith(b"HTTP/1.1 408 ")


def test_a_connection_that_is_closed_half_harms_nobody(server: Served) -> None:
    assert b'{"status":"ok"}' in exchange(server.port, HEALTH, half_close=True)
    body = json.dumps(INITIALIZE).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    exchange(server.port, head.encode() + body, half_close=True)
    exchange(server.port, head.encode() + body[:20], half_close=True)
    still_answers(server)


@pytest.mark.parametrize(
    "data",
    [
        b"\x00" * 100,
        b"SSH-2.0-x\r\n\r\n",
        b"GET\r\n\r\n",
        b"A" * 100_000,
        b"GET / HTTP/1.1\r\nx\r\n\r\n",
    ],
)
def test_data_that_is_not_http_is_refused_with_the_reason(server: Served, data: bytes) -> None:
    answer = exchange(server.port, data)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == "no_http"
    still_answers(server)


def test_tls_on_a_plain_port_is_reported_to_both_sides(server: Served) -> None:
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 32
    answer = exchange(server.port, hello)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"plain HTTP; use http://" in answer
    assert "spoke TLS, and this port is plain HTTP" in server.wait_for_line("spoke TLS")
    still_answers(server)


def test_http_2_is_refused_with_what_to_use(server: Served) -> None:
    answer = exchange(server.port, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00" * 9)
    assert answer.startswith(b"HTTP/1.1 505 ")
    assert b"this port speaks HTTP/1.1" in answer
    assert answer.count(b"HTTP/1.1 ") == 1
    still_answers(server)


def test_a_long_head_is_refused(server: Served) -> None:
    answer = exchange(
        server.port, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 200_000
    )
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    assert ask(f"{server.address}/health?{'x' * 10_000}", method="GET").status_code == 200


def _send(connection: socket.socket, data: bytes) -> None:
    # The server may have given this one up, as it should.
    with suppress(OSError):
        connection.sendall(data)


async def test_one_client_cannot_fill_the_memory_of_all() -> None:
    app = BodyReader(PlainTextResponse("read"), together=100)
    is_held, is_over = anyio.Event(), anyio.Event()

    async def send(address: str, content: bytes | AsyncIterator[bytes]) -> int:
        transport = httpx2.ASGITransport(app=app, client=(address, 1))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return (await client.post("/", content=content)).status_code

    async def slowly() -> AsyncIterator[bytes]:
        yield b" " * 45
        is_held.set()
        await is_over.wait()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send, "192.0.2.1", slowly())
            await is_held.wait()
            assert await send("192.0.2.1", b" " * 10) == 503
            assert await send("192.0.2.2", b" " * 10) == 200
            is_over.set()

        assert await send("192.0.2.1", b" " * 50) == 200


def test_what_is_under_way_is_added_up_by_client_and_forgotten_with_its_end() -> None:
    tally = ClientCounter()
    tally.add("one")
    tally.add("other", 10)
    tally.add("one", 2)
    assert (tally.of("one"), tally.of("other"), tally.of("nobody"), tally.total) == (3, 10, 0, 13)
    tally.add("other", -10)
    tally.add("one", -3)
    assert (tally.total, len(tally)) == (0, 0)


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("POST", {}, 503),
        ("POST", {"Mcp-Method": "subscriptions/listen"}, 503),
        ("POST", {"Mcp-Method": "subscriptions/listen", "MCP-Protocol-Version": "2025-06-18"}, 503),
        ("POST", {"Mcp-Method": "subscriptions/listen", "MCP-Protocol-Version": MODERN}, 200),
        ("GET", {}, 200),
    ],
)
async def test_a_call_of_the_earlier_version_counts_with_a_header_of_the_later_one(
    method: str, headers: dict[str, str], status: int
) -> None:
    came = anyio.Semaphore(0)
    is_over = anyio.Event()

    async def hold(scope: Scope, receive: Receive, send: Send) -> None:
        if "x-last" not in Headers(scope=scope):
            came.release()
            await is_over.wait()
        await PlainTextResponse("done")(scope, receive, send)

    transport = httpx2.ASGITransport(app=ConcurrencyLimiter().limited(hold))

    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                for _ in range(MOST_CALLS_OF_ONE):
                    tasks.start_soon(client.post, "/")

                for _ in range(MOST_CALLS_OF_ONE):
                    await came.acquire()

                answer = await client.request(method, "/", headers={**headers, "X-Last": "yes"})
                is_over.set()

    assert answer.status_code == status

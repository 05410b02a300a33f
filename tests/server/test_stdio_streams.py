"""The streams of a server on stdio: every kind that a host may give it, in pieces of any size."""

import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from goop_mcp.server.stdio import LONGEST_LINE, LineReader, LineWriter, PendingRequests
from tests.repository import ROOT
from tests.server.http.serving import PATIENCE, environment
from tests.server.test_stdio_process import INITIALIZE, SERVE, running

BACKENDS = ("asyncio", "trio")
ANSWERS = 40
"""Of tools/list, each longer than what a pipe holds."""


def message(method: str, number: int) -> bytes:
    params = INITIALIZE if method == "initialize" else {}
    return (
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
        + b"\n"
    )


@pytest.fixture(params=["pipe", "socket"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """Open two connected descriptors: what is written to the second is read from the first."""
    if request.param == "pipe":
        pair = os.pipe()
    else:
        one, other = socket.socketpair()
        pair = one.detach(), other.detach()

    yield pair
    for descriptor in pair:
        with suppress(OSError):
            os.close(descriptor)


@pytest.mark.parametrize("backend", BACKENDS)
def test_lines_are_whole_however_the_bytes_come(backend: str, ends: tuple[int, int]) -> None:
    reading, writing = ends
    pieces = [
        b'{"a": "\xc3',
        b'\xa4"}\n{"b"',
        b": 1}\r\n\n",
        b"x" * 300_000,
        b"\xff\n",
        b"without an end",
    ]

    def write() -> None:
        for piece in pieces:
            rest = piece
            while rest:
                rest = rest[os.write(writing, rest) :]
        os.close(writing)

    async def read() -> list[str]:
        with anyio.fail_after(PATIENCE):
            return [line async for line in LineReader(reading, PendingRequests())]

    writer = threading.Thread(target=write)
    writer.start()
    lines = anyio.run(read, backend=backend)
    writer.join(PATIENCE)
    assert lines == ['{"a": "ä"}', '{"b": 1}\r', "", "x" * 300_000 + "\ufffd", "without an end"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_other_work_goes_on_while_nobody_reads(backend: str, ends: tuple[int, int]) -> None:
    reading, writing = ends
    text = "ü" * 1_000_000
    taken = bytearray()

    def take() -> None:
        while len(taken) < 2_000_000:
            taken.extend(os.read(reading, 65_536))

    async def write() -> None:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(LineWriter(writing, PendingRequests()).write, text)
                # Nothing reads before this thread is started, which a writer that blocks would
                # never let happen.
                await anyio.lowlevel.checkpoint()
                tasks.start_soon(anyio.to_thread.run_sync, take)

    anyio.run(write, backend=backend)
    assert taken.decode() == text


@pytest.mark.parametrize("backend", BACKENDS)
def test_reader_that_has_gone_is_a_broken_pipe(backend: str, ends: tuple[int, int]) -> None:
    reading, writing = ends
    os.close(reading)

    async def write() -> None:
        await LineWriter(writing, PendingRequests()).write("x" * 1_000_000)

    with pytest.raises(BrokenPipeError):
        anyio.run(write, backend=backend)


def test_answers_that_nobody_reads_yet_are_whole_when_they_are_read() -> None:
    with running() as process:
        process.open()
        for number in range(1, ANSWERS + 1):
            process.write(message("tools/list", number).rstrip())

        answers = [process.answer() for _ in range(ANSWERS)]

    assert {answer["id"] for answer in answers} == set(range(1, ANSWERS + 1))
    assert all("result" in answer for answer in answers)


def test_server_answers_over_a_socket_as_some_hosts_give_it() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = subprocess.Popen(
            SERVE, cwd=ROOT, env=environment(), stdin=theirs.fileno(), stdout=theirs.fileno()
        )
        theirs.close()
        ours.settimeout(PATIENCE)
        ours.sendall(message("initialize", 1))

        with ours.makefile("rb") as answers:
            assert json.loads(answers.readline())["id"] == 1
            ours.shutdown(socket.SHUT_WR)
            assert answers.read() == b""

        assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize("given", ["pipe", "file"])
@pytest.mark.parametrize("taken", ["pipe", "file"])
def test_requests_that_came_before_the_end_of_input_are_answered(
    given: str, taken: str, tmp_path: Path
) -> None:
    asked, answered = tmp_path / "asked", tmp_path / "answered"
    asked.write_bytes(
        b"".join([message("initialize", 1), *(message("ping", number) for number in range(2, 20))])
    )
    with asked.open("rb") as stdin, answered.open("wb") as stdout:
        ended = subprocess.run(
            SERVE,
            cwd=ROOT,
            env=environment(),
            **({"stdin": stdin} if given == "file" else {"input": asked.read_bytes()}),
            stdout=stdout if taken == "file" else subprocess.PIPE,
            check=False,
            timeout=PATIENCE,
        )

    assert ended.returncode == 0
    lines = (answered.read_bytes() if taken == "file" else ended.stdout).splitlines()
    assert sorted(json.loads(line)["id"] for line in lines) == list(range(1, 20))


def test_stream_that_stays_open_does_not_hold_up_the_end() -> None:
    about = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    listen = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "subscriptions/listen",
        "params": {"notifications": {}, "_meta": about},
    }
    with running() as process:
        process.write(json.dumps(listen).encode())
        assert process.answer()["method"] == "notifications/subscriptions/acknowledged"
        process.stdin.close()
        assert process.ended()[0] == 0


@pytest.mark.parametrize("order", ["id first", "id last"])
def test_a_line_that_is_too_large_is_refused_by_its_id_and_the_next_is_answered(order: str) -> None:
    padding = "x" * (LONGEST_LINE + 100_000)
    around = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    params = {"params": {"name": "validate_report", "arguments": {"id": 3, "text": padding}}}
    line = json.dumps(around | params if order == "id first" else params | around).encode()

    with running() as process:
        process.open()
        process.write(line)
        refusal = process.answer()
        process.write(message("ping", 8).rstrip())
        assert process.answer()["id"] == 8

    assert refusal["id"] == 7
    assert "the line has more than 33,554,432 bytes" in json.dumps(refusal["error"])


def test_a_line_of_too_many_values_is_refused_before_it_is_read() -> None:
    arguments = {f"unknown{number}": number for number in range(300_000)}
    call = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {"name": "explain_rule", "arguments": arguments},
    }
    with running() as process:
        process.open()
        process.write(json.dumps(call).encode())
        refusal = process.answer()
        process.write(json.dumps({**call, "id": 8, "params": {"name": "x" * 300_000}}).encode())
        second = process.answer()

    assert refusal["id"] == 7
    assert "more than 10,000 values" in json.dumps(refusal["error"])
    assert second["id"] == 8
    assert "more than 262,144 bytes besides the arguments" in json.dumps(second["error"])


@pytest.mark.parametrize(
    ("line", "code", "why"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":}}', -32700, "is not JSON"),
        (b'{"method":"ping","params":{"id":3,"a":"\x01"},"id":7}', -32700, "is not JSON"),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', -32600, "params as an object"),
        (
            b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_memory",'
            b'"arguments":{"id":1' + b"0" * 5_000 + b"}}}",
            -32700,
            "number out of range",
        ),
    ],
    ids=["broken", "id last", "no object", "long number"],
)
def test_a_request_that_cannot_be_read_is_answered_by_its_id(
    line: bytes, code: int, why: str
) -> None:
    with running() as process:
        process.open()
        process.write(line)
        refusal = process.answer()
        process.write(message("ping", 8).rstrip())
        assert process.answer()["id"] == 8

    assert refusal["id"] == 7
    assert isinstance(refusal["error"], dict)
    assert refusal["error"]["code"] == code
    assert why in str(refusal["error"]["message"])


def test_an_answer_of_the_client_that_cannot_be_read_is_not_answered() -> None:
    with running() as process:
        process.open()
        process.write(b'{"jsonrpc":"2.0","id":7,"result":{"a":}}')
        process.write(message("ping", 8).rstrip())
        assert process.answer()["id"] == 8

"""Calls of one session are carried out in the order in which they were sent (D-112)."""

import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.client import ClientRequestContext
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult
from pydantic import JsonValue

from goop_mcp.server import create_server, order
from goop_mcp.server.order import CallOrder, TooManyCallsError
from goop_mcp.server.server import GoopServer
from goop_mcp.settings import Settings
from goop_mcp.validation.samples import COMPLETE_REPLY
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.scaffold import create_project
from tests.recording.played import Player
from tests.recording.repositories import Work
from tests.server.connections import (
    PROTOCOL_MODES,
    Connection,
    Transport,
    connect,
    stdio_server,
    target,
    text_of,
)
from tests.server.http.requests import INITIALIZE, ask
from tests.server.http.serving import Served, served
from tests.server.http.sockets import opened, until
from tests.services.reporting import report
from tests.workspace.projects import copied, put_in_phase

NOW = "2026-11-22T12:00:00.000Z"
PAIRS = 100
LONG = 18_000
"""Characters of the first call of each pair: with its escapes and titles, a body of 20 kB."""
ORDERED: tuple[tuple[Transport, str], ...] = (
    ("stdio", "auto"),
    ("stdio", "legacy"),
    ("sse", "auto"),
    ("sse", "legacy"),
    ("streamable-http", "legacy"),
)


def memory(number: int, *, length: int = 10) -> dict[str, JsonValue]:
    return {"title": f"Number {number} of many", "content": f"{number} {'x' * length}"}


def recording(text: str) -> dict[str, JsonValue]:
    return {"text": text, "check_workspace": False}


def number_of(result: CallToolResult) -> int:
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    return int(result.structured_content["id"])


@contextmanager
def serving(transport: Transport, protocol_mode: str, project: Path) -> Iterator[Connection]:
    if transport == "stdio":
        with connect(stdio_server(project), protocol_mode) as connection:
            yield connection
        return

    with (
        served("--transport", transport, "--rate-limit", "0", project=project) as server,
        connect(target(server, transport), protocol_mode) as connection,
    ):
        yield connection


def without_waiting(
    connection: Connection, *calls: tuple[str, dict[str, JsonValue]]
) -> list[CallToolResult]:
    """Send all `calls` before any is answered; return the answers in the order of the calls."""

    async def send() -> list[CallToolResult]:
        answers: dict[int, CallToolResult] = {}

        async def one(number: int, name: str, arguments: dict[str, JsonValue]) -> None:
            answers[number] = await connection.client.call_tool(name, arguments)

        async with anyio.create_task_group() as tasks:
            for number, (name, arguments) in enumerate(calls):
                tasks.start_soon(one, number, name, arguments)
        return [answers[number] for number in range(len(calls))]

    return connection.call(send)


@pytest.mark.parametrize(("transport", "protocol_mode"), ORDERED)
def test_a_hundred_pairs_of_calls_are_carried_out_in_the_order_of_their_sending(
    tmp_path: Path, transport: Transport, protocol_mode: str
) -> None:
    calls = [memory(number, length=0 if number % 2 else LONG) for number in range(2 * PAIRS)]
    with serving(transport, protocol_mode, tmp_path) as connection:
        answers = without_waiting(connection, *(("save_memory", each) for each in calls))

    numbers = [number_of(each) for each in answers]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_a_blocker_that_was_reported_last_is_there_at_the_end(
    tmp_path: Path, protocol_mode: str
) -> None:
    copied("profile_0x", tmp_path)
    texts = [
        text
        for number in range(10)
        for text in (
            report(summary=f"Step {number}."),
            report("BLOCKED", summary=f"Stop {number}.", blockers=f"No key {number}."),
        )
    ]
    with connect(stdio_server(tmp_path), protocol_mode) as connection:
        answers = without_waiting(
            connection,
            *(("record_report", recording(each)) for each in texts),
        )

    recorded = [text_of(each).partition("recorded as report ")[2].split()[0] for each in answers]
    assert [int(each.strip(".,:;")) for each in recorded] == [*range(1, 21)], recorded


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_a_call_that_reads_sees_what_was_written_before_and_nothing_that_came_after(
    tmp_path: Path, protocol_mode: str
) -> None:
    with connect(stdio_server(tmp_path), protocol_mode) as connection:
        for number in range(1, 21):
            look: dict[str, JsonValue] = {"id": number}
            before, _, after = without_waiting(
                connection,
                ("get_memory", look),
                ("save_memory", memory(number)),
                ("get_memory", look),
            )
            assert before.is_error, "it saw a memory that was sent after it"
            assert not after.is_error, text_of(after)


def body_of(id: int | str, name: str, arguments: dict[str, Any]) -> JsonValue:
    params: JsonValue = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Served]:
    options = ("--transport", "http", "--rate-limit", "0")
    with served(*options, project=tmp_path) as server:
        yield server


@pytest.fixture
def session(network: Served) -> str:
    id = ask(network.mcp, body=INITIALIZE).headers["mcp-session-id"]
    ready: JsonValue = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert ask(network.mcp, body=ready, Mcp_Session_Id=id).status_code == 202
    return id


@contextmanager
def headers_sent(server: Served, session: str, body: bytes) -> Iterator[Callable[[], int]]:
    """Send the headers of a request; the function sends its body and returns what it saved as."""
    head = (
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n"
        f"Mcp-Session-Id: {session}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with opened(server.port) as (connection,):
        # The first byte of the body shows that the headers are complete.
        connection.sendall(head.encode() + body[:1])

        def send() -> int:
            connection.sendall(body[1:])
            return int(until(connection, rb'"structuredContent":\{"id":(\d+)')[1])

        yield send


def answered(server: Served, session: str) -> None:
    """Return once the server has begun with all that was sent before."""
    judging = body_of(f"judge {session}", "validate_report", {"text": COMPLETE_REPLY})
    assert '"accepted"' in ask(server.mcp, body=judging, Mcp_Session_Id=session).text


def saved(server: Served, session: str, id: int) -> int:
    call = body_of(id, "save_memory", memory(id))
    text = ask(server.mcp, body=call, Mcp_Session_Id=session).text
    return int(text.partition('"structuredContent":{"id":')[2].partition(",")[0])


def test_over_http_the_headers_count_and_not_the_end_of_the_body(
    network: Served, session: str
) -> None:
    slow = json.dumps(body_of(7, "save_memory", memory(7))).encode()
    with headers_sent(network, session, slow) as finish, ThreadPoolExecutor() as threads:
        # What reads no stored state is answered although an earlier call has not arrived.
        answered(network, session)
        later = threads.submit(saved, network, session, 8)
        answered(network, session)
        other = ask(network.mcp, body=INITIALIZE).headers["mcp-session-id"]
        assert saved(network, other, 9) == 1, "another session had to wait"
        assert (finish(), later.result()) == (2, 3)


def test_a_request_that_ends_without_a_call_leaves_its_place(network: Served, session: str) -> None:
    slow = json.dumps(body_of(7, "save_memory", memory(7))).encode()
    with headers_sent(network, session, slow):
        answered(network, session)
    # Its connection is closed now.
    assert saved(network, session, 8) == 1
    for body in (b"nonsense", b"[]", json.dumps(body_of(9, "no_tool", {})).encode()):
        ask(network.mcp, content=body, Mcp_Session_Id=session)
    assert saved(network, session, 10) == 2


def test_a_cancelled_call_leaves_the_queue_and_is_not_carried_out(
    network: Served, session: str
) -> None:
    slow = json.dumps(body_of(7, "save_memory", memory(7))).encode()
    with headers_sent(network, session, slow) as finish, ThreadPoolExecutor() as threads:
        answered(network, session)
        waiting = body_of("given up", "save_memory", memory(8))
        given_up = threads.submit(ask, network.mcp, body=waiting, Mcp_Session_Id=session)
        cancel: JsonValue = {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": "given up"},
        }
        # Until it has arrived, there is nothing to cancel.
        while not given_up.done():
            ask(network.mcp, body=cancel, Mcp_Session_Id=session)
        assert finish() == 1
        assert saved(network, session, 9) == 2


def test_other_calls_go_on_while_a_person_is_asked(tmp_path: Path) -> None:
    create_project(ProjectFiles(tmp_path), name="Shop", now=NOW)
    put_in_phase(tmp_path, "accept")
    meanwhile: list[CallToolResult] = []

    async def reply(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        del context, params
        meanwhile.append(await connection.client.call_tool("save_memory", memory(1)))
        return ElicitResult(action="accept", content={"choice": "merge"})

    server = create_server(Settings(project=tmp_path))
    with connect(server, "legacy", elicitation=reply) as connection:
        step = connection.tool("update_project", action="confirm_merge")

    assert [number_of(each) for each in meanwhile] == [1]
    assert step.structured_content is not None
    assert step.structured_content["status"] == "done"


def test_other_calls_go_on_while_a_program_runs(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    player = Player(Work(tmp_path / "work"), tmp_path / "state")
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    command = json.dumps([sys.executable, "-c", f"open({str(gate)!r}).read()"])
    player.work.write(".goopspec/checks.toml", f"[checks.tests]\ncommand = {command}\n")
    assert player.trust().returncode == 0
    options = ["-m", "goop_mcp", "serve", "--allow-run"]
    server = StdioServerParameters(
        command=sys.executable, args=options, cwd=player.work.folder, env=player.environment
    )
    with connect(server, "auto") as connection, ThreadPoolExecutor() as threads:
        check = threads.submit(connection.tool, "run_check", name="tests")
        # Opening it waits until the program reads.
        with gate.open("w"):
            assert number_of(connection.tool("save_memory", **memory(1))) == 1
            assert not check.done()
        assert not check.result().is_error


class Holding:
    """A server in this process with a tool that holds up its session until it is released."""

    def __init__(self, project: Path) -> None:
        self.server: GoopServer = create_server(Settings(project=project))
        self.begun, self.released = anyio.Event(), anyio.Event()
        self.server.tool()(self.hold)

    async def hold(self) -> str:
        """Answer once it is released."""
        self.begun.set()
        await self.released.wait()
        return "held"


def running(
    protocol_mode: str, project: Path, play: Callable[[Client, Holding], Awaitable[None]]
) -> None:
    async def run() -> None:
        holding = Holding(project)
        async with Client(holding.server, mode=protocol_mode) as client:
            await play(client, holding)

    anyio.run(run)


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_a_call_that_waits_long_says_so(
    tmp_path: Path, protocol_mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "_PATIENCE", 0.01)
    reported: list[tuple[float, str | None]] = []

    async def play(client: Client, holding: Holding) -> None:
        async def note(progress: float, total: float | None, message: str | None) -> None:
            del total
            reported.append((progress, message))
            if len(reported) == 3:
                holding.released.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "hold", {})
            await holding.begun.wait()
            done = await client.call_tool("save_memory", memory(1), progress_callback=note)
            assert number_of(done) == 1

    running(protocol_mode, tmp_path, play)
    values = [progress for progress, _ in reported]
    assert values == sorted(set(values))
    assert values[-1] < 1
    assert {message for _, message in reported} == {"waits for earlier calls of this session: 1"}


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_a_session_cannot_pile_up_calls_without_end(tmp_path: Path, protocol_mode: str) -> None:
    async def play(client: Client, _holding: Holding) -> None:
        refused: list[str] = []

        async def call() -> None:
            try:
                await client.call_tool("save_memory", memory(1))
            except MCPError as error:
                refused.append(str(error))
                tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "hold", {})
            for _ in range(1_000):
                tasks.start_soon(call)

        assert refused == [
            "1,000 calls of this session are in progress; send this one again when some of them"
            " are answered"
        ]
        # All were cancelled, and none is left in the queue. One may have begun, as the one before
        # it was cancelled first.
        assert number_of(await client.call_tool("save_memory", memory(2))) <= 2

    running(protocol_mode, tmp_path, play)


def test_places_are_counted_and_forgotten() -> None:
    async def count() -> None:
        places = CallOrder(most=2)
        first, second = places.take("a"), places.take("a")
        with pytest.raises(TooManyCallsError):
            places.take("a")
        other = places.take("b")
        assert [each.turn.is_set() for each in (first, second, other)] == [True, False, True]
        first.leave()
        first.leave()
        assert second.turn.is_set()
        second.leave()
        other.leave()
        assert not len(places)

    anyio.run(count)

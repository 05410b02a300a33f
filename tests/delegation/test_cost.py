"""What a task costs in the database: bytes, and processor time in the metrics that are printed."""

import ast
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import anyio
import psycopg
import pytest
from psycopg.abc import Params
from psycopg.sql import SQL, Composed

from goop_mcp.delegation import run_graph
from goop_mcp.delegation.expand import Expansion, RunSnapshot, expand
from goop_mcp.delegation.ledger import AcceptedReport, Claim, LostTaskError, Nothing
from goop_mcp.delegation.processes import this_process
from goop_mcp.protocols import validate
from goop_mcp.retry import ask_until_accepted
from goop_mcp.retry.attempts import Attempt
from goop_mcp.retry.replies import Message, Usage
from tests.delegation.reports import report
from tests.delegation.runners import Place, check_run, one_wave

if TYPE_CHECKING:
    from tests.postgres import Database

MOST_BYTES = 100 * 1024


def carry_out(place: Place, count: int) -> float:
    """Carry out a graph of `count` tasks in this process; return processor seconds."""
    ledger, me = place.ledger, this_process()
    ledger.register(me)
    reply = report()
    verdict = validate(reply, protocol="goop_report")
    run = ledger.create(one_wave(count, parallel=10), input={})

    began = time.process_time()
    claim: Claim | Nothing | LostTaskError = ledger.claim(run, me)
    while isinstance(claim, Claim):
        number = claim.begun or ledger.begin_attempt(claim, Message(claim.prompt))[0]
        sent = Attempt(
            message=claim.prompt,
            way="first",
            reply=reply,
            verdict=verdict,
            usage=Usage(tokens=10),
        )

        def decide(snapshot: RunSnapshot, id: str = claim.row.id) -> Expansion:
            return expand(snapshot, id, verdict)

        accepted = AcceptedReport(
            claim=claim, result={"text": reply}, decide=decide, answered=(number, sent)
        )
        (claim,) = ledger.accept([accepted], me)

    used = time.process_time() - began
    check_run(place.store, run)
    assert ledger.run(run).state == "finished"

    return used


def stored_bytes(place: Place) -> int:
    """Return how large the database is."""
    if place.url is None:
        return sum(each.stat().st_size for each in place.folder.rglob("goop.db*"))

    with psycopg.connect(place.url) as connection:
        [row] = connection.execute("SELECT pg_database_size(current_database())").fetchall()
    return int(row[0])


def test_a_task_takes_less_than_a_hundred_kibibytes(place: Place) -> None:
    before = stored_bytes(place)
    carry_out(place, 100)
    assert 0 < stored_bytes(place) - before < 100 * MOST_BYTES


@pytest.mark.delegation
def test_a_thousand_tasks(
    place: Place, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    before = stored_bytes(place)
    seconds = carry_out(place, 1000)
    size = stored_bytes(place) - before
    assert 0 < size < 1000 * MOST_BYTES
    with capsys.disabled():
        sys.stderr.write(
            f"\n{request.node.name}: {seconds:.2f} ms of processor time and"
            f" {size / 1000 / 1024:.1f} KiB a task\n"
        )


@pytest.mark.delegation
def test_a_graph_of_one_task_adds_milliseconds_to_its_call(
    place: Place, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    graph = one_wave(1, parallel=1)

    async def answer(_: str) -> str:
        return report()

    async def call() -> None:
        outcome = await ask_until_accepted(answer, "Do task t00", protocol="goop_report")
        assert outcome.accepted

    async def delegate() -> None:
        done = await run_graph(
            graph, store=place.store, agents={"worker": answer}, project=place.folder
        )
        assert done.state == "finished"

    times: dict[str, list[float]] = {"call": [], "graph": []}
    for _ in range(30):
        for name, act in (("call", call), ("graph", delegate)):
            began = time.perf_counter()
            anyio.run(act)
            times[name].append((time.perf_counter() - began) * 1000)

    # The shortest ones: whatever else the machine does, and its disk, only adds to them.
    over = min(times["graph"]) - min(times["call"])
    middle = median(times["graph"]) - median(times["call"])
    with capsys.disabled():
        sys.stderr.write(f"\n{request.node.name}: {over:.1f} ms (median {middle:.1f})\n")
    # A server is asked thirty times for it, each time over a socket and by turns with all else.
    assert over <= (10 if place.url is None else 25)


def test_a_graph_of_one_task_asks_a_server_as_often_as_it_must(
    database: "Database", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    execute = psycopg.Cursor.execute

    def counted(
        cursor: psycopg.Cursor[Any],
        query: str | bytes | SQL | Composed,
        params: Params | None = None,
        **options: bool | None,
    ) -> psycopg.Cursor[Any]:
        sent.append(repr(query))
        return execute(cursor, query, params, **options)

    async def answer(_: str) -> str:
        return report()

    with Place(tmp_path, database.url()) as place:
        delegate = partial(
            run_graph,
            one_wave(1, parallel=1),
            store=place.store,
            agents={"worker": answer},
            project=tmp_path,
        )
        # The first one makes the tables and opens the connection.
        assert anyio.run(delegate).state == "finished"
        monkeypatch.setattr(psycopg.Cursor, "execute", counted)
        assert anyio.run(delegate).state == "finished"

    # One transaction before the agent is asked, and one after it.
    assert len([each for each in sent if "BEGIN ISOLATION LEVEL" in each]) == 2
    # Each is a round trip, which hardly any work of the server lasts as long as.
    assert len(sent) <= 31, sent


def test_a_program_that_delegates_nothing_loads_nothing_of_it() -> None:
    names = "[name for name in sys.modules if name.startswith('goop_mcp.')]"
    words = [sys.executable, "-c", f"import goop_mcp, sys; print({names})"]
    loaded = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert ast.literal_eval(loaded) == ["goop_mcp.errors", "goop_mcp.on_demand"]

"""Tasks that end at the same time are written down in one step, in which each stands for itself."""

import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.from_thread
import pytest
from psycopg.sql import SQL, Identifier

from goop_mcp.delegation import run_graph
from goop_mcp.delegation.agents import agent_makers
from goop_mcp.delegation.expand import Expansion, RunSnapshot, expand
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import (
    AcceptedReport,
    Claim,
    Ledger,
    LostTaskError,
    Nothing,
)
from goop_mcp.delegation.parts import GraphAgent, GraphLimits, GraphTask
from goop_mcp.delegation.processes import this_process
from goop_mcp.delegation.runner import GraphOutcome, RecordReport, Runner, resume
from goop_mcp.protocols import validate
from goop_mcp.retry.attempts import Attempt
from goop_mcp.retry.replies import Agent, Usage
from goop_mcp.store.graph_rows import GraphReportRow
from goop_mcp.validation.verdict import Verdict
from tests.delegation.reports import report
from tests.delegation.runners import Place, check_run, one_wave

if TYPE_CHECKING:
    from tests.postgres import Database

PARALLEL = 6


class Together:
    """An agent that answers all its tasks at the same moment, as soon as `PARALLEL` are asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._all = anyio.Event()

    async def __call__(self, message: str) -> str:
        self.asked.append(message)
        if len(self.asked) % PARALLEL == 0:
            self._all.set()
            self._all = anyio.Event()
        else:
            await self._all.wait()
        return report()


async def answer_at_once(_: str) -> str:
    return report()


async def run(
    place: Place, graph: Graph, agent: Agent, record: RecordReport | None = None
) -> GraphOutcome:
    with anyio.fail_after(60):
        return await run_graph(
            graph,
            store=place.store,
            agents={"worker": agent},
            project=place.folder,
            record=record,
        )


def accepted(claim: Claim | Nothing, text: str) -> AcceptedReport:
    """Return the report that ends `claim`, with its only attempt."""
    assert isinstance(claim, Claim)
    verdict = validate(text)
    sent = Attempt(
        message=claim.prompt, way="first", reply=text, verdict=verdict, usage=Usage(tokens=10)
    )
    return AcceptedReport(
        claim=claim,
        result={"text": text},
        decide=lambda snapshot: expand(snapshot, claim.row.id, verdict),
        answered=(claim.begun, sent),
    )


def test_tasks_that_end_together_are_written_in_one_step(place: Place) -> None:
    done = anyio.run(run, place, one_wave(3 * PARALLEL, parallel=PARALLEL), Together())

    assert done.state == "finished"
    check_run(place.store, done.id)
    events = place.store.read(lambda reading: reading.graphs.events(done.id))
    # All that happens in one step has its time. The first of a wave is written before the others
    # are known.
    steps = {each.at for each in events if each.what == "answered"}
    assert len(steps) <= 2 * 3
    assert place.accepted_times(done.id) == dict.fromkeys(done.tasks, 1)


def test_more_tasks_than_one_step_takes(place: Place) -> None:
    done = anyio.run(run, place, one_wave(10 * PARALLEL, parallel=10 * PARALLEL), Together())
    assert done.state == "finished"
    check_run(place.store, done.id)
    assert place.accepted_times(done.id) == dict.fromkeys(done.tasks, 1)


def test_one_that_cannot_be_written_takes_no_other_with_it(place: Place) -> None:
    def decide(snapshot: RunSnapshot, id: str, verdict: Verdict) -> Expansion:
        if id == "t02":
            raise ValueError("nobody knows what follows")
        return expand(snapshot, id, verdict)

    graph = one_wave(PARALLEL, parallel=PARALLEL)
    id = place.ledger.create(graph, input={})
    makers = agent_makers(graph, project=place.folder, given={"worker": Together()})
    runner = Runner(place.ledger, id, makers, project=place.folder, decide=decide)
    done = anyio.run(runner.run)

    assert {name for name, task in done.tasks.items() if task.state != "accepted"} == {"t02"}
    assert done.tasks["t02"].message == "ValueError: nobody knows what follows"
    check_run(place.store, id)


def test_one_that_comes_late_takes_no_other_with_it(place: Place) -> None:
    ledger, me = place.ledger, this_process()
    ledger.register(me)
    id = ledger.create(one_wave(3, parallel=2), input={})
    lost = accepted(ledger.claim(id, me), report())
    ledger.release(lost.claim)
    mine, other = [accepted(ledger.claim(id, me), report()) for _ in range(2)]
    late, first, second = ledger.accept([lost, mine, other], me)

    assert isinstance(late, LostTaskError)
    # Two have ended, and one more can begin.
    assert isinstance(first, Claim)
    assert isinstance(second, Nothing)
    assert place.states(id) == {"t00": "accepted", "t01": "accepted", "t02": "running"}
    assert place.accepted_times(id) == {"t00": 1, "t01": 1}
    check_run(place.store, id)


def test_a_report_that_cannot_be_recorded_does_not_hold_up_the_next_task(place: Place) -> None:
    """The next task was claimed in the same step, and nobody else may begin it."""

    def record(row: GraphReportRow) -> int:
        if row.task == "t00":
            raise ValueError("a defect of the caller")
        return 1

    done = anyio.run(run, place, one_wave(3, parallel=1), answer_at_once, record)
    assert done.state == "finished"
    assert Counter(task.state for task in done.tasks.values()) == {"accepted": 3}


def test_a_caller_that_fails_leaves_the_next_task_to_others(place: Place) -> None:
    """What shows the events of a run may fail at any of them."""
    shown = threading.Event()

    def on_event(event: object) -> None:
        if "answered" in str(event):
            shown.set()
            raise RuntimeError("the terminal is gone")

    async def play() -> None:
        with pytest.raises(BaseExceptionGroup), anyio.fail_after(60):
            await run_graph(
                one_wave(3, parallel=1),
                store=place.store,
                agents={"worker": answer_at_once},
                project=place.folder,
                on_event=on_event,
            )

    anyio.run(play)
    assert shown.is_set()
    [known] = place.store.read(lambda reading: reading.graphs.runs(include_ended=True))
    assert place.states(known.id) == {"t00": "accepted", "t01": "ready", "t02": "ready"}


@pytest.mark.delegation
def test_cancelled_while_the_database_takes_no_changes(
    database: "Database", tmp_path: Path
) -> None:
    """Neither is anything lost, nor does the runner wait for the database."""
    with Place(tmp_path, database.url()) as place:
        ledger = Ledger(place.store, lease_seconds=3.0, grace_seconds=1.0)
        graph = one_wave(PARALLEL, parallel=PARALLEL)
        id = ledger.create(graph, input={})
        refuse = SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
        ends = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

        def set_only_reads(value: str) -> None:
            with database.connect() as connection:
                connection.execute("SET default_transaction_read_only = off")
                connection.execute(refuse.format(Identifier(database.name), SQL(value)))
                connection.execute(ends)

        class Breaking(Together):
            async def __call__(self, message: str) -> str:
                reply = await super().__call__(message)
                if len(self.asked) == PARALLEL:
                    set_only_reads("on")
                return reply

        agent = Breaking()
        makers = agent_makers(graph, project=tmp_path, given={"worker": agent})

        async def play() -> None:
            with anyio.move_on_after(3):
                await Runner(ledger, id, makers, project=tmp_path).run()

        anyio.run(play)
        assert len(agent.asked) == PARALLEL
        set_only_reads("off")
        assert set(place.states(id).values()) == {"running"}

        async def go_on() -> GraphOutcome:
            return await resume(place.store, id, agents={"worker": Together()}, project=tmp_path)

        done = anyio.run(go_on)
        assert done.state == "finished"
        assert place.accepted_times(id) == dict.fromkeys(done.tasks, 1)
        check_run(place.store, id)


def test_cancelled_while_a_failure_is_written_down(place: Place) -> None:
    """The next task was claimed in the same step: it is given back, as any other."""
    scopes: list[anyio.CancelScope] = []

    def record(_row: GraphReportRow) -> int:
        anyio.from_thread.run_sync(scopes[0].cancel)
        raise ValueError("a defect of the caller")

    async def play() -> None:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await run(place, one_wave(3, parallel=1), answer_at_once, record)

    anyio.run(play)
    [known] = place.store.read(lambda reading: reading.graphs.runs(include_ended=True))
    assert place.states(known.id) == {"t00": "accepted", "t01": "ready", "t02": "ready"}
    check_run(place.store, known.id)


def test_a_task_that_is_sent_back_while_it_is_asked_holds_no_tokens(place: Place) -> None:
    """Its answer comes late, so that nothing else would give back what was reserved for it."""
    ledger, me = place.ledger, this_process()
    ledger.register(me)
    names = ("plan", "security", "style")
    id = ledger.create(
        Graph(
            name="reviews",
            protocol="goop_report",
            agents=(GraphAgent("worker"),),
            tasks=(
                GraphTask("plan", agent="worker", prompt="Do task plan"),
                *(
                    GraphTask(
                        name,
                        agent="worker",
                        prompt=f"Do task {name}",
                        needs=("plan",),
                        feedback_to=("plan",),
                    )
                    for name in names[1:]
                ),
            ),
            limits=GraphLimits(parallel=2, max_tokens=1_000),
        ),
        input={},
    )

    ledger.accept([accepted(ledger.claim(id, me), report())])
    first, second = ledger.claim(id, me), ledger.claim(id, me)
    assert isinstance(first, Claim)
    assert isinstance(second, Claim)
    rejects = report("PARTIAL", agent="goop-verifier", summary="Not yet.", passed=False)
    sent_back, late = ledger.accept([accepted(first, rejects), accepted(second, report())])

    assert isinstance(sent_back, Nothing)
    assert isinstance(late, LostTaskError)
    assert place.states(id) == {"plan": "ready", "security": "waiting", "style": "waiting"}
    check_run(place.store, id)
    assert ledger.run(id).reserved_tokens == 0


def test_a_task_that_is_sent_back_while_its_report_is_recorded(place: Place) -> None:
    """Two workers end the same task then, and each goes on with what was claimed for it."""
    is_recorded, again = anyio.Event(), threading.Event()
    rounds: list[int] = []

    def record(row: GraphReportRow) -> int:
        if row.task == "build":
            rounds.append(row.round)
            if len(rounds) == 1:
                anyio.from_thread.run_sync(is_recorded.set)
                assert again.wait(timeout=20)
            again.set()
        return 1

    async def answer(message: str) -> str:
        if message.startswith("Do task other"):
            await is_recorded.wait()
        if message.startswith("Do task review") and len(rounds) == 1:
            return report("PARTIAL", agent="goop-verifier", summary="Not yet.", passed=False)
        return report()

    def task(id: str, priority: int) -> GraphTask:
        return GraphTask(id, agent="worker", prompt=f"Do task {id}", priority=priority)

    review = replace(task("review", 5), needs=("build",), feedback_to=("build",))
    graph = Graph(
        name="sent back",
        protocol="goop_report",
        agents=(GraphAgent("worker"),),
        tasks=(task("build", 10), task("other", 9), task("next", 8), review, task("last", 1)),
        limits=GraphLimits(parallel=2),
    )

    done = anyio.run(run, place, graph, answer, record)
    assert done.state == "finished"
    # Before the second report, by whoever is there: nobody knows that the first worker still is.
    assert rounds == [0, 0, 1]
    check_run(place.store, done.id)

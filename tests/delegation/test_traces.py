"""The spans and metrics of a run, seen by the SDK's exporters in memory."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan

from goop_mcp.delegation import GraphOutcome, Task, run_graph
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import Claim, Ledger, LostTaskError
from goop_mcp.delegation.parts import GraphAgent, GraphGate
from goop_mcp.delegation.processes import this_process
from goop_mcp.delegation.runner import resume
from goop_mcp.delegation.task_gauge import export_task_states
from tests.delegation.reports import report
from tests.delegation.runners import Place
from tests.telemetry import EXPORTER, points, seconds, set_up, sums


@pytest.fixture(autouse=True)
def empty_exporter() -> Iterator[None]:
    set_up()
    EXPORTER.clear()
    yield
    EXPORTER.clear()


def with_a_gate() -> Graph:
    return Graph(
        name="trip",
        protocol="goop_report",
        agents=(GraphAgent("worker"),),
        tasks=(
            Task("a", agent="worker", prompt="Do a"),
            Task("b", agent="worker", prompt="Do b", needs=("go",)),
        ),
        gates=(GraphGate("go", question="Go on?", needs=("a",)),),
    )


async def played(place: Place, folder: Path) -> GraphOutcome:
    """Run until a person is needed, answer, and go on as another process would."""
    sent = iter(["no report", report(), report()])

    def worker(_: str) -> str:
        return next(sent)

    agents = {"worker": worker}
    first = await run_graph(with_a_gate(), store=place.store, agents=agents, project=folder)
    place.ledger.answer(first.id, "go", "yes", by="Kim")
    return await resume(place.store, first.id, agents=agents, project=folder)


def spans(start: str) -> list[ReadableSpan]:
    return [each for each in EXPORTER.get_finished_spans() if each.name.startswith(start)]


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.trace_id)


def parent_of(span: ReadableSpan) -> int:
    assert span.parent is not None
    return int(span.parent.span_id)


async def test_a_run_and_its_resume_are_one_trace(any_place: Place, tmp_path: Path) -> None:
    done = await played(any_place, tmp_path)
    assert done.state == "finished"
    runs, calls, attempts = spans("invoke_workflow"), spans("invoke_agent"), spans("goop.ask")
    assert [each.name for each in runs] == ["invoke_workflow trip"] * 2
    assert len({trace_of(each) for each in [*runs, *calls, *attempts]}) == 1
    assert len({parent_of(each) for each in runs}) == 1

    by_run = [each.context.span_id for each in runs if each.context is not None]
    assert [parent_of(each) for each in calls] == by_run
    facts = [dict(each.attributes or {}) for each in calls]
    assert [each["goop.task.id"] for each in facts] == ["a", "b"]
    assert {each["goop.run.id"] for each in facts} == {done.id}
    by_call = [each.context.span_id for each in calls if each.context is not None]
    assert [parent_of(each) for each in attempts] == [by_call[0], by_call[0], by_call[1]]


async def test_a_run_is_part_of_the_trace_in_which_it_was_created(
    any_place: Place, tmp_path: Path
) -> None:
    with trace.get_tracer("program").start_as_current_span("program") as outside:
        await played(any_place, tmp_path)
    context = outside.get_span_context()
    assert {trace_of(each) for each in spans("invoke_workflow")} == {context.trace_id}
    assert {parent_of(each) for each in spans("invoke_workflow")} == {context.span_id}


async def test_how_long_tasks_took_is_measured_by_the_state_they_came_to(
    any_place: Place, tmp_path: Path
) -> None:
    before = points("goop.tasks.duration")
    done = await played(any_place, tmp_path)
    ledger = any_place.ledger
    ledger.retry(done.id, "b", by="Kim")
    claim = ledger.claim(done.id, this_process())
    assert isinstance(claim, Claim)
    ledger.give_up(claim, reason="agent_error", message="the program is gone")

    agent = ("gen_ai.agent.name", "worker")
    counts = {
        state: points("goop.tasks.duration").get(key, 0) - before.get(key, 0)
        for state in ("accepted", "failed")
        for key in [frozenset({("goop.task.state", state), agent})]
    }
    assert counts == {"accepted": 2, "failed": 1}


def test_how_long_tasks_waited_for_a_runner_is_measured(any_place: Place) -> None:
    waited = seconds("goop.tasks.wait")
    ledger = any_place.ledger
    run = ledger.create(with_a_gate(), input={})
    time.sleep(0.5)
    claim = ledger.claim(run, this_process())
    assert isinstance(claim, Claim)
    assert 0.5 <= seconds("goop.tasks.wait") - waited < 5

    # A task that is given back waits again, from then on.
    ledger.release(claim)
    time.sleep(0.2)
    assert isinstance(ledger.claim(run, this_process()), Claim)
    assert 0.7 <= seconds("goop.tasks.wait") - waited < 5


def open_tasks() -> dict[object, int]:
    return {dict(key)["goop.task.state"]: count for key, count in points("goop.tasks.open").items()}


def test_open_tasks_are_exported_by_state(tmp_path: Path) -> None:
    # On one engine: what is exported once stays so for the process.
    with Place(tmp_path, None) as place:
        export_task_states(place.store)
        assert open_tasks() == {}
        runs = [place.ledger.create(with_a_gate(), input={}) for _ in range(2)]
        assert isinstance(place.ledger.claim(runs[0], this_process()), Claim)
        assert open_tasks() == {"running": 1, "ready": 1, "waiting": 4}
        place.ledger.cancel(runs[1], by="Kim")
        assert open_tasks() == {"running": 1, "waiting": 2}


def test_lost_leases_and_late_answers_are_counted(any_place: Place) -> None:
    names = ("goop.tasks.lost_leases", "goop.tasks.late_answers")
    before = sums(*names)
    ledger = Ledger(any_place.store, lease_seconds=0.05, grace_seconds=0.0)
    run = ledger.create(with_a_gate(), input={})
    first, second = this_process(), this_process()
    claims = []
    for runner in (first, second):
        ledger.register(runner)
        claim = ledger.claim(run, runner)
        assert isinstance(claim, Claim)
        claims.append(claim)
        # Longer than the lease, which nobody renews.
        time.sleep(0.2)

    with pytest.raises(LostTaskError):
        ledger.give_up(claims[0], reason="agent_error", message="too late")
    ledger.give_up(claims[1], reason="agent_error", message="in time")
    assert {name: count - before[name] for name, count in sums(*names).items()} == dict.fromkeys(
        names, 1
    )

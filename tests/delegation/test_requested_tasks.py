"""A request of an agent becomes a task with what it says of time, order, retries and notices."""

import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from goop_mcp.delegation.graph import Graph, GraphAgent, GraphTask
from goop_mcp.delegation.parts import GraphLimits, GraphRetry
from goop_mcp.delegation.runner import GraphOutcome, resume, run_graph
from goop_mcp.services.runs import read_view
from goop_mcp.store.interface import Store
from tests.delegation.reports import report
from tests.delegation.runners import check_run
from tests.requirements import requirement

NOTICE = "'plan-worker' of worker has completed. Its report:"


def asking(attributes: str) -> str:
    return f"""\
<agent_request version="1.0" session_id="20251119-160000-work" parent_agent="planner"
  target_agent="worker" {attributes}>
  <mode>spawn</mode>
  <original_intent>Let people log in</original_intent>
  <current_task_summary>Build the endpoint for the login</current_task_summary>
  <workflow>TDD</workflow>
  <task_details>Build POST /login as it is described in the specification.</task_details>
  <deliverables><report>What was built</report></deliverables>
</agent_request>
"""


Ask = Callable[[str], Awaitable[str]]


async def built(_: str) -> str:
    return report(summary="Built POST /login.")


async def later(_: str) -> str:
    return "I will do that later."


async def slow(_: str) -> str:
    await anyio.sleep(60)
    return "Too late."


def play(
    store: Store, folder: Path, attributes: str, worker: Ask = built
) -> tuple[GraphOutcome, list[tuple[str, str]]]:
    """Run a graph whose planner makes the request; return its end, and who was asked what."""
    asked: list[tuple[str, str]] = []

    async def planner(text: str) -> str:
        asked.append(("planner", text))
        return asking(attributes)

    async def working(text: str) -> str:
        asked.append(("worker", text))
        return await worker(text)

    async def writer(text: str) -> str:
        asked.append(("writer", text))
        return report(summary="Written.")

    async def tracker(text: str) -> str:
        asked.append(("tracker", text))
        return report(summary="Noted.")

    graph = Graph(
        name="login",
        agents=(
            GraphAgent("planner"),
            GraphAgent("worker", retry=GraphRetry(max_attempts=3)),
            GraphAgent("writer"),
            GraphAgent("tracker"),
        ),
        tasks=(
            GraphTask("plan", agent="planner", prompt="Plan it.", expands=True),
            GraphTask("docs", agent="writer", prompt="Write.", needs=("plan",), optional=True),
        ),
        limits=GraphLimits(parallel=1),
    )
    agents = {"planner": planner, "worker": working, "writer": writer, "tracker": tracker}

    async def run() -> GraphOutcome:
        return await run_graph(graph, store=store, agents=agents, input={}, project=folder)

    return anyio.run(run), asked


@requirement("H-71")
def test_who_is_to_be_notified_is_asked_with_the_report(store: Store, tmp_path: Path) -> None:
    done, asked = play(store, tmp_path, 'notify_on_completion="tracker, writer"')
    notices = {name: text for name, text in asked if NOTICE in text}
    assert set(notices) == {"tracker", "writer"}
    assert all("Built POST /login." in text for text in notices.values())
    assert done.state == "finished"
    assert done.tasks["plan-tracker"].state == "accepted"


@requirement("H-71")
def test_retries_of_a_request_bound_its_attempts(store: Store, tmp_path: Path) -> None:
    done, asked = play(
        store,
        tmp_path,
        'max_retries="1" notify_on_completion="tracker"',
        worker=later,
    )
    assert [name for name, _ in asked].count("worker") == 2
    assert done.tasks["plan-worker"].state == "failed"
    assert read_view(store, done.id).tasks["plan-worker"].most == 2
    # It has not completed, so nobody is notified that it has.
    assert done.tasks["plan-tracker"].state == "skipped"


@requirement("H-71")
def test_the_timeout_of_a_request_ends_its_task(store: Store, tmp_path: Path) -> None:
    done, _ = play(store, tmp_path, 'timeout="1s"', worker=slow)
    assert (done.tasks["plan-worker"].state, done.tasks["plan-worker"].reason) == (
        "failed",
        "deadline",
    )


@requirement("H-71")
@pytest.mark.parametrize(
    ("priority", "order"), [("high", ["worker", "writer"]), ("low", ["writer", "worker"])]
)
def test_the_priority_of_a_request_orders_its_task(
    store: Store, tmp_path: Path, priority: str, order: list[str]
) -> None:
    _, asked = play(store, tmp_path, f'priority="{priority}"')
    assert [name for name, _ in asked if name in order] == order


def test_a_name_that_is_no_agent_of_the_graph_is_for_a_person(store: Store, tmp_path: Path) -> None:
    done, asked = play(store, tmp_path, 'notify_on_completion="nobody-agent"')
    assert done.tasks["plan"].state == "input_required"
    assert "there is no agent 'nobody-agent'" in (done.tasks["plan"].message or "")
    assert [name for name, _ in asked] == ["planner"]


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_one_agent_under_two_names_is_notified_once(store: Store, tmp_path: Path) -> None:
    _, asked = play(store, tmp_path, 'notify_on_completion="tracker, goop-tracker"')
    assert [name for name, text in asked if NOTICE in text] == ["tracker"]


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("attributes", "timeout", "attempts"),
    [
        ('timeout="0s" max_retries="0"', 1.0, 1),
        ('timeout="999999999d" max_retries="999999999"', 366 * 86_400.0, 100),
    ],
)
def test_what_a_request_may_say_is_bounded(
    store: Store, tmp_path: Path, attributes: str, timeout: float, attempts: int
) -> None:
    done, _ = play(store, tmp_path, attributes)
    row = store.read(lambda reading: reading.graphs.task(done.id, "plan-worker"))
    assert row is not None
    spec = json.loads(row.spec)
    assert (spec["timeout"], spec["max_attempts"]) == (timeout, attempts)


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_more_notices_than_a_run_may_have_tasks_are_for_a_person(
    store: Store, tmp_path: Path
) -> None:
    names = ", ".join(["tracker", "writer", *(f"agent-{n}" for n in range(5_000))])
    done, asked = play(store, tmp_path, f'notify_on_completion="{names}"')
    assert done.tasks["plan"].state == "input_required"
    # Nothing of it is carried out: neither the task nor a part of the notices.
    assert set(done.tasks) == {"plan", "docs"}
    assert [name for name, _ in asked] == ["planner"]


async def test_a_task_that_is_added_again_to_a_changed_graph_forgets_its_old_answers(
    store: Store, tmp_path: Path
) -> None:
    answers: list[str] = []
    goes_on, is_asked = True, anyio.Event()

    async def planner(_: str) -> str:
        return asking("")

    async def worker(_: str) -> str:
        answers.append(f"Endpoint {len(answers) + 1}.")
        if not goes_on:
            is_asked.set()
            await anyio.sleep(60)
        return report(summary=answers[-1])

    def planned(prompt: str) -> Graph:
        plan = GraphTask("plan", agent="planner", prompt=prompt, expands=True)
        return Graph(
            name="login", agents=(GraphAgent("planner"), GraphAgent("worker")), tasks=(plan,)
        )

    agents = {"planner": planner, "worker": worker}
    first = await run_graph(planned("Plan it."), store=store, agents=agents, project=tmp_path)
    assert first.state == "finished"

    # Interrupted while the worker is asked for the new plan.
    goes_on = False
    go_on = partial(resume, store, first.id, agents=agents, project=tmp_path)
    async with anyio.create_task_group() as group:
        group.start_soon(partial(go_on, graph=planned("Plan it well.")))
        await is_asked.wait()
        view = read_view(store, first.id).tasks["plan-worker"]
        assert (view.state, view.round, view.attempt) == ("running", 1, 1)
        group.cancel_scope.cancel()
    goes_on = True
    done = await go_on()
    assert done.state == "finished"
    assert len(answers) == 3
    row = store.read(lambda reading: reading.graphs.task(first.id, "plan-worker"))
    assert row is not None
    assert json.loads(row.result or "")["envelope"]["summary"] == "Endpoint 3."
    assert row.round == 1
    check_run(store, first.id)

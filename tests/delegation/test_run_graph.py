"""A graph is run, stops for a person, and goes on: the whole thing as a program uses it."""

from functools import partial
from pathlib import Path

import anyio
import pytest

from goop_mcp.delegation.graph import (
    Graph,
    GraphAgent,
    GraphGate,
    GraphLimits,
    GraphTask,
)
from goop_mcp.delegation.ledger import Ledger, RunError
from goop_mcp.delegation.runner import GraphOutcome, outcome_of_run, resume, run_graph
from goop_mcp.services.runs import read_view
from goop_mcp.store.interface import Store
from tests.delegation.graphs import Team, login
from tests.delegation.reports import report
from tests.delegation.runners import check_run, one_wave


def states(done: GraphOutcome) -> dict[str, str]:
    return {name: task.state for name, task in done.tasks.items()}


def test_a_run_waits_for_a_person_and_goes_on_without_asking_again(
    store: Store, tmp_path: Path
) -> None:
    team = Team(docs="I will do that later.")

    async def play() -> None:
        done = await run_graph(
            login(), store=store, agents={"team": team}, input={"goal": "login"}, project=tmp_path
        )

        assert done.state == "waiting_for_person"
        assert done.waiting_for == ("ship",)
        expected = {
            "plan": "accepted",
            "api": "accepted",
            "docs": "failed",
            "ship": "input_required",
            "test": "waiting",
        }
        assert states(done) == expected
        asked = len(team.asked)

        Ledger(store).answer(done.id, "ship", "yes", by="ann", note="go")
        done = await resume(store, done.id, agents={"team": team}, project=tmp_path)

        assert done.state == "finished"
        assert states(done) == expected | {"ship": "accepted", "test": "accepted"}
        # Only the task after the gate was asked.
        assert team.asked[asked:] == ["Test it"]
        assert team.asked[0] == "Plan login"

    anyio.run(play)


@pytest.mark.parametrize("count", [2, 12])
def test_the_outcome_is_what_the_database_holds(store: Store, tmp_path: Path, count: int) -> None:
    # That of a small run comes with its last transaction, that of a larger one is read after it.
    async def answer(text: str) -> str:
        return "Later." if text.startswith("Do task ") else report()

    done = anyio.run(
        partial(
            run_graph,
            one_wave(count, parallel=2),
            store=store,
            agents={"worker": answer},
            project=tmp_path,
        )
    )
    assert done == outcome_of_run(Ledger(store), done.id)
    assert (done.state, len(done.tasks)) == ("finished", count)
    assert {len(each.attempts) for each in done.tasks.values()} == {2}


def test_a_gate_waits_while_the_task_before_it_is_done_again(store: Store, tmp_path: Path) -> None:
    async def play() -> None:
        done = await run_graph(
            login(), store=store, agents={"team": Team()}, input={"goal": "x"}, project=tmp_path
        )
        ledger = Ledger(store)
        assert done.waiting_for == ("ship",)
        ledger.retry(done.id, "api", by="Kim")
        with pytest.raises(RunError, match="ship"):
            ledger.answer(done.id, "ship", "yes", by="Kim")
        again = await resume(store, done.id, agents={"team": Team()}, project=tmp_path)
        assert again.waiting_for == ("ship",)

    anyio.run(play)


def test_a_run_that_is_reopened_is_shown_as_running(store: Store, tmp_path: Path) -> None:
    async def play() -> None:
        done = await run_graph(
            login(), store=store, agents={"team": Team()}, input={"goal": "x"}, project=tmp_path
        )
        ledger = Ledger(store)
        ledger.cancel(done.id, by="Kim")
        assert read_view(store, done.id).state == ledger.run(done.id).state == "cancelled"
        ledger.retry(done.id, "api", by="Kim")
        assert read_view(store, done.id).state == ledger.run(done.id).state == "running"

    anyio.run(play)


def test_no_is_an_answer_that_skips_what_follows(store: Store, tmp_path: Path) -> None:
    async def play() -> None:
        done = await run_graph(
            login(), store=store, agents={"team": Team()}, input={"goal": "x"}, project=tmp_path
        )
        ledger = Ledger(store)
        with pytest.raises(RunError, match="expected one of yes, no"):
            ledger.answer(done.id, "ship", "perhaps", by="ann")

        ledger.answer(done.id, "ship", "no", by="ann")
        with pytest.raises(RunError, match="does not wait for an answer"):
            ledger.answer(done.id, "ship", "yes", by="bob")

        done = await resume(store, done.id, agents={"team": Team()}, project=tmp_path)
        assert done.state == "finished"
        assert (done.tasks["ship"].state, done.tasks["test"].state) == ("skipped", "skipped")

    anyio.run(play)


def test_a_limit_of_the_run_ends_it_with_its_reason(store: Store, tmp_path: Path) -> None:
    async def play() -> None:
        done = await run_graph(
            login(max_calls=1),
            store=store,
            agents={"team": Team()},
            input={"goal": "x"},
            project=tmp_path,
        )
        assert done.state == "failed"
        assert done.tasks["plan"].state == "accepted"
        assert done.tasks["api"].reason == "budget"
        assert "limits.max_calls is used up" in (done.tasks["api"].message or "")
        assert done.tasks["test"].state == "skipped"

    anyio.run(play)


def test_a_changed_graph_keeps_what_is_the_same(store: Store, tmp_path: Path) -> None:
    async def play() -> None:
        team = Team()
        done = await run_graph(
            login(), store=store, agents={"team": team}, input={"goal": "x"}, project=tmp_path
        )
        changed = login().to_dict()
        changed["tasks"]["docs"]["prompt"] = "Docs: write more"
        team.asked.clear()

        new = Graph.from_dict(changed)
        assert Ledger(store).kept_by(done.id, new) == ["api", "plan"]
        done = await resume(store, done.id, agents={"team": team}, graph=new, project=tmp_path)
        assert team.asked == ["Docs: write more"]
        assert done.waiting_for == ("ship",)

    anyio.run(play)


def test_of_the_runs_that_ended_the_newest_are_kept(store: Store) -> None:
    ledger = Ledger(store, kept_runs=2)
    small = Graph(
        name="small",
        agents=(GraphAgent("team"),),
        tasks=(GraphTask("a", agent="team", prompt="A"),),
    )
    still_open = ledger.create(small, input={})
    ended = []
    for _ in range(4):
        ended.append(ledger.create(small, input={}))
        ledger.cancel(ended[-1], by="Kim")

    last = ledger.create(small, input={})
    known = store.read(lambda reading: reading.graphs.runs(include_ended=True))
    assert {row.id for row in known} == {still_open, *ended[-2:], last}
    assert store.read(lambda reading: reading.graphs.events(ended[0])) == []
    assert store.read(lambda reading: reading.graphs.tasks(ended[0])) == []


ADDING_PLAN = report(agent="goop-planner", next_agent="goop-reviewer", next_action="Look")


def added_to(**limits: int) -> Graph:
    """Return a graph whose only task may add others, to either of two agents."""
    return Graph(
        name="growing",
        protocol="goop_report",
        agents=(GraphAgent("planner"), GraphAgent("reviewer")),
        tasks=(GraphTask("plan", agent="planner", prompt="Plan it.", expands=True),),
        limits=GraphLimits(**limits),
    )


@pytest.mark.parametrize(
    ("graph", "reply", "ends"),
    [
        pytest.param(
            added_to(),
            report(agent="goop-planner", next_agent="goop-planner", next_action="plan   IT."),
            ("cycle", "(plan → planner)"),
            id="cycle",
        ),
        pytest.param(
            added_to(max_tasks=1),
            ADDING_PLAN,
            ("max_tasks", "(plan → goop-reviewer)"),
            id="max_tasks",
        ),
        pytest.param(
            added_to(max_depth=0), ADDING_PLAN, ("depth", "(plan → goop-reviewer)"), id="depth"
        ),
    ],
)
def test_what_an_agent_may_not_add_ends_at_a_person_with_reason_and_path(
    graph: Graph, reply: str, ends: tuple[str, str], store: Store, tmp_path: Path
) -> None:
    async def play() -> None:
        agents = {"planner": Team(plan=reply), "reviewer": Team()}
        done = await run_graph(graph, store=store, agents=agents, project=tmp_path)
        assert done.state == "waiting_for_person"
        # Nothing was added, and nobody else was asked.
        assert states(done) == {"plan": "input_required"}
        reason, path = ends
        assert done.tasks["plan"].reason == reason
        assert path in (done.tasks["plan"].message or "")
        assert agents["reviewer"].asked == []

    anyio.run(play)


def test_a_run_ends_where_its_last_task_has_no_value_for_its_prompt(
    store: Store, tmp_path: Path
) -> None:
    graph = Graph(
        name="last",
        agents=(GraphAgent("team"),),
        tasks=(
            GraphTask("a", agent="team", prompt="Do it"),
            GraphTask("b", agent="team", prompt="Go on: ${a.no_such_field}", needs=("a",)),
        ),
    )

    async def play() -> GraphOutcome:
        with anyio.fail_after(60):
            return await run_graph(graph, store=store, agents={"team": Team()}, project=tmp_path)

    done = anyio.run(play)
    assert done.state == "failed"
    assert done.tasks["b"].reason == "prompt"


@pytest.mark.parametrize("decides", ["retry", "answer"])
async def test_a_task_that_is_asked_for_again_in_vain_leaves_out_what_needs_it(
    store: Store, tmp_path: Path, decides: str
) -> None:
    """What it needs has failed: it cannot begin, and what waits for it must not wait for ever."""
    names = ("plan", "build", "review")
    graph = Graph(
        name="chain",
        protocol="goop_report",
        agents=(GraphAgent("worker"),),
        tasks=tuple(
            GraphTask(name, agent="worker", prompt=f"Do {name}", needs=names[:at][-1:])
            for at, name in enumerate(names)
        ),
    )
    fails = decides == "retry"

    def worker(message: str) -> str:
        if "plan" in message and fails:
            raise ValueError("no network")
        return report() if "plan" in message else report("BLOCKED", blockers="RULE 4: which?")

    ledger, agents = Ledger(store), {"worker": worker}
    run = ledger.create(graph, input={})
    done = await resume(store, run, agents=agents, project=tmp_path)
    if decides == "answer":
        assert done.waiting_for == ("build",)
        fails = True
        ledger.retry(run, "plan", by="Kim")
        await resume(store, run, agents=agents, project=tmp_path)
        ledger.answer(run, "build", "retry", by="Kim")
    else:
        ledger.retry(run, "build", by="Kim")

    with anyio.fail_after(10):
        done = await resume(store, run, agents=agents, project=tmp_path)
    states = {name: each.state for name, each in done.tasks.items()}
    assert states == {"plan": "failed", "build": "skipped", "review": "skipped"}
    assert done.state == "failed"


async def test_what_waits_for_a_task_that_failed_does_not_wait_for_one_before_that(
    store: Store, tmp_path: Path
) -> None:
    """The first task is done again, what failed in between is not, nor what needs that."""
    names = ("plan", "build", "review", "test")
    tasks = [
        GraphTask(name, agent="worker", prompt=f"Do {name}", needs=names[:at][-1:])
        for at, name in enumerate(names)
    ]
    ask = GraphGate("ask", question="Good?", answers=("yes", "no"), needs=("style",))
    graph = Graph(
        name="chain",
        protocol="goop_report",
        agents=(GraphAgent("worker"),),
        tasks=(*tasks, GraphTask("style", agent="worker", prompt="Do style", needs=("plan",))),
        gates=(ask,),
    )

    def worker(message: str) -> str:
        if "build" in message:
            raise ValueError("no network")
        return report()

    ledger, agents = Ledger(store), {"worker": worker}
    run = ledger.create(graph, input={})
    done = await resume(store, run, agents=agents, project=tmp_path)
    assert done.state == "waiting_for_person"
    assert set(ledger.retry(run, "plan", by="Kim")) == {"plan", "ask", "review", "test"}
    with anyio.fail_after(10):
        done = await resume(store, run, agents=agents, project=tmp_path)
    assert done.waiting_for == ("ask",)
    ledger.answer(run, "ask", "yes", by="Kim", note="")
    with anyio.fail_after(10):
        done = await resume(store, run, agents=agents, project=tmp_path)
    assert {name: each.state for name, each in done.tasks.items()} == {
        "plan": "accepted",
        "build": "failed",
        "review": "skipped",
        "test": "skipped",
        "style": "accepted",
        "ask": "accepted",
    }
    assert done.state == "failed"
    check_run(store, run)

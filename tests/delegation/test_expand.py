import json
from dataclasses import replace

import pytest

from goop_mcp import Verdict, validate
from goop_mcp.delegation.expand import (
    Edge,
    Expansion,
    RunSnapshot,
    TaskSnapshot,
    expand,
)
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.parts import GraphAgent, GraphLimits, GraphTask
from tests.delegation.reports import report
from tests.validation.replies import read_case

AGENTS = (
    GraphAgent("planner"),
    GraphAgent("executor"),
    GraphAgent("reviewer"),
    GraphAgent("backend-agent"),
)
TASKS = (
    GraphTask("plan", agent="planner", prompt="Plan it.", expands=True),
    GraphTask("api", agent="executor", prompt="Build the API.", needs=("plan",)),
    GraphTask("ui", agent="executor", prompt="Build the page.", needs=("plan",)),
    GraphTask("review", agent="reviewer", needs=("api", "ui"), feedback_to=("api", "ui")),
)
GRAPH = Graph(name="login", agents=AGENTS, tasks=TASKS)


def run_of(graph: Graph = GRAPH) -> RunSnapshot:
    return RunSnapshot(
        graph=graph, tasks={task.id: TaskSnapshot(task=task) for task in graph.tasks}
    )


def judged(text: str) -> Verdict:
    verdict = validate(text)
    assert verdict.accepted, verdict.findings
    return verdict


def carried_out(run: RunSnapshot, expansion: Expansion) -> RunSnapshot:
    """Return the run with the tasks that were added."""
    added = {
        each.task.id: TaskSnapshot(task=each.task, parent=each.parent, depth=each.depth)
        for each in expansion.added
    }
    return replace(run, tasks={**run.tasks, **added})


def test_a_report_that_is_done_adds_nothing_where_the_task_does_not_expand() -> None:
    text = report(next_agent="goop-tester", next_action="Test it")
    expansion = expand(run_of(), "api", judged(text))
    assert expansion == Expansion(digest=expansion.digest)


def test_a_next_agent_that_the_graph_has_already_is_not_added_again() -> None:
    text = report(agent="goop-planner", next_agent="goop-executor", next_action="Build the API")
    assert expand(run_of(), "plan", judged(text)).added == ()


def test_a_next_agent_becomes_a_task_that_needs_this_one() -> None:
    text = report(agent="goop-planner", next_agent="goop-reviewer", next_action="Read ${plan.x}")
    expansion = expand(run_of(), "plan", judged(text))

    (added,) = expansion.added
    assert expansion.state == "accepted"
    assert (added.task.id, added.task.agent) == ("plan-reviewer", "reviewer")
    assert added.task.needs == ("plan",)
    assert added.task.prompt.startswith("Read $${plan.x}")  # what an agent wrote fills nothing in
    assert (added.parent, added.depth) == ("plan", 1)


def test_an_agent_that_the_graph_does_not_have_is_a_question_to_a_person() -> None:
    text = report(agent="goop-planner", next_agent="goop-writer", next_action="Write it")
    expansion = expand(run_of(), "plan", judged(text))
    assert (expansion.state, expansion.reason) == ("input_required", "unknown_agent")
    assert expansion.path == ("plan", "goop-writer")
    assert "known are planner, executor, reviewer, backend-agent" in expansion.message


def test_a_request_becomes_a_task_with_its_prerequisites() -> None:
    text = read_case("agent_request/6_1_backend_api.md")
    run = run_of()
    expansion = expand(run, "plan", judged(text))
    (added,) = expansion.added
    assert added.task.agent == "backend-agent"
    assert added.task.needs == ("plan",)
    assert "POST /api/v1/auth/login" in added.task.prompt
    assert added.fresh
    # A task that may not add others has sent a report like any other.
    assert expand(run, "api", judged(text)).added == ()


def test_a_task_without_end_ends_at_the_depth_with_its_path() -> None:
    graph = replace(GRAPH, limits=GraphLimits(max_depth=2))
    run, task = run_of(graph), "plan"
    agents = ["goop-reviewer", "goop-planner", "goop-reviewer"]
    for number, agent in enumerate(agents):
        text = report(agent="goop-planner", next_agent=agent, next_action=f"Part {number}")
        expansion = expand(run, task, judged(text))
        run = carried_out(run, expansion)
        if expansion.added:
            task = expansion.added[0].task.id
            expanding = replace(run.tasks[task].task, expands=True)
            run = replace(run, tasks={**run.tasks, task: replace(run.tasks[task], task=expanding)})

    assert (expansion.state, expansion.reason) == ("input_required", "depth")
    assert expansion.path == (
        "plan",
        "plan-reviewer",
        "plan-reviewer-planner",
        "goop-reviewer",
    )


def test_an_agent_that_asks_for_what_it_was_asked_for_is_a_cycle() -> None:
    text = report(agent="goop-planner", next_agent="goop-planner", next_action="plan   IT.")
    expansion = expand(run_of(), "plan", judged(text))
    assert (expansion.state, expansion.reason) == ("input_required", "cycle")
    assert expansion.path == ("plan", "planner")


def test_more_tasks_than_the_limit_are_refused_with_their_path() -> None:
    graph = replace(GRAPH, limits=GraphLimits(max_tasks=4))
    text = report(agent="goop-planner", next_agent="goop-reviewer", next_action="Read it")
    expansion = expand(run_of(graph), "plan", judged(text))
    assert (expansion.state, expansion.reason) == ("input_required", "max_tasks")
    assert expansion.path == ("plan", "goop-reviewer")


def test_a_review_that_rejects_goes_back_to_the_tasks_of_its_feedback_edges() -> None:
    text = report("PARTIAL", agent="goop-verifier", summary="No tests.", passed=False)
    expansion = expand(run_of(), "review", judged(text))
    assert expansion.state == "waiting"
    assert [each.task for each in expansion.again] == ["api", "ui"]
    assert expansion.again[0].message


def test_a_critic_of_the_factory_goes_back_with_its_issues() -> None:
    text = read_case("factory/concrete_critic_blocking.json")
    expansion = expand(run_of(), "review", judged(text))
    assert expansion.state == "waiting"
    issue = json.loads(text)["blocking_issues"][0]["description"]
    assert issue in expansion.again[0].message


def test_feedback_goes_to_the_agent_that_it_names() -> None:
    graph = Graph(
        name="x",
        agents=(*AGENTS, GraphAgent("architect")),
        tasks=(
            GraphTask("plan", agent="planner"),
            GraphTask("build", agent="architect", needs=("plan",)),
            GraphTask("review", agent="reviewer", needs=("build",), feedback_to=("plan", "build")),
        ),
    )
    text = read_case("factory/concrete_critic_blocking.json")
    expansion = expand(run_of(graph), "review", judged(text))
    assert [each.task for each in expansion.again] == ["build"]


def test_feedback_rounds_end_at_their_limit_with_the_way_they_went() -> None:
    graph = replace(GRAPH, limits=GraphLimits(max_rounds=2))
    run = run_of(graph)
    for number in range(3):
        text = report("PARTIAL", agent="goop-verifier", summary=f"Not yet {number}.")
        expansion = expand(run, "review", judged(text))
        reports = {
            Edge("review", each.task): (
                *run.reports.get(Edge("review", each.task), ()),
                expansion.digest,
            )
            for each in expansion.again
        }
        run = replace(run, reports={**run.reports, **reports})

    assert (expansion.state, expansion.reason) == ("input_required", "rounds")
    assert expansion.path == ("api", "review") * 3 + ("api",)


def test_the_same_report_twice_over_one_edge_is_no_progress() -> None:
    verdict = judged(report("PARTIAL", agent="goop-verifier", summary="Not yet."))
    digest = expand(run_of(), "review", verdict).digest
    run = replace(run_of(), reports={Edge("review", "api"): (digest,)})
    expansion = expand(run, "review", verdict)
    assert (expansion.state, expansion.reason) == ("input_required", "same_report")
    assert expansion.path == ("api", "review", "api", "review", "api")


def test_a_part_of_the_work_is_asked_for_again_until_it_brings_nothing_new() -> None:
    verdict = judged(report("PARTIAL"))
    expansion = expand(run_of(), "api", verdict)
    assert [each.task for each in expansion.again] == ["api"]

    run = replace(run_of(), reports={Edge("api", "api"): (expansion.digest,)})
    assert expand(run, "api", verdict).reason == "same_report"


@pytest.mark.parametrize("task", ["api", "review"])
def test_a_task_whose_check_shows_nothing_goes_on_itself(task: str) -> None:
    verdict = judged(report().replace(">run</check>", ">0 tests collected</check>"))
    expansion = expand(run_of(), task, verdict)

    assert expansion.state == "waiting"
    assert [each.task for each in expansion.again] == [task]
    assert "0 tests collected" in expansion.again[0].message


def test_a_blocked_task_waits_for_a_person_with_what_blocks_it() -> None:
    text = report("BLOCKED", blockers="RULE 4: which database?")
    expansion = expand(run_of(), "api", judged(text))
    assert (expansion.state, expansion.reason) == ("input_required", "blocked")
    assert "which database?" in expansion.message


@pytest.mark.parametrize("name", ["factory/concrete_questions.json"])
def test_questions_are_handed_on_with_their_options(name: str) -> None:
    expansion = expand(run_of(), "api", judged(read_case(name)))
    assert expansion.state == "input_required"
    assert expansion.questions[0].options


def test_a_prerequisite_comes_before_the_task_that_asked_for_it() -> None:
    graph = Graph(
        name="x",
        agents=(GraphAgent("implement"), GraphAgent("plan"), GraphAgent("tasks")),
        tasks=(GraphTask("build", agent="implement", expands=True),),
    )
    text = read_case("speckit/concrete_error_prerequisite.json")
    expansion = expand(run_of(graph), "build", judged(text))
    assert expansion.state == "waiting", expansion
    (added,) = expansion.added
    assert expansion.needs == (added.task.id,)
    assert added.task.needs == ()
    assert [each.task for each in expansion.again] == ["build"]

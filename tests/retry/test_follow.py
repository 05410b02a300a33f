"""Following the router from agent to agent: only where it decides so, and never forever."""

import json
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from goop_mcp import RetryPolicy, RoutingContext, UnknownNameError, follow
from goop_mcp.retry import Agent, Step, WorkflowLoop, WorkflowRun, shared_budget
from goop_mcp.routing import Policy, RoutingLimits
from tests.retry.agents import BAD_STATUS, GOOD, PROSE, Scripted, both_backends, run
from tests.validation.replies import BLOCKED, EXECUTOR, SUMMARY, changed, read_case

NO_CHECKPOINT = RoutingContext(policy=Policy(checkpoint_before_implement=False))
GOES_ON = {
    "continue_next",
    "resume_same",
    "fix_and_retry",
    "request_repair",
    "retry",
    "retry_with_backoff",
}
GOES_ON |= {"feedback_loop", "run_prerequisite", "save_state"}


def speckit(name: str, **result: object) -> str:
    """Return the speckit case `name`, with these fields of its result in place of its own."""
    values = json.loads(read_case(f"speckit/concrete_{name}.json"))
    values.get("result", {}).update(result)
    return json.dumps(values)


IMPLEMENTED, TESTED, REVIEWED = speckit("implement"), speckit("test"), speckit("review")
TEST_FAILED = speckit("test_failed_but_success")


def go(
    agents: Mapping[str, Agent],
    first: str,
    *,
    backend: str = "asyncio",
    protocol: str = "auto",
    context: RoutingContext = NO_CHECKPOINT,
    policy: RetryPolicy = RetryPolicy(),  # noqa: B008 - frozen
    max_steps: int = 100,
) -> WorkflowRun:
    call = partial(
        follow,
        agents,
        first,
        "Build it.",
        protocol=protocol,
        context=context,
        policy=policy,
        max_steps=max_steps,
    )
    workflow: WorkflowRun = run(backend, call)
    return workflow


def path(workflow: WorkflowRun) -> list[str]:
    return [step.agent for step in workflow.steps]


def rules(workflow: WorkflowRun) -> list[str]:
    return [step.decision.rule for step in workflow.steps if step.decision is not None]


@both_backends
def test_the_router_is_followed_until_it_says_finish(backend: str) -> None:
    agents = {
        "implement": Scripted(IMPLEMENTED),
        "test": Scripted(TESTED),
        "review": Scripted(REVIEWED),
    }
    workflow = go(agents, "implement", backend=backend)
    assert path(workflow) == ["implement", "test", "review"]
    assert rules(workflow) == ["S14", "S14", "S15"]
    assert workflow.finished
    assert workflow.decision is workflow.steps[-1].decision
    assert agents["implement"].heard == ["Build it."]
    assert "Next: test, then review." in agents["test"].heard[0]


def test_a_feedback_loop_sends_the_issues_back_with_the_task_and_ends_at_its_limit() -> None:
    implement, test = Scripted(IMPLEMENTED), Scripted(TEST_FAILED)
    workflow = go({"implement": implement, "test": test}, "implement")
    assert path(workflow) == ["implement", "test"] * 3
    assert rules(workflow) == ["S14", "S4", "S14", "S4", "S14", "S4b"]
    assert workflow.stopped_because == "ask_user"
    assert implement.heard[1].startswith("Build it.\n\nFEEDBACK_CONTEXT:")
    assert '"iteration": 1' in implement.heard[1]
    assert '"iteration": 2' in implement.heard[2]
    assert workflow.decision is not None
    assert workflow.decision.blockers


def test_the_limit_of_a_feedback_loop_is_that_of_the_policy() -> None:
    limits = RoutingLimits(feedback_edges={"test": 1})
    context = RoutingContext(policy=Policy(checkpoint_before_implement=False, limits=limits))
    workflow = go(
        {"implement": Scripted(IMPLEMENTED), "test": Scripted(TEST_FAILED)},
        "implement",
        context=context,
    )
    assert path(workflow) == ["implement", "test"] * 2


def test_a_loop_that_helps_goes_on() -> None:
    agents = {
        "implement": Scripted(IMPLEMENTED),
        "test": Scripted(TEST_FAILED, TESTED),
        "review": Scripted(REVIEWED),
    }
    workflow = go(agents, "implement")
    assert path(workflow) == ["implement", "test", "implement", "test", "review"]
    assert workflow.finished


def test_a_prerequisite_runs_once_and_then_the_agent_that_needed_it() -> None:
    missing = read_case("speckit/concrete_error_prerequisite.json")
    tasks, plan = Scripted(missing, speckit("tasks", next_steps=[])), Scripted(speckit("plan"))
    workflow = go({"tasks": tasks, "plan": plan}, "tasks")
    assert path(workflow) == ["tasks", "plan", "tasks"]
    assert workflow.finished
    assert tasks.heard == ["Build it."] * 2
    assert plan.heard == ["needed"]


def test_a_prerequisite_that_does_not_help_is_not_run_again() -> None:
    missing = read_case("speckit/concrete_error_prerequisite.json")
    workflow = go({"tasks": Scripted(missing), "plan": Scripted(speckit("plan"))}, "tasks")
    assert path(workflow) == ["tasks", "plan", "tasks"]
    assert rules(workflow)[-1] == "S3b"
    assert workflow.stopped_because == "ask_user"


def test_retries_of_the_router_end_at_their_limits_after_its_delays() -> None:
    times: list[float] = []

    async def research(_message: str) -> str:
        times.append(anyio.current_time())
        return read_case("speckit/concrete_error_external.json")

    workflow = anyio.run(
        partial(follow, {"research": research}, "research", "Find out."),
        backend="trio",
        backend_options={"clock": MockClock(autojump_threshold=0)},
    )
    assert rules(workflow) == ["S5", "S5", "S5", "S7b"]
    assert [round(after - before) for before, after in pairwise(times)] == [1, 2, 4]


@pytest.mark.parametrize(
    ("reply", "agent", "expected"),
    [
        ("error_timeout", "implement", ["S6", "S7b"]),
        ("error_validation", "tasks", ["S7", "S7", "S7b"]),
    ],
)
def test_an_error_that_stays_ends_at_its_limit(reply: str, agent: str, expected: list[str]) -> None:
    assert rules(go({agent: Scripted(speckit(reply))}, agent)) == expected


def test_a_delay_that_would_last_beyond_the_deadline_is_not_begun() -> None:
    async def call() -> WorkflowRun:
        agents = {"research": Scripted(read_case("speckit/concrete_error_external.json"))}
        with shared_budget(deadline=0.9):
            return await follow(agents, "research", "Find out.")

    workflow = run("asyncio", call)
    assert workflow.stopped_because == "deadline"
    assert len(workflow.steps) == 1


def test_an_agent_that_nobody_registered_ends_it_with_both_names() -> None:
    workflow = go({"implement": Scripted(IMPLEMENTED)}, "implement")
    assert workflow.stopped_because == "unknown_agent"
    assert workflow.reason == "the next agent is 'test'; known are implement"
    assert not workflow.finished


def test_a_first_agent_that_is_not_there_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'implement'"):
        go({"implement": Scripted(IMPLEMENTED)}, "implment")


@pytest.mark.parametrize(
    ("reply", "because"),
    [
        (BLOCKED, "ask_user"),
        (speckit("error_constitution"), "manual_resolution"),
        (speckit("review", overall_status="NEEDS_MANUAL_REVIEW"), "human_review"),
        (
            changed(EXECUTOR, ("<suggest_new_session>false", "<suggest_new_session>true")),
            "new_session",
        ),
        (read_case("factory/concrete_questions.json"), "ask_user"),
        (PROSE, "ask_user"),
        (BAD_STATUS, "ask_user"),
    ],
    ids=[
        "blocked",
        "constitution",
        "review",
        "new session",
        "questions",
        "no envelope",
        "rejected",
    ],
)
def test_what_is_for_a_person_or_a_host_ends_it(reply: str, because: str) -> None:
    agent = Scripted(reply)
    name = "goop-executor" if "goop_report" in reply else "review"
    workflow = go(
        {name: agent, "plan": Scripted(speckit("plan"))}, name, policy=RetryPolicy(max_attempts=1)
    )
    assert workflow.stopped_because == because
    assert workflow.reason
    assert len(agent.heard) == 1


def test_an_agent_that_repeats_itself_when_it_resumes_ends_it() -> None:
    failed_check = changed(
        EXECUTOR, ('<check name="tests" passed="true">', '<check name="tests" passed="false">')
    )
    workflow = go({"goop-executor": Scripted(failed_check)}, "goop-executor")
    assert workflow.stopped_because == "no_progress"
    assert path(workflow) == ["goop-executor"] * 2
    assert workflow.steps[1].prompt.startswith("Build it.\n\n")


def test_an_agent_runs_a_check_without_a_result_before_the_next_one_starts() -> None:
    empty = changed(EXECUTOR, ("bun test src/auth/ - 12 passed", "CI will run it"))
    agent = Scripted(empty, to("goop-executor", "goop-tester"))
    workflow = go({"goop-executor": agent, "goop-tester": Scripted("nothing")}, "goop-executor")
    assert path(workflow)[:3] == ["goop-executor", "goop-executor", "goop-tester"]
    assert "CI will run it" in workflow.steps[1].prompt


def to(agent: str, next_agent: str, *, summary: str = "The work is done.") -> str:
    """Return the report of `agent` that hands on to `next_agent`."""
    report = changed(EXECUTOR, ("<agent>goop-executor</agent>", f"<agent>{agent}</agent>"))
    report = changed(
        report, ('<next_action agent="goop-executor">', f'<next_action agent="{next_agent}">')
    )
    return changed(report, (SUMMARY, summary))


@both_backends
def test_an_agent_that_hands_on_to_itself_with_the_same_report_ends_it(backend: str) -> None:
    agent = Scripted(GOOD)
    workflow = go({"goop-executor": agent}, "goop-executor", backend=backend)
    assert workflow.stopped_because == "no_progress"
    assert workflow.reason == "goop-executor sent the same report again"
    assert len(agent.heard) == 2


def test_two_agents_that_hand_on_to_each_other_with_the_same_reports_end_it() -> None:
    one, other = (
        Scripted(to("goop-executor", "goop-tester")),
        Scripted(to("goop-tester", "goop-executor")),
    )
    workflow = go({"goop-executor": one, "goop-tester": other}, "goop-executor")
    assert workflow.stopped_because == "no_progress"
    assert path(workflow) == ["goop-executor", "goop-tester", "goop-executor"]


def test_other_words_around_the_same_report_are_no_progress() -> None:
    report = to("goop-executor", "goop-executor")
    agent = Scripted(*(f"Prose number {number}.\n\n{report}" for number in range(9)))
    workflow = go({"goop-executor": agent}, "goop-executor")
    assert workflow.stopped_because == "no_progress"
    assert len(agent.heard) == 2


def test_a_circle_of_other_reports_goes_on_to_the_limit_of_steps() -> None:
    agent = Scripted(
        *(
            to("goop-executor", "goop-executor", summary=f"Part {number} is done.")
            for number in range(9)
        )
    )
    workflow = go({"goop-executor": agent}, "goop-executor", max_steps=7)
    assert workflow.stopped_because == "limit"
    assert len(workflow.steps) == 7


def test_an_agent_that_breaks_ends_it_with_a_decision_for_a_person() -> None:
    workflow = go(
        {"implement": Scripted(IMPLEMENTED), "test": Scripted(ValueError("no network"))},
        "implement",
    )
    assert workflow.stopped_because == "agent_error"
    assert "ValueError: no network" in workflow.reason
    assert rules(workflow) == ["S14", "R1b"]


def test_the_issues_of_a_critic_reach_the_architect() -> None:
    architect = Scripted(read_case("factory/concrete_architect_success.json"))
    critic = Scripted(read_case("factory/concrete_critic_blocking.json"))
    workflow = go({"architect": architect, "critic": critic}, "architect")
    assert rules(workflow)[-1] == "F3b"
    assert path(workflow) == ["architect", "critic"] * 3
    assert workflow.decision is not None
    assert "Fix these and report again:" in architect.heard[1]
    decision = workflow.steps[1].decision
    assert decision is not None
    assert all(issue.message in architect.heard[1] for issue in decision.issues)


@both_backends
def test_steps_are_complete_when_the_journey_is_cancelled(backend: str) -> None:
    heard: list[Step] = []

    async def hang(_message: str) -> str:
        await anyio.sleep_forever()
        return ""

    async def call() -> WorkflowLoop:
        agents: dict[str, Agent] = {"implement": Scripted(IMPLEMENTED), "test": hang}
        following = WorkflowLoop(agents, "implement", "Build it.", on_step=heard.append)
        with anyio.move_on_after(0.05):
            await following.run()
        return following

    following = run(backend, call)
    assert [step.agent for step in following.steps] == ["implement", "test"]
    assert following.steps[1].decision is None
    assert following.steps[1].outcome.stopped_because == "cancelled"
    assert heard == following.steps[:1]


def test_phase_and_task_are_expected_of_the_first_agent_only() -> None:
    to_verifier = changed(
        EXECUTOR, ('<next_action agent="goop-executor">', '<next_action agent="goop-verifier">')
    )
    verified = changed(
        EXECUTOR,
        ("<agent>goop-executor</agent>", "<agent>goop-verifier</agent>"),
        (">execute<", ">accept<"),
    )
    agents = {"goop-executor": Scripted(to_verifier), "goop-verifier": Scripted(verified)}
    workflow = go(agents, "goop-executor", context=RoutingContext(phase="execute"), max_steps=2)
    assert path(workflow) == ["goop-executor", "goop-verifier"]
    decisions = [step.decision for step in workflow.steps if step.decision is not None]
    found = {finding.rule for decision in decisions for finding in decision.verdict.findings}
    assert "goop_report/phase-mismatch" not in found


REPLIES = st.sampled_from(
    [
        IMPLEMENTED, TESTED, REVIEWED, TEST_FAILED, GOOD, BAD_STATUS, BLOCKED, PROSE, "",
        *(speckit(name) for name in ("plan", "tasks", "analyze", "error_timeout",
        "error_prerequisite", "clarify")), *(read_case(f"factory/concrete_{name}.json") for name in
        ("critic_blocking", "critic_pass", "questions")),
    ]
)  # fmt: skip
NAMES = ("implement", "test", "review", "plan", "tasks", "architect", "critic", "goop-executor")


@given(st.lists(REPLIES, min_size=1, max_size=12), st.sampled_from(NAMES))
def test_it_never_goes_on_from_what_the_router_refuses(replies: list[str], first: str) -> None:
    script = Scripted(*replies)
    workflow = go(
        dict.fromkeys(NAMES, script), first, policy=RetryPolicy(max_attempts=2), max_steps=15
    )
    for step in workflow.steps[:-1]:
        assert step.decision is not None
        assert {action.value for action in step.decision.actions} <= GOES_ON | {"finish"}
        assert step.outcome.accepted or "continue_next" not in {
            action.value for action in step.decision.actions
        }

    assert sum(len(step.outcome.attempts) for step in workflow.steps) == len(script.heard)
    if workflow.finished:
        assert workflow.decision is not None
        assert [action.value for action in workflow.decision.actions] == ["finish"]


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"agents": ["a"]}, "agents is list; expected a dict"),
        ({"agents": {"a": None}}, "the agent 'a' is NoneType"),
        ({"context": {}}, "context is dict; expected RoutingContext"),
        ({"policy": None}, "policy is NoneType"),
        ({"max_steps": "3"}, "max_steps is '3'"),
        ({"protocol": "goop-report"}, "did you mean 'goop_report'"),
    ],
    ids=str,
)
def test_terms_of_the_wrong_kind_are_refused_before_anybody_sets_out(
    terms: dict[str, Any], words: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        WorkflowLoop(**({"agents": {"a": Scripted("")}, "first": "a", "prompt": "Do it."} | terms))

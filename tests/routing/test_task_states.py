"""Verdicts and decisions as task states of A2A and MCP."""

import pytest

from goop_mcp import Verdict
from goop_mcp.routing import Action, route
from goop_mcp.routing.task_states import BY_ACTION, A2AState, McpTask, decision_state, verdict_state
from tests.routing.replies import (
    BLOCKED,
    answer,
    case,
    factory,
    failure,
    judged,
    report,
    routed,
    with_status,
)
from tests.routing.test_agent_request_rows import prompt

COMPLETED, WORKING, FAILED = A2AState.COMPLETED, A2AState.WORKING, A2AState.FAILED
INPUT_REQUIRED = A2AState.INPUT_REQUIRED
NONE, KEY = "<blockers>None</blockers>", "<blockers>the key is missing</blockers>"
CHOICE = "<blockers>Which store? Options: A) SQLite, B) Postgres</blockers>"
NO_RESULT = ("bun test src/auth/ - 12 passed", "0 tests collected")
UNSHOWN = {"name": "tests", "passed": True, "evidence": "could not run"}
UNRECOVERABLE = {"type": "technical_error", "message": "x", "recoverable": False}


@pytest.mark.parametrize(
    ("text", "protocol", "state", "workflow"),
    [
        (report(), "goop_report", COMPLETED, None),
        (case("goop_report/derived_complete_failed_check.xml"), "goop_report", WORKING, None),
        (report(NO_RESULT), "goop_report", WORKING, None),
        (report(NO_RESULT, (NONE, KEY)), "goop_report", INPUT_REQUIRED, None),
        (
            case("speckit/concrete_test.json").replace('"valid"', '"not run"'),
            "speckit",
            WORKING,
            None,
        ),
        (factory("architect_success", checks=[UNSHOWN]), "factory", WORKING, None),
        (with_status("PARTIAL"), "goop_report", WORKING, None),
        (with_status("CHECKPOINT"), "goop_report", WORKING, None),
        (BLOCKED, "goop_report", INPUT_REQUIRED, None),
        (report((NONE, KEY)), "goop_report", INPUT_REQUIRED, None),
        (
            report(("<ready>true</ready>", "<ready>false</ready>")),
            "goop_report",
            INPUT_REQUIRED,
            None,
        ),
        (with_status("PARTIAL").replace(NONE, KEY), "goop_report", WORKING, None),
        (with_status("PARTIAL").replace(NONE, CHOICE), "goop_report", INPUT_REQUIRED, None),
        (with_status("CHECKPOINT").replace(NONE, CHOICE), "goop_report", INPUT_REQUIRED, None),
        (answer("plan"), "speckit", COMPLETED, None),
        (answer("implement", completion_percentage=60), "speckit", COMPLETED, None),
        (case("speckit/concrete_test_failed_but_success.json"), "speckit", COMPLETED, WORKING),
        (case("speckit/concrete_error_branch_exists.json"), "speckit", INPUT_REQUIRED, None),
        (case("speckit/concrete_error_constitution.json"), "speckit", FAILED, None),
        (failure(recoverable=False), "speckit", FAILED, None),
        (case("speckit/concrete_error_timeout.json"), "speckit", WORKING, None),
        (failure(type="DiskFullError", recovery_strategy="pray"), "speckit", INPUT_REQUIRED, None),
        (factory("architect_success"), "factory", COMPLETED, None),
        (factory("critic_pass"), "factory", COMPLETED, None),
        (factory("critic_blocking"), "factory", COMPLETED, WORKING),
        (factory("questions"), "factory", INPUT_REQUIRED, None),
        (factory("failure_template"), "factory", WORKING, None),
        (factory("failure_template", error=UNRECOVERABLE), "factory", FAILED, None),
        (prompt(), "agent_request", A2AState.SUBMITTED, None),
        (case("agent_request/1_1_freeform.md"), "agent_request", A2AState.SUBMITTED, None),
        (case("agent_request/7_1_s2_bad_enum.md"), "agent_request", A2AState.REJECTED, None),
    ],
)
def test_every_source_has_its_published_state(
    text: str, protocol: str, state: A2AState, workflow: A2AState | None
) -> None:
    found = verdict_state(judged(text, protocol))

    assert (found.state, found.workflow) == (state, workflow)


def test_a_complete_report_with_a_failed_check_works_on_in_strict_mode_too() -> None:
    text = case("goop_report/derived_complete_failed_check.xml")

    assert verdict_state(judged(text, "goop_report", "strict")).state is WORKING


@pytest.mark.parametrize(("repair_left", "state"), [(True, WORKING), (False, INPUT_REQUIRED)])
@pytest.mark.parametrize("protocol", ["goop_report", "speckit", "factory"])
def test_a_rejected_reply_works_while_a_repair_is_left(
    protocol: str, repair_left: bool, state: A2AState
) -> None:
    assert verdict_state(judged("nothing", protocol), repair_left=repair_left).state is state


@pytest.mark.parametrize("name", ["concrete_feedback_exhausted.txt", "raw_feedback_context.txt"])
def test_a_rejected_context_asks_for_input_as_nobody_can_repair_it(name: str) -> None:
    assert verdict_state(judged(case(f"speckit/{name}"), "speckit")).state is INPUT_REQUIRED


def test_what_the_caller_knows_of_the_task_wins() -> None:
    verdict = judged(report(), "goop_report")

    assert verdict_state(verdict, needs_credentials=True).state is A2AState.AUTH_REQUIRED
    assert verdict_state(verdict, needs_credentials=True, cancelled=True).state is A2AState.CANCELED


def test_the_details_go_along() -> None:
    blocked = verdict_state(judged(BLOCKED, "goop_report"))
    asking = verdict_state(judged(factory("questions"), "factory"))
    checkpoint = verdict_state(judged(with_status("CHECKPOINT"), "goop_report"))

    assert blocked.message is not None
    assert blocked.message.startswith("RULE 4 DEVIATION")
    assert [part["id"] for part in asking.parts] == ["q1"]
    assert checkpoint.metadata == {"checkpoint": True}


def test_what_holds_a_complete_report_back_is_the_status_message_and_asks_in_mcp_too() -> None:
    held, not_ready = (
        report(each) for each in ((NONE, KEY), ("<ready>true</ready>", "<ready>false</ready>"))
    )

    assert verdict_state(judged(held, "goop_report")).message == "the key is missing"
    assert "ready=false" in (verdict_state(judged(not_ready, "goop_report")).message or "")
    for text in (held, not_ready, with_status("CHECKPOINT").replace(NONE, CHOICE)):
        state = decision_state(routed(text, "goop_report"))
        assert (state.a2a, state.mcp) == (INPUT_REQUIRED, McpTask.INPUT_REQUIRED)


def test_what_no_row_places_asks_for_input() -> None:
    assert (
        verdict_state(
            Verdict(verdict="accepted", protocol=None, version=None, mode="lenient")
        ).state
        is INPUT_REQUIRED
    )


def test_every_action_has_its_states() -> None:
    assert list(BY_ACTION) == sorted(Action, key=list(BY_ACTION).index)
    assert len(BY_ACTION) == len(Action)


@pytest.mark.parametrize(
    ("action", "a2a", "mcp", "is_error"),
    [
        ("finish", "COMPLETED", "completed", False),
        ("continue_next", "WORKING", "working", False),
        ("wait", "WORKING", "working", False),
        ("request_repair", "WORKING", "working", False),
        ("save_state", "WORKING", "working", False),
        ("spawn", "SUBMITTED", "working", False),
        ("provide_context", "SUBMITTED", "working", False),
        ("ask_user", "INPUT_REQUIRED", "input_required", False),
        ("human_review", "INPUT_REQUIRED", "input_required", False),
        ("manual_resolution", "FAILED", "completed", True),
        ("reject", "REJECTED", "completed", True),
    ],
)
def test_an_action_stands_for_its_published_states(
    action: str, a2a: str, mcp: str, is_error: bool
) -> None:
    found = BY_ACTION[Action(action)]

    assert (found.a2a.value, found.mcp.value, found.is_error) == (
        f"TASK_STATE_{a2a}",
        mcp,
        is_error,
    )


def test_the_first_action_of_a_decision_counts() -> None:
    assert decision_state(route(judged(report(), "goop_report"))).a2a is WORKING
    manual = routed(case("speckit/concrete_error_constitution.json"), "speckit")
    assert decision_state(manual).mcp is McpTask.COMPLETED
    assert decision_state(manual, tasks_are_extension=False).mcp is McpTask.FAILED

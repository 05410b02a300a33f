"""The rows for speckit, each by its id."""

import json
from collections.abc import Mapping

import pytest

from goop_mcp.protocols.speckit.model import AgentInput, FeedbackContext
from goop_mcp.routing import Decision
from tests.requirements import requirement
from tests.routing.replies import actions, answer, case, failure, judged, routed


def speckit(text: str, context: Mapping[str, object] | None = None) -> Decision:
    return routed(text, "speckit", context)


def sample(name: str, context: Mapping[str, object] | None = None) -> Decision:
    return speckit(case(f"speckit/concrete_{name}"), context)


def feedback_in(decision: Decision) -> FeedbackContext:
    """Return the FEEDBACK_CONTEXT of an instruction, checked in strict mode."""
    assert decision.instruction is not None
    verdict = judged(decision.instruction, "speckit", "strict")
    assert verdict.findings == ()
    assert isinstance(verdict.envelope, AgentInput)
    assert verdict.envelope.feedback_context is not None
    return verdict.envelope.feedback_context


# S1


@requirement("S-20")
def test_s1_a_violation_of_the_constitution_is_resolved_by_hand_and_never_retried() -> None:
    decision = sample("error_constitution.json")

    assert (decision.rule, actions(decision)) == ("S1", ["manual_resolution"])
    assert decision.retry is None
    assert decision.blockers


@requirement("S-27")
@pytest.mark.parametrize(
    "strategy", ["retry", "retry_with_backoff", "fix_and_retry", "feedback_loop", "ask_user"]
)
def test_s1_what_is_not_recoverable_is_resolved_by_hand_whatever_the_strategy_says(
    strategy: str,
) -> None:
    decision = speckit(failure(type="TimeoutError", recovery_strategy=strategy, recoverable=False))

    assert (decision.rule, actions(decision)) == ("S1", ["manual_resolution"])


@requirement("S-25")
def test_s1_the_safer_strategy_counts_where_type_and_strategy_contradict() -> None:
    text = failure(
        type="ConstitutionViolationError", recovery_strategy="fix_and_retry", recoverable=True
    )

    assert speckit(text).rule == "S1"


@requirement("S-33")
def test_s1_a_plan_that_violates_the_constitution_is_resolved_by_hand() -> None:
    decision = speckit(answer("plan", constitution_violations=["Rule 3: no second database"]))

    assert (decision.rule, actions(decision)) == ("S1", ["manual_resolution"])
    assert decision.blockers == ("Rule 3: no second database",)


# S2


@requirement("S-21")
def test_s2_a_branch_conflict_asks_the_user() -> None:
    decision = sample("error_branch_exists.json")

    assert (decision.rule, actions(decision)) == ("S2", ["ask_user"])
    assert decision.questions[0].text == "Missing plan.md"


# S3


@requirement("S-17", "S-26")
def test_s3_a_missing_prerequisite_runs_first_and_then_the_same_agent_again() -> None:
    decision = sample("error_prerequisite.json")

    assert (decision.rule, actions(decision)) == ("S3", ["run_prerequisite", "retry"])
    assert decision.next_agent == "plan"
    assert decision.instruction
    assert decision.retry is not None
    assert decision.retry.message == "then ask tasks again"
    assert decision.state_changes["counters"] == {"prerequisites": {"plan": 1}}


@requirement("S-17")
def test_s3b_the_same_prerequisite_does_not_run_twice() -> None:
    first = sample("error_prerequisite.json")
    second = sample("error_prerequisite.json", first.state_changes)

    assert (second.rule, actions(second)) == ("S3b", ["ask_user"])
    assert second.blockers


def test_s3_another_prerequisite_may_still_run() -> None:
    assert (
        sample("error_prerequisite.json", {"counters": {"prerequisites": {"tasks": 1}}}).rule
        == "S3"
    )


@requirement("S-17", "S-26")
@requirement("S-38")
@pytest.mark.parametrize("text", ["not run", "timed out", "left to CI"])
def test_s10b_a_gate_that_shows_nothing_is_run_again_before_the_review(text: str) -> None:
    decision = speckit(case("speckit/concrete_test.json").replace('"valid"', f'"{text}"'))

    assert (decision.rule, actions(decision)) == ("S10b", ["resume_same"])
    assert decision.next_agent == "test"
    assert decision.instruction is not None
    assert f"- gate build_validation: {text}" in decision.instruction


def test_s10b_one_text_of_a_gate_with_a_result_is_enough() -> None:
    text = case("speckit/concrete_test.json").replace(
        '"valid"', '"not run", "docker build": "exit code 0"'
    )

    assert speckit(text).rule == "S14"


def test_s7b_a_prerequisite_that_nobody_knows_is_not_started_unless_the_caller_can() -> None:
    text = failure(
        type="PrerequisiteError",
        recovery_strategy="run_prerequisite_agent",
        suggested_action={"agent": "baker", "reason": "The bread is missing"},
    )
    decision = speckit(text)

    assert (decision.rule, actions(decision), decision.next_agent) == ("S7b", ["ask_user"], None)
    assert "unknown agent baker" in decision.reason
    assert speckit(text, {"known_agents": ["baker"]}).next_agent == "baker"


@requirement("S-37")
def test_s10_tasks_that_the_counts_leave_are_not_finished_by_a_percentage() -> None:
    reply = json.loads(case("speckit/concrete_implement.json"))
    reply["result"] |= {"tasks_completed": 22, "tasks_total": 23, "completion_percentage": 100.0}
    text = json.dumps(reply)

    assert speckit(text).rule == "S10"
    rules = [finding.rule for finding in judged(text, "speckit").findings]
    assert rules == ["speckit/success-but-unfinished", "speckit/numbers-disagree"]


def test_s7b_a_prerequisite_that_nobody_names_asks_the_user() -> None:
    text = failure(type="PrerequisiteError", recovery_strategy="pray", suggested_action=None)

    assert speckit(text).rule == "S7b"


# S4


@requirement("S-19")
def test_s4_a_quality_gate_that_fails_feeds_back() -> None:
    decision = sample("error_quality_gate.json")

    assert (decision.rule, actions(decision)) == ("S4", ["feedback_loop"])
    assert decision.next_agent == "implement"


@requirement("S-38")
def test_s4_failed_tests_go_back_to_implement_although_the_status_is_success() -> None:
    decision = sample("test_failed_but_success.json")

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "S4",
        ["feedback_loop"],
        "implement",
    )
    assert "tests_passing FAILED" in decision.issues[0].message


@requirement("S-40")
def test_s4_a_review_that_finds_a_breach_goes_back_to_implement() -> None:
    text = answer("review", constitution_compliance={"status": "FAIL", "passed": 7, "failed": 1})
    decision = speckit(text)

    assert (decision.rule, decision.next_agent) == ("S4", "implement")
    assert decision.issues[0].severity == "CRITICAL"


@requirement("S-36")
@pytest.mark.parametrize(
    ("kind", "agent"),
    [
        ("requirement_gap", "specify"),
        ("Ambiguity", "specify"),
        ("architecture", "plan"),
        ("constitution", "plan"),
        ("coverage_gap", "tasks"),
        ("ordering", "tasks"),
        ("naming", "clarify"),
    ],
)
def test_s4_critical_findings_go_back_to_the_agent_of_their_type_and_not_to_implement(
    kind: str, agent: str
) -> None:
    text = answer("analyze", findings=[finding("CRITICAL", kind)], next_steps=["implement"])
    decision = speckit(text)

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "S4",
        ["feedback_loop"],
        agent,
    )


@requirement("S-36")
@pytest.mark.parametrize(("critical", "listed"), [(0, "CRITICAL"), (1, "HIGH")])
def test_s4_a_critical_finding_counts_whether_it_is_counted_or_listed(
    critical: int, listed: str
) -> None:
    counts = {"CRITICAL": critical, "HIGH": 2, "MEDIUM": 3, "LOW": 2}
    text = answer("analyze", findings_by_severity=counts, findings=[finding(listed, "coverage")])

    assert speckit(text).rule == "S4"


@requirement("S-07", "S-28")
def test_s4_the_feedback_holds_the_issues_worst_first_and_the_next_iteration() -> None:
    names = ["LOW", "CRITICAL", "MEDIUM", "HIGH"]
    decision = speckit(
        answer("analyze", findings=[finding(name, "coverage") for name in names]), {"iteration": 1}
    )
    context = feedback_in(decision)

    assert [issue.severity for issue in context.issues_to_fix] == [
        "CRITICAL",
        "HIGH",
        "MEDIUM",
        "LOW",
    ]
    assert [issue.severity for issue in decision.issues] == ["CRITICAL", "HIGH", "MEDIUM", "LOW"]
    assert (context.feedback_from, context.iteration, context.max_iterations) == ("analyze", 2, 2)
    assert decision.state_changes["iteration"] == 2


@requirement("S-28")
@pytest.mark.parametrize(
    "name",
    ["error_quality_gate.json", "test_failed_but_success.json", "analyze.json"],
    ids=lambda name: name,
)
def test_s4_every_feedback_context_we_build_is_in_order(name: str) -> None:
    context = feedback_in(sample(name))

    assert context.iteration == 1
    assert context.issues_to_fix


def test_s4_a_gate_without_a_single_finding_still_says_what_is_wrong() -> None:
    text = answer(
        "analyze",
        findings=[],
        findings_by_severity={"CRITICAL": 2, "HIGH": 0, "MEDIUM": 0, "LOW": 0},
    )

    assert "2 CRITICAL findings" in (feedback_in(speckit(text)).issues_to_fix[0].message or "")


@pytest.mark.parametrize(
    ("name", "limit"), [("test_failed_but_success.json", 2), ("analyze.json", 2)]
)
def test_s4b_a_used_up_feedback_loop_asks_the_user(name: str, limit: int) -> None:
    assert sample(name, {"iteration": limit - 1}).rule == "S4"
    decision = sample(name, {"iteration": limit})

    assert (decision.rule, actions(decision)) == ("S4b", ["ask_user"])
    assert decision.blockers


def test_s4b_a_review_may_send_back_once() -> None:
    text = answer("review", constitution_compliance={"status": "FAIL", "passed": 7, "failed": 1})

    assert [speckit(text, {"iteration": number}).rule for number in (0, 1)] == ["S4", "S4b"]


def test_s4_the_maximum_in_the_message_wins_over_the_limit_of_the_edge() -> None:
    assert sample("analyze.json", {"iteration": 2, "max_iterations": 5}).rule == "S4"
    assert sample("analyze.json", {"iteration": 1, "max_iterations": 1}).rule == "S4b"


@requirement("S-08")
def test_s4b_a_feedback_context_over_its_maximum_asks_the_user() -> None:
    decision = sample("feedback_exhausted.txt")

    assert (decision.rule, actions(decision)) == ("S4b", ["ask_user"])
    assert decision.blockers


# S5 to S7


@requirement("S-23")
def test_s5_an_external_error_is_retried_with_growing_delays_and_then_given_to_the_user() -> None:
    seen = []
    context: Mapping[str, object] = {}
    for _ in range(4):
        decision = sample("error_external.json", context)
        seen.append((decision.rule, decision.retry.delay_seconds if decision.retry else None))
        context = decision.state_changes

    assert seen == [("S5", 1), ("S5", 2), ("S5", 4), ("S7b", None)]


def test_s5_no_delay_is_longer_than_the_limit() -> None:
    context = {"counters": {"backoff_retries": 50}, "policy": {"limits": {"backoff_retries": 99}}}
    decision = sample("error_external.json", context)

    assert decision.retry is not None
    assert decision.retry.delay_seconds == 60


@requirement("S-22")
def test_s6_a_timeout_is_retried_once() -> None:
    first = sample("error_timeout.json")
    second = sample("error_timeout.json", first.state_changes)

    assert (first.rule, actions(first), first.next_agent) == ("S6", ["retry"], "implement")
    assert (second.rule, actions(second)) == ("S7b", ["ask_user"])


@requirement("S-18")
def test_s7_invalid_input_is_fixed_twice_and_then_given_to_the_user() -> None:
    rules = []
    context: Mapping[str, object] = {}
    for _ in range(3):
        decision = sample("error_validation.json", context)
        rules.append((decision.rule, *actions(decision)))
        context = decision.state_changes

    assert rules == [("S7", "fix_and_retry"), ("S7", "fix_and_retry"), ("S7b", "ask_user")]


def test_s7_the_instruction_holds_message_and_details() -> None:
    decision = speckit(failure(message="feature_id is empty", details={"field": "feature_id"}))

    assert decision.instruction is not None
    assert "feature_id is empty" in decision.instruction
    assert "field: feature_id" in decision.instruction


@requirement("S-24")
@pytest.mark.parametrize(
    ("kind", "strategy", "rule"),
    [
        ("TimeoutError", "pray", "S6"),
        ("ExternalServiceError", "pray", "S5"),
        ("ValidationError", "pray", "S7"),
        ("DiskFullError", "retry", "S6"),
        ("DiskFullError", "pray", "S7b"),
    ],
)
def test_an_unknown_strategy_gives_way_to_that_of_the_type(
    kind: str, strategy: str, rule: str
) -> None:
    assert (
        speckit(failure(type=kind, recovery_strategy=strategy, suggested_action=None)).rule == rule
    )


# S8 to S12


@requirement("S-30")
def test_s8_a_specification_with_open_questions_goes_to_clarify() -> None:
    decision = speckit(answer("specify", clarifications_needed=2, next_steps=["plan"]))

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "S8",
        ["continue_next"],
        "clarify",
    )
    assert decision.files_to_read == (json.loads(answer("specify"))["result"]["spec_file"],)


@requirement("S-31")
def test_s9_ambiguities_that_remain_ask_the_user() -> None:
    text = answer("clarify", remaining_ambiguities=2, next_steps=["plan"])
    decision = speckit(text)

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "S9",
        ["ask_user"],
        "clarify",
    )
    assert decision.questions[0].text.startswith("2 open points")


@requirement("S-37")
def test_s10_an_implementation_below_100_percent_resumes() -> None:
    text = answer(
        "implement",
        tasks_completed=6,
        tasks_total=10,
        completion_percentage=60,
        next_steps=["test"],
    )
    decision = speckit(text)

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "S10",
        ["resume_same"],
        "implement",
    )
    assert len(decision.files_to_read) == 1


@requirement("S-40")
def test_s11_a_review_that_wants_a_person_gets_one() -> None:
    decision = speckit(answer("review", overall_status="NEEDS_MANUAL_REVIEW"))

    assert (decision.rule, actions(decision)) == ("S11", ["human_review"])
    assert decision.issues


@requirement("S-32")
def test_s12_unsure_research_is_looked_at_before_the_next_step() -> None:
    decision = speckit(answer("research", confidence_level="LOW", next_steps=["plan"]))

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "S12",
        ["human_review"],
        "plan",
    )


# S13 to S15


@requirement("S-11")
def test_s13_a_person_approves_before_implement() -> None:
    text = answer("tasks", next_steps=["implement", "test"])
    decision = speckit(text)

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "S13",
        ["human_review"],
        "implement",
    )
    free = speckit(text, {"policy": {"checkpoint_before_implement": False}})
    assert (free.rule, actions(free)) == ("S14", ["continue_next"])


@requirement("S-10", "S-11", "S-03")
def test_s14_success_goes_on_with_the_first_next_step_and_names_all_in_order() -> None:
    decision = speckit(answer("plan", next_steps=["speckit-tasks", "analyze"]))

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "S14",
        ["continue_next"],
        "tasks",
    )
    assert decision.instruction == "Next: tasks, then analyze."
    result = json.loads(answer("plan"))["result"]
    assert result["plan_file"] in decision.files_to_read
    assert "feature_id" not in decision.files_to_read


def test_r9_a_next_step_that_is_no_known_agent_asks_the_user() -> None:
    text = answer("plan", next_steps=["baker"])

    assert speckit(text).rule == "R9"
    assert speckit(text, {"known_agents": ["baker"]}).rule == "S14"


@requirement("S-11")
@pytest.mark.parametrize("steps", [[], None])
def test_s15_success_without_next_step_is_finished(steps: list[str] | None) -> None:
    values = json.loads(answer("review"))
    if steps is None:
        del values["result"]["next_steps"]

    decision = speckit(json.dumps(values, indent=1))

    assert (decision.rule, actions(decision)) == ("S15", ["finish"])


def finding(severity: str, kind: str) -> dict[str, str]:
    return {
        "severity": severity,
        "type": kind,
        "message": "REQ-5 has no task",
        "location": "tasks.md:12",
        "recommendation": "Add a task.",
    }

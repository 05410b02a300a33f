"""The rows for Factory, each by its id."""

from collections.abc import Mapping

import pytest

from goop_mcp.routing import Decision
from tests.requirements import requirement
from tests.routing.replies import actions, factory, routed


def reply(name: str, context: Mapping[str, object] | None = None, **fields: object) -> Decision:
    return routed(factory(name, **fields), "factory", context)


def failed(kind: str, context: Mapping[str, object] | None = None, **fields: object) -> Decision:
    error = {"type": kind, "message": "it went wrong", "recoverable": True}
    return reply("failure_template", context, error=error, **fields)


QUESTION = {"id": "q2", "question": "Which database?"}


# F1


@requirement("F-06", "F-12")
def test_f1_questions_go_to_the_user_with_their_defaults() -> None:
    decision = reply("questions")

    assert (decision.rule, actions(decision)) == ("F1", ["ask_user", "resume_same"])
    (question,) = decision.questions
    assert (question.id, question.default) == ("q1", "single-session")
    assert [option.text for option in question.options] == ["single-session", "multi-session"]
    assert "- **A)** single-session (default)" in decision.message


def test_f1_the_defaults_are_the_answers_where_the_policy_says_so() -> None:
    decision = reply("questions", {"policy": {"auto_default": True}})

    assert (decision.rule, actions(decision)) == ("F1", ["resume_same"])
    assert decision.instruction is not None
    assert "- q1: single-session" in decision.instruction


def test_f1_a_question_without_default_is_asked_whatever_the_policy_says() -> None:
    questions = [
        {"id": "q1", "question": "Which?", "default": "a", "options": ["a", "b"]},
        QUESTION,
    ]
    decision = reply("questions", {"policy": {"auto_default": True}}, questions=questions)

    assert actions(decision) == ["ask_user", "resume_same"]
    assert "q1: Which? · q2: Which database?" in decision.message


# F2


@requirement("F-07")
def test_f2_a_failure_without_recovery_is_resolved_by_hand() -> None:
    error = {"type": "technical_error", "message": "the disk is full", "recoverable": False}
    decision = reply("failure_template", error=error)

    assert (decision.rule, actions(decision)) == ("F2", ["manual_resolution"])
    assert decision.blockers == (
        "the disk is full",
        "attempted: Tried to read context files",
        "recommendation: Ensure .factory/context/user-request.md exists",
    )


@requirement("F-08")
def test_f2a_missing_input_runs_the_agent_that_the_recommendation_names() -> None:
    context = {"known_agents": ["intake-agent"]}
    decision = failed("missing_input", context, recommendation="Run intake-agent first.")

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "F2a",
        ["run_prerequisite"],
        "intake-agent",
    )
    assert decision.instruction == "Run intake-agent first."


def test_f2a_missing_input_asks_the_user_when_no_known_agent_is_named() -> None:
    decision = failed("missing_input", recommendation="Run intake-agent first.")

    assert (decision.rule, actions(decision), decision.next_agent) == ("F2a", ["ask_user"], None)
    assert decision.instruction == "Run intake-agent first."


def test_f2b_ambiguous_requirements_ask_the_user() -> None:
    decision = failed("ambiguous_requirements")

    assert (decision.rule, actions(decision)) == ("F2b", ["ask_user"])
    assert decision.questions[0].text == "it went wrong"


def test_f2c_a_wrong_configuration_is_fixed_twice_and_then_given_to_the_user() -> None:
    first = failed("invalid_config", {"expected_agent": "engineer"})

    assert (first.rule, actions(first), first.next_agent) == ("F2c", ["fix_and_retry"], "engineer")
    assert first.instruction == "it went wrong"
    second = failed("invalid_config", first.state_changes)
    assert second.rule == "F2c"
    assert failed("invalid_config", second.state_changes).rule == "F2e"


def test_f2d_a_technical_error_is_retried_once() -> None:
    first = failed("technical_error")

    assert (first.rule, actions(first)) == ("F2d", ["retry"])
    assert first.retry is not None
    assert failed("technical_error", first.state_changes).rule == "F2e"


def test_f2e_another_type_goes_to_the_user() -> None:
    decision = failed("cosmic_rays")

    assert (decision.rule, actions(decision)) == ("F2e", ["ask_user"])
    assert decision.blockers[0] == "it went wrong"


# F3


@requirement("F-22", "F-23")
def test_f3_a_blocking_verdict_outranks_success_and_goes_back_with_its_issues() -> None:
    decision = reply("critic_blocking")

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "F3",
        ["feedback_loop"],
        "architect",
    )
    assert [issue.id for issue in decision.issues] == ["B1", "B2"]
    assert decision.issues[0].fix == "Add STM section with directory structure and schema"


def test_f3_the_hint_may_send_the_work_back_to_the_engineer() -> None:
    assert reply("critic_blocking", next_action="return_to_engineer").next_agent == "engineer"
    assert reply("critic_blocking", next_action="proceed_to_build").next_agent == "architect"


@requirement("F-23")
def test_f3b_the_third_rejection_goes_to_the_user() -> None:
    rules = []
    context: Mapping[str, object] = {}
    for _ in range(3):
        decision = reply("critic_blocking", context)
        rules.append((decision.rule, *actions(decision)))
        context = decision.state_changes

    assert rules == [("F3", "feedback_loop"), ("F3", "feedback_loop"), ("F3b", "ask_user")]
    assert [blocker[:2] for blocker in decision.blockers] == ["B1", "B2"]


# F3c


def with_check(**check: object) -> str:
    return factory("architect_success", checks=[{"name": "tests", "passed": True, **check}])


@requirement("F-10")
@pytest.mark.parametrize("text", ["0 tests collected", "left to the critic", "CI will run it"])
def test_f3c_a_check_that_shows_nothing_is_run_before_the_review(text: str) -> None:
    context = {"expected_agent": "architect"}
    decision = routed(with_check(evidence=text), "factory", context)

    assert (decision.rule, actions(decision)) == ("F3c", ["resume_same"])
    assert decision.next_agent == "architect"
    assert decision.instruction is not None
    assert f"- tests: {text}" in decision.instruction


def test_f3c_one_text_of_a_check_with_a_result_is_enough() -> None:
    assert routed(with_check(evidence="not run", output="12 passed"), "factory").rule == "F6"


# F4


@requirement("F-27", "F-28")
@pytest.mark.parametrize("level", ["low", "90%"])
def test_f4_an_unsure_success_is_looked_at_by_a_person(level: str) -> None:
    decision = reply("architect_success", confidence=level, confidence_notes="two readings")

    assert (decision.rule, actions(decision)) == ("F4", ["human_review"])
    assert decision.instruction == "two readings"


@requirement("F-28")
@pytest.mark.parametrize("level", ["high", None])
def test_f6_a_sure_success_and_one_that_does_not_say_go_on(level: str | None) -> None:
    assert reply("architect_success", confidence=level).rule == "F6"


@requirement("F-27")
def test_f4b_medium_confidence_gets_a_second_look_where_the_policy_says_so() -> None:
    text = factory(
        "architect_success",
        confidence="medium",
        confidence_notes="x",
        next_action="proceed_to_build",
    )
    decision = routed(text, "factory", {"policy": {"review_on_medium": True}})

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "F4b",
        ["continue_next"],
        "critic",
    )
    assert routed(text, "factory").rule == "F7"


def test_f5_a_critic_that_passes_is_not_sent_to_itself() -> None:
    policy = {"policy": {"review_on_medium": True}}

    assert reply("critic_pass", policy, confidence="medium", confidence_notes="x").rule == "F5"


# F5


@requirement("F-21")
def test_f5_a_build_is_approved_by_the_user() -> None:
    decision = reply("critic_pass")

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "F5",
        ["ask_user"],
        "engineer",
    )
    assert decision.questions[0].id == "approve_build"


def test_f5b_a_build_goes_on_where_nobody_has_to_approve_it() -> None:
    decision = reply(
        "critic_pass", {"policy": {"approve_build": False}, "counters": {"critic_rejections": 2}}
    )

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "F5b",
        ["continue_next"],
        "engineer",
    )
    assert decision.state_changes["counters"]["critic_rejections"] == 0


@pytest.mark.parametrize("hint", ["ship_it", "ready_for_review", None])
def test_f5c_a_pass_with_another_hint_is_finished(hint: str | None) -> None:
    decision = reply("critic_pass", next_action=hint)

    assert (decision.rule, actions(decision), decision.instruction) == ("F5c", ["finish"], hint)


# F6 and F7


@requirement("F-05", "F-19", "F-20")
@pytest.mark.parametrize("name", ["architect_success", "engineer_success"])
def test_f6_deliverables_go_to_the_critic(name: str) -> None:
    decision = reply(name)

    assert (decision.rule, actions(decision), decision.next_agent) == (
        "F6",
        ["continue_next"],
        "critic",
    )
    assert decision.files_to_read


@requirement("F-05", "F-17")
@pytest.mark.parametrize("hint", ["ship_it", "proceed_to_build", None])
def test_f7_a_hint_starts_nothing_by_itself(hint: str | None) -> None:
    decision = reply("architect_success", next_action=hint)

    assert (decision.rule, actions(decision), decision.instruction) == ("F7", ["ask_user"], hint)


@requirement("F-10")
def test_r2_a_reply_without_status_is_never_a_success() -> None:
    assert reply("architect_success", status=None).rule == "R2"
    assert reply("architect_success", status="ok").rule == "R2"

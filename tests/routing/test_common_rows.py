"""The rows of all protocols: R1 to R4, and R9 after them."""

import pytest

from goop_mcp import Verdict, validate
from goop_mcp.routing import route
from goop_mcp.validation.findings import Mode
from tests.requirements import requirement
from tests.routing.replies import actions, case, judged, not_found, report, routed

REJECTED = {
    "goop_report": "goop_report/derived_bad_status.xml",
    "speckit": "speckit/concrete_error_prereq_no_suggestion.json",
    "factory": "factory/derived_no_status.json",
}
NOTHING = "All done, nothing to see."
MODES: tuple[Mode, Mode] = ("lenient", "strict")
every_protocol = pytest.mark.parametrize("protocol", REJECTED)


# R1


@every_protocol
def test_r1_a_request_without_response_goes_out_once_more(protocol: str) -> None:
    decision = routed("", protocol, {"responded": False, "expected_agent": "goop-executor"})

    assert (decision.rule, actions(decision)) == ("R1", ["retry"])
    assert decision.next_agent == "goop-executor"
    assert decision.retry is not None
    assert (decision.retry.attempt, decision.retry.max_attempts, decision.retry.delay_seconds) == (
        2,
        2,
        0,
    )
    assert decision.state_changes["attempt"] == 2


@every_protocol
def test_r1b_a_second_silence_goes_to_the_user(protocol: str) -> None:
    decision = routed(
        "", protocol, {"responded": False, "attempt": 2, "expected_agent": "goop-executor"}
    )

    assert (decision.rule, actions(decision)) == ("R1b", ["ask_user"])
    assert decision.blockers == ("no response from goop-executor after 2 attempts",)


def test_r1_the_number_of_retries_can_be_set() -> None:
    context = {"responded": False, "attempt": 2, "policy": {"limits": {"response_retries": 3}}}

    assert routed("", "factory", context).rule == "R1"


# R2 and R3


@requirement("G-36")
@pytest.mark.parametrize("mode", MODES)
@every_protocol
def test_r2_a_rejected_reply_goes_back_with_its_feedback(protocol: str, mode: Mode) -> None:
    verdict = judged(case(REJECTED[protocol]), protocol, mode)
    decision = route(verdict)

    assert (decision.rule, actions(decision)) == ("R2", ["request_repair"])
    assert decision.instruction == verdict.feedback
    assert decision.retry is not None
    assert (decision.retry.attempt, decision.retry.max_attempts) == (2, 3)
    assert decision.state_changes["counters"] == {"repair_rounds": 1}
    assert decision.state_changes["previous_rules"]


@requirement("G-01")
@every_protocol
def test_r2_a_reply_without_envelope_is_asked_for_one(protocol: str) -> None:
    decision = routed(NOTHING, protocol, {"expected_agent": "goop-executor"})

    assert (decision.rule, decision.next_agent) == ("R2", "goop-executor")
    assert decision.instruction is not None
    assert decision.instruction.startswith("Your report was not accepted.")


def test_r2_a_cut_off_report_is_never_routed_on() -> None:
    cut = report()[: report().index("<summary>")]

    assert routed(cut, "goop_report").rule == "R2"


def test_r2_a_second_round_with_other_errors_is_granted() -> None:
    context = {"counters": {"repair_rounds": 1}, "previous_rules": ["goop_report/no-envelope"]}

    assert routed(REJECTED["goop_report"], "goop_report", context).rule == "R2"


@every_protocol
def test_r3_the_same_rules_again_go_to_the_user_at_once(protocol: str) -> None:
    first = routed(REJECTED[protocol], protocol)
    second = routed(REJECTED[protocol], protocol, dict(first.state_changes))

    assert (second.rule, actions(second)) == ("R3", ["ask_user"])
    assert second.blockers
    assert "same rules" in second.reason


def with_status(value: str) -> str:
    return report().replace("<status>COMPLETE</status>", f"<status>{value}</status>")


def test_r2_another_value_under_the_same_rule_is_progress() -> None:
    first = routed(with_status("FAILED"), "goop_report")
    second = routed(with_status("BROKEN"), "goop_report", dict(first.state_changes))
    same = routed(with_status("FAILED"), "goop_report", dict(first.state_changes))
    used_up = routed(with_status("OVER"), "goop_report", dict(second.state_changes))

    assert [each.rule for each in (first, second, same, used_up)] == ["R2", "R2", "R3", "R3"]
    assert "2 repair rounds" in used_up.reason
    assert "FAILED" not in str(first.state_changes), (
        "an agent's words have no place in the caller's state"
    )


def test_r3_previous_rules_without_values_are_compared_by_rule_only() -> None:
    context = {"counters": {"repair_rounds": 1}, "previous_rules": ["goop_report/unknown-status"]}

    assert routed(with_status("BROKEN"), "goop_report", context).rule == "R3"


@every_protocol
def test_r3_used_up_rounds_go_to_the_user_with_the_errors(protocol: str) -> None:
    decision = routed(REJECTED[protocol], protocol, {"counters": {"repair_rounds": 2}})

    assert (decision.rule, actions(decision)) == ("R3", ["ask_user"])
    assert all("/" in blocker for blocker in decision.blockers)


def test_r2_a_placeholder_is_no_agent_to_ask() -> None:
    assert routed("goop_report/016_template.xml", "goop_report").next_agent is None


def test_r2_warnings_count_as_errors_when_the_caller_wants_so() -> None:
    text = report((' version="0.1.6"', ""))
    decision = routed(text, "goop_report", {"policy": {"fail_on_warning": True}})

    assert decision.rule == "R2"
    assert decision.instruction is not None
    assert "goop_report/version-missing" in decision.instruction
    assert routed(text, "goop_report").rule == "G6"


def test_g2_a_failed_check_stays_a_failed_check_when_warnings_count_as_errors() -> None:
    context = {"policy": {"fail_on_warning": True}}

    assert (
        routed("goop_report/derived_complete_failed_check.xml", "goop_report", context).rule == "G2"
    )


def test_r2_an_auto_verdict_without_envelope_is_rejected_and_has_no_protocol() -> None:
    verdict = validate(NOTHING)
    assert verdict.protocol is None
    assert route(verdict).rule == "R2"


# R4


@pytest.mark.parametrize("protocol", ["goop_report", "factory"])
def test_r4_a_claim_that_is_not_there_goes_back_to_the_agent(protocol: str) -> None:
    text = {"goop_report": report(), "factory": case("factory/concrete_architect_success.json")}[
        protocol
    ]
    decision = routed(text, protocol, {"evidence": [not_found()]})

    assert (decision.rule, actions(decision)) == ("R4", ["request_repair", "resume_same"])
    assert decision.instruction is not None
    assert "src/ghost.ts" in decision.instruction
    assert decision.state_changes["counters"] == {"evidence_repairs": 1}


def test_r4b_a_second_time_goes_to_the_user() -> None:
    decision = routed(
        report(), "goop_report", {"evidence": [not_found()], "counters": {"evidence_repairs": 1}}
    )

    assert (decision.rule, actions(decision)) == ("R4b", ["ask_user"])
    assert "src/ghost.ts" in decision.blockers[0]


def test_r2_other_errors_next_to_missing_files_go_first() -> None:
    assert routed(REJECTED["goop_report"], "goop_report", {"evidence": [not_found()]}).rule == "R2"


def test_r4_a_warning_of_the_workspace_check_changes_nothing() -> None:
    warning = {"rule": "evidence/state-differs", "severity": "warning", "message": "phase differs"}

    assert routed(report(), "goop_report", {"evidence": [warning]}).rule == "G6"


# R9


@requirement("G-56")
def test_r9_what_no_row_knows_goes_to_the_user() -> None:
    verdict = Verdict(verdict="accepted", protocol=None, version=None, mode="lenient")
    decision = route(verdict)

    assert (decision.rule, actions(decision)) == ("R9", ["ask_user"])
    assert decision.blockers


@pytest.mark.parametrize(
    ("agent", "words"),
    [("bob", "the next agent is 'bob'"), ("robert-the-builder", "robert-the-builder")],
)
def test_r9_an_agent_that_nobody_knows_is_not_started(agent: str, words: str) -> None:
    text = report(('next_action agent="goop-executor"', f'next_action agent="{agent}"'))
    decision = routed(text, "goop_report")

    assert (decision.rule, actions(decision)) == ("R9", ["ask_user"])
    assert words in decision.blockers[0]
    assert routed(text, "goop_report", {"known_agents": [agent]}).rule == "G6"


@pytest.mark.parametrize(
    "name", ["speckit/concrete_feedback_context.txt", "speckit/raw_feedback_context.txt"]
)
def test_r9_an_input_is_not_an_answer_and_nobody_is_asked_to_repair_it(name: str) -> None:
    decision = routed(name, "speckit")

    assert (decision.rule, actions(decision)) == ("R9", ["ask_user"])

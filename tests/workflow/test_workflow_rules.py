"""The rules of the workflow keep the promises of every rule: examples, severities, words."""

import pytest

from goop_mcp.validation.expectations import NOTHING_EXPECTED
from goop_mcp.validation.findings import Hit, Severity
from goop_mcp.validation.rules import Rule, run_checks
from goop_mcp.workflow.gates import GateFacts
from goop_mcp.workflow.phases import Move
from goop_mcp.workflow.rules import GATE_RULES, MOVE_RULES, WORKFLOW_RULES
from tests.requirements import load_ledger, requirement
from tests.workflow.rule_facts import gate_facts_in, move_in

every_rule = pytest.mark.parametrize("rule", WORKFLOW_RULES, ids=lambda rule: rule.id)


def broken(rule: Rule, text: str) -> list[tuple[str, Hit]]:
    model: GateFacts | Move = move_in(text) if rule in MOVE_RULES else gate_facts_in(text)
    rules = MOVE_RULES if rule in MOVE_RULES else GATE_RULES
    return [
        (problem.rule.id, problem.hit) for problem in run_checks(rules, model, NOTHING_EXPECTED)
    ]


@requirement("G-18", "G-19", "G-43", "G-58")
@every_rule
def test_bad_example_breaks_this_rule_and_no_other(rule: Rule) -> None:
    ((id, hit),) = broken(rule, rule.example.bad_reply)

    assert id == rule.id
    assert not hit.message[0].isupper()
    assert not hit.message.endswith(".")


@every_rule
def test_good_example_breaks_no_rule(rule: Rule) -> None:
    assert broken(rule, rule.example.reply) == []
    assert rule.example.reply.count(rule.example.good) == 1


@every_rule
def test_severities_are_the_published_ones(rule: Rule) -> None:
    expected = Severity.WARNING if rule.id == "workflow/rework-edge" else Severity.ERROR

    assert (rule.lenient, rule.strict) == (expected, expected)
    assert set(rule.requirements) <= load_ledger().keys()


def test_an_illegal_move_is_reported_with_the_phases_that_follow() -> None:
    ((_, hit),) = broken(MOVE_RULES[0], '{"start": "idle", "target": "accept"}')

    assert hit.message == "phase idle does not lead to accept; expected one of plan"


def test_an_unknown_phase_is_reported_with_the_phases_of_the_profile() -> None:
    ((_, hit),) = broken(MOVE_RULES[0], '{"start": "deploy", "target": "plan"}')

    assert hit.expected == ("idle", "plan", "research", "specify", "execute", "accept")


def test_a_forced_move_breaks_no_rule() -> None:
    assert broken(MOVE_RULES[0], '{"start": "idle", "target": "accept", "forced": true}') == []


def test_a_closed_gate_is_reported_with_what_is_missing_and_its_fixed_sentence() -> None:
    ((_, hit),) = broken(GATE_RULES[1], GATE_RULES[1].example.bad_reply)

    assert hit.message == "gate Spec is closed; expected a locked specification"
    assert hit.fix == "Specification not locked. Run /goop-plan to confirm and lock first."

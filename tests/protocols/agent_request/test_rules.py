"""Every rule of the family keeps its promises: its examples, its severities, its words."""

import pytest

from goop_mcp import Severity
from goop_mcp.protocols.agent_request.rules import RULES
from goop_mcp.validation.envelope_rules import FOREIGN_BLOCK
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.rules import Rule
from tests.protocols.agent_request.prompts import MODES, judge, weighty_rules
from tests.requirements import load_ledger

# Lenient, strict: the published table.
SEVERITIES = {
    "no-envelope": "warning warning",
    "unfenced": "warning error",
    "fence-language": "warning error",
    "fence-collision": "warning error",
    "multiple-requests": "error error",
    "missing-field": "error error",
    "empty-field": "error error",
    "duplicate-element": "error error",
    "placeholder-left": "error error",
    "unknown-mode": "error error",
    "unknown-workflow": "error error",
    "value-case": "warning error",
    "not-a-boolean": "error error",
    "element-order": "warning error",
    "unknown-element": "warning error",
    "extension-element": "info info",
    "unknown-attribute": "info info",
    "bad-attribute-value": "warning warning",
    "summary-length": "warning warning",
    "empty-constraints": "info info",
    "constraints-unreadable": "warning warning",
    "no-deliverables": "error error",
    "deliverable-order": "warning warning",
    "unsupported-version": "error error",
    "schema-missing": "warning warning",
    "session-id-form": "warning warning",
    "session-id-differs": "warning warning",
    "dependency-unknown": "warning warning",
    "dependency-cycle": "error error",
}
# Its example is a call of the gate; what the gate says is shown in tests/cli/test_gate.py.
OF_THE_GATE = "agent_request/schema-missing"
SHOWN = [
    pytest.param(rule, id=rule.id) for rule in (*RULES, FOREIGN_BLOCK) if rule.id != OF_THE_GATE
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rule", SHOWN)
def test_bad_example_breaks_this_rule_and_no_other(rule: Rule, mode: Mode) -> None:
    verdict = judge(rule.example.bad_reply, mode, expected=rule.example.expected)

    assert rule.id in {finding.rule for finding in verdict.findings}
    assert weighty_rules(verdict) <= {rule.id}
    severities = {finding.severity for finding in verdict.findings if finding.rule == rule.id}
    assert severities == {rule.severity(mode)}
    assert verdict.accepted == (rule.severity(mode) is not Severity.ERROR)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rule", SHOWN)
def test_good_example_breaks_no_rule(rule: Rule, mode: Mode) -> None:
    verdict = judge(rule.example.reply, mode, expected=rule.example.expected)

    assert verdict.findings == ()


@pytest.mark.parametrize("rule", SHOWN)
def test_good_line_stands_once_in_its_prompt_so_that_the_bad_one_replaces_it(rule: Rule) -> None:
    assert rule.example.reply.count(rule.example.good) == 1
    assert rule.example.bad != rule.example.good


def test_severities_are_the_published_ones_and_every_published_rule_exists() -> None:
    assert {rule.id: f"{rule.lenient} {rule.strict}" for rule in RULES} == {
        f"agent_request/{name}": severities for name, severities in SEVERITIES.items()
    }


@pytest.mark.parametrize("rule", SHOWN)
def test_message_begins_in_lower_case_and_is_no_paragraph(rule: Rule) -> None:
    for finding in judge(rule.example.bad_reply, expected=rule.example.expected).findings:
        assert not finding.message[0].isupper()
        assert not finding.message.endswith(".")
        assert "\n" not in finding.message


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_says_what_it_catches_why_and_what_to_do(rule: Rule) -> None:
    for text in (rule.catches, rule.why, rule.fix):
        assert text.strip() == text != ""
    assert set(rule.requirements) <= load_ledger().keys()

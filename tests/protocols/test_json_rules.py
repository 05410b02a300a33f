"""Every rule of the JSON families, and those about JSON and paths, keeps its promises."""

from typing import NamedTuple

import pytest

from goop_mcp import Severity, Verdict
from goop_mcp.protocols.factory import FACTORY
from goop_mcp.protocols.speckit import SPECKIT
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.json_rules import JSON_RULES
from goop_mcp.validation.path_rules import PATH_RULES
from goop_mcp.validation.rules import Rule
from tests.protocols.json_replies import MODES, judge, weighty_rules
from tests.requirements import load_ledger


class Row(NamedTuple):
    lenient: str
    strict: str
    requirements: str


def _rows(text: str) -> dict[str, Row]:
    return {
        name: Row(*rest) for name, *rest in (line.split("|") for line in text.strip().splitlines())
    }


PUBLISHED = _rows("""
json/malformed|error|error|S-09 F-26
json/loose-syntax|warning|error|S-15 F-26
json/duplicate-key|error|error|S-13 F-10
path/outside-workspace|error|error|F-14 H-61 S-04
path/absolute|warning|error|F-14
path/outside-session|error|error|H-61
path/template-variable|warning|warning|F-29 H-10
speckit/no-envelope|error|error|S-09
speckit/result-without-envelope|error|error|S-09 S-10
speckit/missing-field|error|error|S-02 S-05 S-10 S-12
speckit/missing-result-field|error|error|S-29 S-31 S-32 S-33 S-34 S-35 S-36 S-37 S-38 S-40 S-41
speckit/execution-time-missing|warning|error|S-10 S-12
speckit/analysis-report-missing|warning|error|S-36
speckit/wrong-type|error|error|S-10 S-12 S-29
speckit/bad-timestamp|error|error|S-10 S-12
speckit/placeholder-left|error|error|S-15
speckit/unknown-status|error|error|S-13
speckit/unknown-value|error|error|S-06 S-29 S-32 S-34 S-38 S-40 S-42
speckit/value-case|warning|error|S-42
speckit/value-alias|warning|error|S-42
speckit/result-and-error|error|error|S-13
speckit/unknown-agent|warning|warning|S-16
speckit/agent-prefix|info|info|S-10
speckit/agent-mismatch|error|error|S-10
speckit/next-steps-missing|warning|warning|S-11
speckit/error-code-form|warning|warning|S-14
speckit/unknown-error-type|warning|warning|S-17
speckit/derived-strategy|warning|warning|S-22 S-23 S-24
speckit/unknown-strategy|warning|warning|S-24
speckit/strategy-mismatch|warning|warning|S-25
speckit/missing-suggested-agent|error|error|S-26
speckit/manual-but-recoverable|warning|warning|S-20 S-27
speckit/success-with-failed-gate|warning|warning|S-33 S-36 S-38 S-40
speckit/success-but-unfinished|warning|warning|S-31 S-37
speckit/passed-with-failed-gate|error|error|S-38
speckit/coverage-below-required|error|error|S-39
speckit/low-confidence|warning|warning|S-32
speckit/numbers-disagree|warning|warning|S-31 S-35 S-36 S-37
speckit/list-differs-from-count|warning|warning|S-35 S-36 S-41
speckit/gate-contradicts-counts|error|error|S-38
speckit/criterion-contradicts-status|warning|error|S-37 S-38 S-40 S-42
speckit/value-out-of-range|warning|error|S-10 S-36 S-37 S-39
speckit/step-is-itself|warning|error|S-11 S-26
speckit/check-contradicts-itself|error|error|S-38
speckit/text-contradicts-status|error|error|S-13
speckit/check-without-result|warning|error|S-38
factory/success-with-error|error|error|F-10
factory/success-with-questions|error|error|F-10
factory/issues-without-verdict|error|error|F-10
factory/check-contradicts-itself|error|error|F-10
factory/text-contradicts-status|error|error|F-10
factory/check-without-result|warning|error|F-10
factory/summary-contradicts-status|warning|error|F-10
speckit/bad-task-id|warning|warning|S-35
speckit/feature-dir-differs|warning|warning|S-02
speckit/location-without-line|warning|warning|S-06
speckit/feedback-exhausted|error|error|S-08
factory/no-envelope|error|error|F-10 F-26
factory/markdown-reply|warning|warning|F-01 F-25
factory/missing-field|error|error|F-10 F-11 F-12 F-13
factory/unknown-status|error|error|F-10
factory/value-case|warning|error|F-10
factory/wrong-type|error|error|F-02 F-06 F-07
factory/placeholder-left|error|error|F-02 F-08
factory/success-without-deliverable|error|error|F-11 F-21
factory/unknown-deliverable-type|warning|warning|F-03
factory/summary-missing|warning|warning|F-16
factory/vague-summary|warning|warning|F-16
factory/next-action-missing|warning|warning|F-17
factory/unknown-next-action|warning|warning|F-05
factory/next-action-contradicts-verdict|warning|warning|F-17 F-23
factory/no-questions|error|error|F-12
factory/duplicate-question-id|warning|warning|F-18
factory/default-not-in-options|warning|warning|F-18
factory/unknown-error-type|warning|warning|F-08
factory/unknown-verdict|error|error|F-21 F-22
factory/blocking-without-issues|error|error|F-24
factory/pass-with-issues|error|error|F-24
factory/unknown-confidence|warning|warning|F-02 F-27
factory/confidence-without-notes|warning|warning|F-09
factory/low-confidence|warning|warning|F-27
""")
RULES = (*JSON_RULES, *PATH_RULES, *SPECKIT.rules, *FACTORY.rules)
RULES_TO_TRY = [pytest.param(rule, id=rule.id) for rule in RULES]


def judge_example(rule: Rule, text: str, mode: Mode) -> Verdict:
    protocol = "speckit" if rule.family == "speckit" else "factory"
    return judge(text, protocol, mode, rule.example.expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rule", RULES_TO_TRY)
def test_bad_example_breaks_this_rule_and_no_other(rule: Rule, mode: Mode) -> None:
    verdict = judge_example(rule, rule.example.bad_reply, mode)

    seen = {finding.rule: finding.severity for finding in verdict.findings}
    assert seen.get(rule.id) is rule.severity(mode)
    assert weighty_rules(verdict) <= {rule.id}
    assert verdict.accepted == (rule.severity(mode) is not Severity.ERROR)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rule", RULES_TO_TRY)
def test_good_example_has_no_finding_of_the_rule_nor_an_error(rule: Rule, mode: Mode) -> None:
    verdict = judge_example(rule, rule.example.reply, mode)

    assert weighty_rules(verdict) == set()
    assert verdict.accepted


@pytest.mark.parametrize("rule", RULES_TO_TRY)
def test_good_line_stands_once_in_its_reply_so_that_the_bad_one_replaces_it(rule: Rule) -> None:
    assert rule.example.reply.count(rule.example.good) == 1
    assert rule.example.bad != rule.example.good


@pytest.mark.parametrize("rule", RULES_TO_TRY)
def test_finding_of_the_bad_example_says_where_and_what(rule: Rule) -> None:
    for finding in judge_example(rule, rule.example.bad_reply, "lenient").findings:
        assert finding.line is not None or finding.rule.endswith("/no-envelope")
        assert not finding.message[0].isupper()
        assert not finding.message.endswith(".")
        assert "\n" not in finding.message


def test_rules_are_the_published_ones_with_their_severities_and_requirements() -> None:
    built = {
        rule.id: (rule.lenient.value, rule.strict.value, set(rule.requirements)) for rule in RULES
    }

    assert built == {
        name: (row.lenient, row.strict, set(row.requirements.split()))
        for name, row in PUBLISHED.items()
    }
    assert {id for rule in RULES for id in rule.requirements} <= load_ledger().keys()


def test_no_two_rules_have_one_id() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)

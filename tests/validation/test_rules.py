"""Every rule keeps its promises: its examples, its severities, its place in the published list."""

import csv
from pathlib import Path
from typing import NamedTuple

import pytest

from goop_mcp import Severity, UnknownNameError, Verdict, validate
from goop_mcp.protocols import FAMILIES, RULES
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.rules import Rule, RuleBook
from tests.requirements import load_ledger
from tests.validation.replies import MODES, weighty_rules


class Row(NamedTuple):
    """One line of the published table of rules, without what only people read."""

    rule: str
    lenient: str
    strict: str
    requirements: str


def read_table() -> dict[str, Row]:
    with (Path(__file__).parent / "rules.csv").open(encoding="utf-8", newline="") as file:
        return {row["rule"]: Row(**row) for row in csv.DictReader(file)}


TABLE = read_table()
# They need a second protocol.
OF_OTHER_PROTOCOLS = {"envelope/ambiguous", "envelope/foreign-block"}
COVERED_FAMILIES = {row.partition("/")[0] for row in TABLE}
RULES_TO_TRY = [
    pytest.param(rule, id=id) for id, rule in RULES.items() if rule.family in COVERED_FAMILIES
]


def judge_example(rule: Rule, text: str, mode: Mode) -> Verdict:
    protocol = "auto" if rule.family == "envelope" else "goop_report"
    return validate(text, protocol=protocol, mode=mode, expected=rule.example.expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rule", RULES_TO_TRY)
def test_bad_example_breaks_this_rule_and_no_other(rule: Rule, mode: Mode) -> None:
    verdict = judge_example(rule, rule.example.bad_reply, mode)

    assert rule.id in {finding.rule for finding in verdict.findings}
    assert weighty_rules(verdict) <= {rule.id}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rule", RULES_TO_TRY)
def test_good_example_breaks_no_rule(rule: Rule, mode: Mode) -> None:
    verdict = judge_example(rule, rule.example.reply, mode)

    assert weighty_rules(verdict) == set()
    assert rule.id not in {finding.rule for finding in verdict.findings}


@pytest.mark.parametrize("rule", RULES_TO_TRY)
def test_good_line_stands_once_in_its_reply_so_that_the_bad_one_replaces_it(rule: Rule) -> None:
    assert rule.example.reply.count(rule.example.good) == 1
    assert rule.example.bad != rule.example.good


@pytest.mark.parametrize("rule", RULES_TO_TRY)
def test_severities_are_the_published_ones(rule: Rule) -> None:
    row = TABLE[rule.id]

    assert (rule.severity("lenient"), rule.severity("strict")) == (row.lenient, row.strict)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rule", RULES_TO_TRY)
def test_finding_of_the_bad_example_weighs_what_the_rule_says(rule: Rule, mode: Mode) -> None:
    verdict = judge_example(rule, rule.example.bad_reply, mode)

    severities = {finding.severity for finding in verdict.findings if finding.rule == rule.id}
    assert severities == {rule.severity(mode)}
    assert verdict.accepted == (rule.severity(mode) is not Severity.ERROR)


@pytest.mark.parametrize("rule", RULES_TO_TRY)
def test_message_begins_in_lower_case_and_is_no_paragraph(rule: Rule) -> None:
    for finding in judge_example(rule, rule.example.bad_reply, "lenient").findings:
        assert not finding.message[0].isupper()
        assert not finding.message.endswith(".")
        assert "\n" not in finding.message


@pytest.mark.parametrize("rule", RULES_TO_TRY)
def test_requirements_of_a_rule_are_the_published_ones(rule: Rule) -> None:
    assert set(rule.requirements) == set(TABLE[rule.id].requirements.split())
    assert set(rule.requirements) <= load_ledger().keys()


@pytest.mark.parametrize("rule", RULES_TO_TRY)
def test_rule_says_what_it_catches_why_and_what_to_do(rule: Rule) -> None:
    for text in (rule.catches, rule.why, rule.fix):
        assert text.strip() == text != ""


def test_every_published_rule_exists() -> None:
    assert TABLE.keys() - RULES.keys() - OF_OTHER_PROTOCOLS == set()


def test_ids_are_unique() -> None:
    every_family = [rule.id for family in FAMILIES for rule in family.rules]

    assert len(every_family) == len(set(every_family))
    with pytest.raises(ValueError, match="two rules are called"):
        len(RuleBook(lambda: [*RULES.values(), RULES["xml/doctype"]]))


def test_rule_is_found_by_its_id_and_by_its_name_alone_where_only_one_has_it() -> None:
    assert RULES.find("goop_report/unknown-status").id == "goop_report/unknown-status"
    assert RULES.find(" `phase-alias` ").id == "goop_report/phase-alias"


def test_unknown_rule_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean 'goop_report/unknown-status'\?"):
        RULES.find("goop_report/unknown-statuss")


def test_name_shared_by_several_rules_is_refused_with_their_ids() -> None:
    with pytest.raises(UnknownNameError) as refusal:
        RULES.find("unknown-status")

    suggested = (
        "'goop_report/unknown-status' or 'speckit/unknown-status' or 'factory/unknown-status'"
    )
    assert str(refusal.value) == f"there is no rule 'unknown-status'; did you mean {suggested}?"

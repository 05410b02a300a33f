"""Every rule about claims keeps its promises in a real project."""

import pytest

from goop_mcp import Expectations, Severity, validate
from goop_mcp.protocols import RULES
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.validation.evidence_rules import EVIDENCE_RULES, NOT_CHECKED
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.rules import Rule
from tests.requirements import load_ledger
from tests.workspace.true_projects import Project, true_in

PUBLISHED = {
    "evidence/file-not-found": ("error", "F-15 F-26 G-22 G-49"),
    "evidence/file-still-there": ("error", "G-22"),
    "evidence/commit-not-found": ("error", "G-24 G-49"),
    "evidence/memory-not-found": ("warning", "G-26 G-38"),
    "evidence/task-not-in-blueprint": ("warning", "G-12 G-58"),
    "evidence/state-differs": ("warning", "G-07 G-18 G-19 G-43"),
    "evidence/not-checked": ("info", "F-15 H-29"),
}
MODES: tuple[Mode, Mode] = ("lenient", "strict")
TO_TRY = [pytest.param(rule, id=rule.id) for rule in EVIDENCE_RULES if rule is not NOT_CHECKED]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rule", TO_TRY)
def test_bad_example_breaks_this_rule_and_no_other_at_the_line_that_was_changed(
    project: Project, rule: Rule, mode: Mode
) -> None:
    bad, good = true_in(project, rule.example.bad_reply), true_in(project, rule.example.reply)
    line = next(
        n
        for n, (old, new) in enumerate(zip(good.split("\n"), bad.split("\n"), strict=True), 1)
        if old != new
    )

    expected = Expectations(base=project.base)
    verdict = check_workspace(
        bad, project.folder, store=project.store, mode=mode, expected=expected
    )

    (finding,) = verdict.findings
    assert (finding.rule, finding.line) == (rule.id, line)
    assert finding.severity is rule.severity(mode)
    assert verdict.accepted == (rule.severity(mode) is not Severity.ERROR)
    assert not finding.message[0].isupper()
    assert "; expected " in finding.message
    assert str(project.folder) not in finding.message


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rule", TO_TRY)
def test_good_example_breaks_no_rule(project: Project, rule: Rule, mode: Mode) -> None:
    reply, expected = true_in(project, rule.example.reply), Expectations(base=project.base)
    verdict = check_workspace(
        reply, project.folder, store=project.store, mode=mode, expected=expected
    )

    assert verdict.findings == ()


@pytest.mark.parametrize("mode", MODES)
def test_deliverables_that_are_not_checked_are_reported(mode: Mode) -> None:
    (finding,) = validate(NOT_CHECKED.example.bad_reply, mode=mode).findings

    assert (finding.rule, finding.severity) == ("evidence/not-checked", "info")
    assert validate(NOT_CHECKED.example.reply, mode=mode).findings == ()


@pytest.mark.parametrize("rule", EVIDENCE_RULES, ids=lambda rule: rule.id)
def test_rule_is_found_by_its_id_and_names_known_requirements(rule: Rule) -> None:
    assert RULES.find(rule.id) is rule
    assert rule.example.reply.count(rule.example.good) == 1
    assert set(rule.requirements) <= load_ledger().keys()


@pytest.mark.parametrize("id", PUBLISHED)
def test_severities_and_requirements_are_the_published_ones(id: str) -> None:
    severity, requirements = PUBLISHED[id]

    assert (RULES[id].lenient, RULES[id].strict) == (severity, severity)
    assert set(RULES[id].requirements) == set(requirements.split())

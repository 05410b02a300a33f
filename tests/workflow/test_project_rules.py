"""The rules about projects keep the promises of every rule: examples, severities, words."""

import pytest

from goop_mcp.validation.expectations import NOTHING_EXPECTED
from goop_mcp.validation.findings import Hit, Severity
from goop_mcp.validation.rules import Rule, run_checks
from goop_mcp.workflow.project_rules import PROJECT_RULES, ProjectFacts
from tests.requirements import load_ledger, requirement
from tests.workflow.rule_facts import project_facts_in

every_rule = pytest.mark.parametrize("rule", PROJECT_RULES, ids=lambda rule: rule.id)
SEVERITIES = {
    "workflow/plan-not-read": Severity.ERROR,
    "workflow/repeated-id": Severity.ERROR,
    "workflow/state-corrupt": Severity.ERROR,
    "workflow/state-read-only": Severity.INFO,
    "workflow/locked-spec-changed": Severity.ERROR,
}


def broken(facts: ProjectFacts) -> list[tuple[str, Hit]]:
    return [
        (problem.rule.id, problem.hit)
        for problem in run_checks(PROJECT_RULES, facts, NOTHING_EXPECTED)
    ]


def messages(facts: ProjectFacts) -> list[str]:
    return [hit.message for _, hit in broken(facts)]


@every_rule
def test_bad_example_breaks_this_rule(rule: Rule) -> None:
    ids = {id for id, _ in broken(project_facts_in(rule.example.bad_reply))}

    assert ids == {rule.id} | (
        {"workflow/drift-unknown-task"} if "W9" in rule.example.bad else set()
    )


@every_rule
def test_good_example_breaks_no_rule(rule: Rule) -> None:
    assert broken(project_facts_in(rule.example.reply)) == []
    assert rule.example.reply.count(rule.example.good) == 1


@every_rule
def test_severities_are_the_published_ones(rule: Rule) -> None:
    expected = SEVERITIES.get(rule.id, Severity.WARNING)

    assert (rule.lenient, rule.strict) == (expected, expected)
    assert set(rule.requirements) <= load_ledger().keys()


def test_a_broken_state_is_reported_with_line_and_column() -> None:
    assert messages(ProjectFacts(state_defect=("it ends in the middle", 3, 7))) == [
        "state.json cannot be read at line 3, column 7: it ends in the middle; it was not changed,"
        " expected a JSON object"
    ]


def test_the_phase_of_each_side_is_reported_and_which_counts() -> None:
    facts = ProjectFacts(state_phase="execute", chronicle_phase="plan", report_phase="accept")

    assert messages(facts) == [
        "state.json says phase execute, CHRONICLE.md plan and the last report accept; state.json"
        " counts"
    ]


def test_a_silent_side_is_no_drift() -> None:
    assert (
        messages(ProjectFacts(state_phase="execute", spec_locked_in_state=True, waves_in_state=3))
        == []
    )


def test_wave_counters_that_were_never_set_are_no_drift() -> None:
    assert messages(ProjectFacts(waves_in_state=0, current_wave=0, waves_in_blueprint=3)) == []


def test_a_wave_after_the_last_one_is_drift() -> None:
    assert messages(ProjectFacts(waves_in_state=2, current_wave=3, waves_in_blueprint=2)) == [
        "state.json is in wave 3, BLUEPRINT.md ends with wave 2"
    ]


def test_a_task_done_here_and_open_there_is_reported_with_both_sides() -> None:
    facts = ProjectFacts(
        done_reported=("W2.T1",), open_in_chronicle=("W2.T1",), open_in_state=("W2.T1",)
    )

    assert messages(facts) == [
        "task W2.T1 is done in the reports and open in CHRONICLE.md and state.json; the reports"
        " count"
    ]


@requirement("P-03")
def test_must_haves_without_task_and_tasks_without_must_have_are_drift_in_coverage() -> None:
    hits = broken(ProjectFacts(untraced_must_haves=("MH2", "MH3"), idle_tasks=("W1.T4",)))

    assert [(id, hit.found) for id, hit in hits] == [
        ("workflow/drift-coverage", "MH2, MH3"),
        ("workflow/drift-coverage", "W1.T4"),
    ]


def test_a_handoff_as_old_as_the_last_report_is_fresh() -> None:
    moment = "2026-01-16T10:00:00Z"

    assert messages(ProjectFacts(handoff_written=moment, last_report=moment)) == []

"""The answer of a speckit agent: its envelope, its error, its result."""

import json
from typing import Any

import pytest

from goop_mcp import Expectations, Verdict
from goop_mcp.protocols.speckit import Response
from goop_mcp.protocols.speckit.model import AGENTS, DERIVED_STRATEGIES, ERROR_TYPES, STRATEGIES
from goop_mcp.protocols.speckit.rules.errors import FITTING
from goop_mcp.protocols.speckit.samples import (
    CLARIFY_REPLY,
    CONSTITUTION_REPLY,
    ERROR_REPLY,
    TEST_REPLY,
)
from goop_mcp.protocols.speckit.tables import RESULTS
from tests.protocols.json_replies import (
    changed,
    judge,
    judge_both,
    read_case,
    the_finding,
    weighty_rules,
)
from tests.requirements import requirement

Values = dict[str, Any]


def answer_of(agent: str) -> Values:
    values: Values = json.loads(read_case(f"speckit/concrete_{agent}.json"))
    return values


def error_of(**fields: object) -> Values:
    values: Values = json.loads(ERROR_REPLY)
    values["error"].update(fields)
    return values


def without(values: Values, *path: str) -> Values:
    """Return a copy of `values` without the member at `path`."""
    copy: Values = json.loads(json.dumps(values))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]

    del inner[path[-1]]
    return copy


def rules_of(values: Values, expected: Expectations | None = None) -> set[str]:
    return weighty_rules(judge_both(json.dumps(values, indent=2), "speckit", expected)[0])


def answer(verdict: Verdict) -> Response:
    assert isinstance(verdict.envelope, Response)
    return verdict.envelope


# The envelope


@requirement("S-09")
@pytest.mark.parametrize("text", ["The spec is ready.", "", "Done: {name}", '{"order": 1}'])
def test_prose_is_no_answer(text: str) -> None:
    for verdict in judge_both(text, "speckit"):
        assert weighty_rules(verdict) == {"speckit/no-envelope"}
        assert verdict.feedback is not None
        assert '"agent": "<agent-name>"' in verdict.feedback


@requirement("S-10")
@pytest.mark.parametrize("field", ["agent", "status", "timestamp", "result"])
def test_success_without_a_required_field_is_refused(field: str) -> None:
    values = without(answer_of("clarify"), field)

    assert rules_of(values) == {"speckit/missing-field"}
    assert not judge(json.dumps(values), "speckit").accepted
    assert (
        the_finding(judge(json.dumps(values), "speckit"), "speckit/missing-field").path
        == f"/{field}"
    )


@requirement("S-10", "S-12")
def test_missing_execution_time_is_an_error_in_strict_mode_only_and_never_filled_in() -> None:
    for values in (answer_of("clarify"), json.loads(ERROR_REPLY)):
        lenient, strict = judge_both(json.dumps(without(values, "execution_time_ms")), "speckit")

        assert weighty_rules(lenient) == {"speckit/execution-time-missing"}
        assert (lenient.accepted, strict.accepted) == (True, False)
        assert answer(lenient).execution_time_ms is None


@requirement("S-12")
@pytest.mark.parametrize("field", ["agent", "status", "timestamp", "error"])
def test_error_without_a_required_field_is_refused(field: str) -> None:
    assert rules_of(without(json.loads(ERROR_REPLY), field)) == {"speckit/missing-field"}


@requirement("S-12")
@pytest.mark.parametrize("field", ["type", "code", "message", "recoverable", "recovery_strategy"])
def test_error_object_without_a_required_field_is_refused(field: str) -> None:
    assert rules_of(without(json.loads(CONSTITUTION_REPLY), "error", field)) == {
        "speckit/missing-field"
    }


@requirement("S-12")
def test_details_and_suggested_action_may_be_left_out_or_null() -> None:
    for missing in (
        CONSTITUTION_REPLY,
        changed(CONSTITUTION_REPLY, ('"recoverable"', '"details": null, "recoverable"')),
    ):
        assert weighty_rules(judge(missing, "speckit", "strict")) == set()


@requirement("S-11")
def test_success_without_next_steps_gets_a_warning() -> None:
    assert rules_of(without(answer_of("clarify"), "result", "next_steps")) == {
        "speckit/next-steps-missing"
    }
    assert rules_of(answer_of("taskstoissues")) == {
        "speckit/list-differs-from-count"
    }  # its list is empty


def test_next_steps_are_given_in_order_without_the_prefix() -> None:
    values = answer_of("clarify")
    values["result"]["next_steps"] = ["speckit-plan", "own-agent", "tasks"]

    verdict = judge(json.dumps(values), "speckit")

    assert answer(verdict).next_steps == ("plan", "own-agent", "tasks")
    assert weighty_rules(verdict) == set()


@requirement("S-13")
@pytest.mark.parametrize(
    ("base", "extra"),
    [
        (CLARIFY_REPLY, '"error": {"type": "TimeoutError"},'),
        (ERROR_REPLY, '"result": {"spec_file": "a.md"},'),
    ],
)
def test_result_and_error_together_are_refused(base: str, extra: str) -> None:
    for verdict in judge_both(base.replace('"timestamp"', f'{extra} "timestamp"'), "speckit"):
        assert weighty_rules(verdict) == {"speckit/result-and-error"}
        assert not verdict.accepted


@requirement("S-13")
@pytest.mark.parametrize("status", ["completed", "failure", "ok", "", 1, True])
def test_status_other_than_success_or_error_is_refused(status: object) -> None:
    found = rules_of({**answer_of("clarify"), "status": status})

    assert found in ({"speckit/unknown-status"}, {"speckit/missing-field"}, {"speckit/wrong-type"})


@pytest.mark.parametrize(
    "stamp", ["2026-01-15T10:30:00Z", "2026-01-15T10:30+02:00", "2026-01-15T10:30:00.123456+0530"]
)
def test_time_of_iso_8601_with_its_zone_is_taken(stamp: str) -> None:
    assert rules_of({**answer_of("clarify"), "timestamp": stamp}) == set()


@pytest.mark.parametrize(
    "stamp", ["2026-01-15", "2026-01-15T10:30:00", "yesterday", "2026-02-30T10:00:00Z", "10:30Z"]
)
def test_time_without_zone_or_day_is_refused(stamp: str) -> None:
    assert rules_of({**answer_of("clarify"), "timestamp": stamp}) == {"speckit/bad-timestamp"}


@pytest.mark.parametrize("name", ["speckit-clarify", "speckit.clarify", "/speckit.clarify"])
def test_prefix_of_an_agent_is_dropped_with_a_remark(name: str) -> None:
    verdict = judge(json.dumps({**answer_of("clarify"), "agent": name}), "speckit", "strict")

    assert answer(verdict).agent == "clarify"
    assert [finding.rule for finding in verdict.findings] == ["speckit/agent-prefix"]
    assert verdict.accepted


@pytest.mark.parametrize(
    ("expected", "fits"), [("speckit-clarify", True), ("plugin:clarify", True), ("plan", False)]
)
def test_agent_is_compared_with_the_one_that_was_invoked(expected: str, fits: bool) -> None:
    found = rules_of(answer_of("clarify"), Expectations(agent=expected))

    assert found == (set() if fits else {"speckit/agent-mismatch"})


@requirement("S-16")
def test_fields_that_no_table_has_are_kept_without_a_finding() -> None:
    values = answer_of("clarify")
    values["result"]["extra"] = {"deep": [1, {"a": None}]}
    values["trace"] = "t-1"

    for verdict in judge_both(json.dumps(values), "speckit"):
        assert verdict.findings == ()
        assert answer(verdict).result == values["result"]
        assert answer(verdict).extensions == {"trace": "t-1"}


def test_agent_of_a_project_is_taken_with_a_warning_and_its_result_is_kept() -> None:
    values = {**answer_of("clarify"), "agent": "deploy", "result": {"url": 5, "next_steps": []}}

    assert rules_of(values) == {"speckit/unknown-agent"}
    assert answer(judge(json.dumps(values), "speckit")).result == values["result"]


# Errors


@requirement("S-14")
@pytest.mark.parametrize(
    "code", ["missing-plan", "MissingPlan", "missing_plan", "MISSING PLAN", "1_A"]
)
def test_code_in_another_form_gets_a_warning(code: str) -> None:
    assert rules_of(error_of(code=code)) == {"speckit/error-code-form"}


@requirement("S-24")
@pytest.mark.parametrize("strategy", [*STRATEGIES, *DERIVED_STRATEGIES, "pray"])
def test_listed_strategies_are_taken_and_others_get_a_warning(strategy: str) -> None:
    found = rules_of(error_of(type="OwnError", recovery_strategy=strategy, recoverable=False))
    remark = (
        "derived-strategy"
        if strategy in DERIVED_STRATEGIES
        else "unknown-strategy"
        if strategy == "pray"
        else None
    )

    assert found - {"speckit/unknown-error-type"} == ({f"speckit/{remark}"} if remark else set())
    assert judge(json.dumps(error_of(recovery_strategy=strategy)), "speckit").accepted


def test_strategy_that_does_not_fit_the_type_gets_a_warning() -> None:
    assert set(FITTING) == set(ERROR_TYPES)
    for kind, fitting in FITTING.items():
        for strategy in (*STRATEGIES, *DERIVED_STRATEGIES):
            found = rules_of(error_of(type=kind, recovery_strategy=strategy, recoverable=False))
            assert ("speckit/strategy-mismatch" in found) == (strategy not in fitting)


@requirement("S-26")
@pytest.mark.parametrize("action", [None, {}, {"reason": "why"}, {"agent": None}, {"agent": ""}])
def test_prerequisite_without_an_agent_is_refused(action: object) -> None:
    assert rules_of(error_of(suggested_action=action)) == {"speckit/missing-suggested-agent"}


# Results


@requirement(
    "S-29", "S-30", "S-31", "S-32", "S-33", "S-34", "S-35", "S-36", "S-37", "S-38", "S-40", "S-41"
)
@pytest.mark.parametrize(
    ("agent", "field"), [(agent, field.name) for agent in AGENTS for field in RESULTS[agent]]
)
def test_result_without_a_field_of_its_table_is_refused(agent: str, field: str) -> None:
    found = rules_of(without(answer_of(agent), "result", field))

    expected = (
        "speckit/analysis-report-missing"
        if field == "analysis_report"
        else "speckit/missing-result-field"
    )
    assert expected in found


@requirement("S-29", "S-34")
@pytest.mark.parametrize(
    ("agent", "field", "value", "rule"),
    [
        ("specify", "feature_number", "7", "wrong-type"),
        ("specify", "feature_number", -1, "wrong-type"),
        ("specify", "sections_generated", "Overview", "wrong-type"),
        ("specify", "checklist_status", "Complete", "value-case"),
        ("specify", "checklist_status", "done", "unknown-value"),
        ("specify", "branch_name", "<branch>", "placeholder-left"),
        ("checklist", "domain", "ux|api", "placeholder-left"),
        ("checklist", "domain", "Security", "value-case"),
        ("checklist", "domain", "speed", "unknown-value"),
        ("checklist", "total_items", True, "wrong-type"),
        ("checklist", "categories", {"a": 1}, "wrong-type"),
    ],
)
def test_value_of_another_kind_is_named_once(
    agent: str, field: str, value: object, rule: str
) -> None:
    values = answer_of(agent)
    values["result"][field] = value

    for verdict in judge_both(json.dumps(values), "speckit"):
        finding = the_finding(verdict, f"speckit/{rule}")
        assert finding.path == f"/result/{field}"
        assert len(verdict.findings) == 1


@requirement("S-35")
def test_phases_that_do_not_add_up_and_ids_in_another_form_get_a_warning() -> None:
    values = answer_of("tasks")
    values["result"].update(task_ids=["T001", "T1", "1"], task_count=3, parallelizable_tasks=1)
    assert rules_of(values) == {"speckit/numbers-disagree", "speckit/bad-task-id"}

    values["result"].update(task_ids=["T001", "T0022", "T003"], phases={"setup": 1, "polish": 2})
    assert rules_of(values) == set()


@requirement("S-31", "S-32", "S-33", "S-36", "S-37", "S-38", "S-40")
@pytest.mark.parametrize(
    ("agent", "changes", "rule"),
    [
        ("clarify", {"clarifications_resolved": 4}, "numbers-disagree"),
        ("clarify", {"remaining_ambiguities": 2}, "success-but-unfinished"),
        ("research", {"confidence_level": "LOW"}, "low-confidence"),
        ("plan", {"constitution_violations": ["two databases"]}, "success-with-failed-gate"),
        ("analyze", {"total_findings": 99}, "numbers-disagree"),
        ("tasks", {"parallelizable_tasks": 99}, "numbers-disagree"),
        ("implement", {"completion_percentage": 99}, "numbers-disagree"),
        ("implement", {"tests_passed": 128}, "numbers-disagree"),
        (
            "implement",
            {"tasks_completed": 22, "completion_percentage": 95.65},
            "success-but-unfinished",
        ),
        ("test", {"overall_status": "FAILED"}, "success-with-failed-gate"),
        ("review", {"overall_status": "NEEDS_MANUAL_REVIEW"}, "success-with-failed-gate"),
        (
            "review",
            {"constitution_compliance": {"status": "FAIL", "passed": 7, "failed": 1}},
            "success-with-failed-gate",
        ),
        ("taskstoissues", {"issues_created": 1}, None),
    ],
)
def test_what_the_content_says_is_looked_at(agent: str, changes: Values, rule: str | None) -> None:
    values = answer_of(agent)
    values["result"].update(changes)
    before = rules_of(answer_of(agent))

    assert (f"speckit/{rule}" in rules_of(values) - before) == (rule is not None)
    assert judge(json.dumps(values), "speckit").accepted


@requirement("S-36")
@pytest.mark.parametrize(
    ("critical", "listed"), [(0, "HIGH"), (1, "HIGH"), (0, "CRITICAL"), (1, "CRITICAL")]
)
def test_one_critical_finding_of_an_analysis_is_a_failed_gate(critical: int, listed: str) -> None:
    values = answer_of("analyze")
    values["result"]["findings_by_severity"] = {
        "CRITICAL": critical,
        "HIGH": 2 - critical,
        "MEDIUM": 3,
        "LOW": 3,
    }
    values["result"]["total_findings"] = 8
    values["result"]["findings"][0]["severity"] = listed

    assert ("speckit/success-with-failed-gate" in rules_of(values)) == (
        critical == 1 or listed == "CRITICAL"
    )
    assert "speckit/numbers-disagree" not in rules_of(values)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_model_gives_back_the_values_it_was_read_from(agent: str) -> None:
    values = answer_of(agent)
    envelope = judge(json.dumps(values), "speckit").envelope

    assert envelope is not None
    given = envelope.to_dict()
    assert (given["agent"], given["status"], given["execution_time_ms"]) == (
        agent,
        "success",
        values["execution_time_ms"],
    )
    assert given["result"] == values["result"]


@requirement("S-36")
@pytest.mark.parametrize(
    ("percent", "fits"), [(91.67, True), (91.66, True), (91.7, False), (92, False), (91.6, False)]
)
def test_percentages_are_compared_with_a_tolerance_of_a_hundredth(
    percent: float, fits: bool
) -> None:
    values = answer_of("analyze")
    values["result"]["coverage_analysis"]["coverage_percentage"] = percent

    assert ("speckit/numbers-disagree" in rules_of(values)) != fits


@requirement("S-38")
def test_a_test_that_passed_although_a_gate_failed_is_refused() -> None:
    values = answer_of("test")
    values["result"]["quality_gates"]["code_quality"]["status"] = "FAILED"

    for verdict in judge_both(json.dumps(values), "speckit"):
        assert the_finding(verdict, "speckit/passed-with-failed-gate").severity == "error"
        assert not verdict.accepted


@requirement("S-39")
@pytest.mark.parametrize(
    ("overall", "fits"), [(80.0, True), (80, True), (79.99, False), (0, False)]
)
def test_coverage_gate_that_passed_below_the_required_is_refused(
    overall: float, fits: bool
) -> None:
    verdict = judge(TEST_REPLY.replace("87.5", str(overall)), "speckit")

    assert weighty_rules(verdict) == (set() if fits else {"speckit/coverage-below-required"})
    assert verdict.accepted == fits


@requirement("S-41")
@pytest.mark.parametrize(("count", "fits"), [(1, True), (0, False), (2, False)])
def test_another_number_of_issues_than_created_gets_a_warning(count: int, fits: bool) -> None:
    values = answer_of("taskstoissues")
    values["result"]["issues_created"] = count

    assert rules_of(values) == (set() if fits else {"speckit/list-differs-from-count"})


@requirement("S-42")
@pytest.mark.parametrize(
    ("agent", "path", "written", "read"),
    [
        ("test", ("overall_status",), "PASS", "PASSED"),
        ("test", ("quality_gates", "coverage", "status"), "pass", "PASSED"),
        ("test", ("success_criteria", 0, "status"), "FAIL", "FAILED"),
        ("review", ("constitution_compliance", "status"), "PASSED", "PASS"),
        ("review", ("constitution_compliance", "status"), "FAILED", "FAIL"),
    ],
)
def test_other_spelling_of_a_result_is_repaired_in_lenient_mode(
    agent: str, path: tuple[Any, ...], written: str, read: str
) -> None:
    values = answer_of(agent)
    inner: Any = values["result"]
    for key in path[:-1]:
        inner = inner[key]

    inner[path[-1]] = written

    lenient, strict = judge_both(json.dumps(values), "speckit")

    assert "speckit/value-alias" in weighty_rules(lenient)
    assert (lenient.accepted, strict.accepted) == (True, False)
    found: Any = answer(lenient).result
    for key in path:
        found = found[key]

    assert found == read


@requirement("S-04")
@pytest.mark.parametrize("path", ["../x", "/etc/x", "specs/../../x", "~/x"])
def test_path_in_a_result_that_leads_out_is_refused(path: str) -> None:
    for agent, field in (
        ("specify", "spec_file"),
        ("plan", "contracts_dir"),
        ("analyze", "analysis_report"),
    ):
        values = answer_of(agent)
        values["result"][field] = path
        assert "path/outside-workspace" in rules_of(values)
        assert not judge(json.dumps(values), "speckit").accepted


def test_result_fragment_is_named_for_its_agent() -> None:
    for verdict in judge_both('{"spec_file": "a.md", "questions_asked": 3}', "speckit"):
        finding = the_finding(verdict, "speckit/result-without-envelope")
        assert "clarify" in finding.message
        assert finding.line == 1

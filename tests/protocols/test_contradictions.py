"""Contradictory documents are found; consistent ones that look similar are not (D-93)."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from goop_mcp import Severity, Verdict, validate
from goop_mcp.protocols.factory.samples import BLOCKING_REPLY, CRITIC_REPLY
from goop_mcp.protocols.speckit.samples import (
    ANALYZE_REPLY,
    CLARIFY_REPLY,
    ERROR_REPLY,
    TASKS_REPLY,
    TEST_REPLY,
)
from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.samples import COMPLETE_REPLY, REQUEST_PROMPT
from tests.protocols.json_replies import judge
from tests.requirements import requirement

Values = dict[str, Any]


def values_of(text: str) -> Values:
    found: Values = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return found


def with_result(agent: str, **result: object) -> Values:
    envelope = values_of(CLARIFY_REPLY)
    return {**envelope, "agent": agent, "result": {**result, "next_steps": ["review"]}}


BASES: dict[str, Values] = {
    "success": values_of(FACTORY_REPLY),
    "pass": values_of(CRITIC_REPLY),
    "blocking": values_of(BLOCKING_REPLY),
    "test": values_of(TEST_REPLY),
    "analyze": values_of(ANALYZE_REPLY),
    "tasks": values_of(TASKS_REPLY),
    "clarify": values_of(CLARIFY_REPLY),
    "error": values_of(ERROR_REPLY),
    "implement": with_result(
        "implement",
        tasks_file="specs/7/tasks.md",
        tasks_completed=23,
        tasks_total=23,
        completion_percentage=100,
        tests_passed=127,
        tests_total=127,
        coverage_percentage=94.2,
        files_created=45,
        files_modified=12,
        implementation_phases={"setup": "completed", "polish": "completed"},
    ),
    "review": (
        with_result(
            "review",
            feature_id="7",
            overall_status="APPROVED",
            changes_made={
                "files_moved": [],
                "files_deleted": [],
                "files_created": [],
                "files_modified": [],
            },
            constitution_compliance={"status": "PASS", "passed": 8, "failed": 0},
            cleanup_summary={"tests_removed": 0, "files_moved": 0, "dead_code_lines_removed": 0},
        )
        | {}
    ),
}
BASES["review"]["result"]["next_steps"] = []
FACTORY_BASES = ("success", "pass", "blocking")

GATES = "result/quality_gates"
TESTS = f"{GATES}/tests_passing/details"
CODE = f"{GATES}/code_quality/details"
BUILD = f"{GATES}/build_validation/details"
COVERAGE = f"{GATES}/coverage/details"
CRITERIA = "result/success_criteria"
ERROR = {"type": "technical_error", "message": "the disk is full"}
QUESTION = {"id": "q1", "question": "Which store?"}
ISSUE = {"id": "B1", "title": "No memory defined"}

G = "speckit/gate-contradicts-counts"
C = "speckit/criterion-contradicts-status"
R = "speckit/value-out-of-range"
I = "speckit/step-is-itself"  # noqa: E741 - one letter a rule
T = "speckit/check-contradicts-itself"
N = "speckit/check-without-result"
FE = "factory/success-with-error"
FQ = "factory/success-with-questions"
FV = "factory/issues-without-verdict"
FT = "factory/check-contradicts-itself"
FN = "factory/check-without-result"
FP = "factory/placeholder-left"
D = "envelope/conflicting-duplicate"


def criterion(status: str = "PASSED", **more: object) -> Values:
    return {
        "id": "SC-002",
        "description": "3 tests failed are shown in red",
        "status": status,
        **more,
    }


def check(text: str, *, passed: bool = True, name: str = "evidence") -> Values:
    return {"name": "tests", "passed": passed, name: text}


# base, changes by pointer, rule
CONTRADICTIONS: list[tuple[str, Values, str]] = [
    ("test", {TESTS: {"total": 45, "passed": 43, "failed": 2}}, G),
    ("test", {TESTS: {"total": 45, "passed": 45, "failed": 1}}, G),
    ("test", {TESTS: {"total": 45, "passed": 44, "failed": 0, "errors": 1}}, G),
    ("test", {TESTS: {"total": 0, "passed": 0, "failed": 0}}, G),
    ("test", {TESTS: {"total": 45, "passed": 40, "failed": 0}}, G),
    ("test", {TESTS: {"total": 45, "passed": 40, "failed": 0, "skipped": 3}}, G),
    ("test", {TESTS: {"total": 45, "passed": 0, "failed": 0}}, G),
    ("test", {TESTS: {"total": 45, "passed": 50, "failed": 0}}, G),
    ("test", {TESTS: {"total": 45, "passed": 44}}, G),
    ("test", {TESTS: {"passed": 44, "failed": 1}}, G),
    ("test", {TESTS: {"failures": 3}}, G),
    ("test", {CODE: {"lint_errors": 4, "type_errors": 0}}, G),
    ("test", {CODE: {"lint_errors": 0, "type_errors": 1}}, G),
    ("test", {CODE: {"errors": 2}}, G),
    (
        "test",
        {f"{GATES}/e2e": {"status": "PASSED", "details": {"total": 9, "passed": 7, "failed": 2}}},
        G,
    ),
    ("test", {f"{GATES}/e2e": {"status": "PASSED", "details": {"tests_failed": 2}}}, G),
    ("test", {BUILD: {"errors": 1}}, G),
    ("test", {BUILD: {"build_errors": 1}}, G),
    ("test", {f"{CRITERIA}/0/status": "FAILED"}, C),
    ("test", {f"{CRITERIA}/0/status": "NOT_TESTED"}, C),
    ("test", {f"{CRITERIA}/1": criterion("FAILED")}, C),
    ("test", {f"{CRITERIA}/1": criterion("NOT_TESTED")}, C),
    ("implement", {"result/implementation_phases/polish": "failed"}, C),
    ("implement", {"result/implementation_phases/polish": "FAILED"}, C),
    ("implement", {"result/implementation_phases/polish": "incomplete"}, C),
    ("implement", {"result/implementation_phases/setup": "in_progress"}, C),
    ("implement", {"result/tests_passed": 120}, C),
    ("implement", {"result/tests_passed": 0}, C),
    ("review", {"result/constitution_compliance/failed": 1}, C),
    ("review", {"result/constitution_compliance": {"status": "PASS", "passed": 0, "failed": 8}}, C),
    ("implement", {"result/completion_percentage": 140}, R),
    ("implement", {"result/completion_percentage": -1}, R),
    ("implement", {"result/coverage_percentage": 101}, R),
    ("implement", {"result/coverage_percentage": -0.5}, R),
    ("implement", {"result/mutation_percentage": 130}, R),
    ("implement", {"execution_time_ms": -3}, R),
    ("clarify", {"execution_time_ms": -0.1}, R),
    ("error", {"execution_time_ms": -12}, R),
    ("test", {COVERAGE: {"overall": 875, "required": 80}}, R),
    ("test", {COVERAGE: {"overall": 100.5, "required": 80}}, R),
    ("test", {COVERAGE: {"overall": 87, "required": -1}}, R),
    ("analyze", {"result/coverage_analysis/coverage_percentage": 191.67}, R),
    ("analyze", {"result/coverage_analysis/coverage_percentage": -1}, R),
    ("clarify", {"result/next_steps": ["clarify"]}, I),
    ("clarify", {"result/next_steps": ["plan", "clarify"]}, I),
    ("test", {"result/next_steps": ["test"]}, I),
    ("implement", {"result/next_steps": ["implement"]}, I),
    ("tasks", {"result/next_steps": ["speckit-tasks"]}, I),
    ("error", {"error/suggested_action/agent": "tasks"}, I),
    ("error", {"error/suggested_action/agent": "speckit.tasks"}, I),
    ("test", {f"{BUILD}/docker_compose": "exited with code 1"}, T),
    ("test", {f"{BUILD}/log": "BUILD FAILED in 3s"}, T),
    ("test", {f"{TESTS}/summary": "43 passed, 2 failed"}, T),
    ("test", {f"{GATES}/code_quality/message": "Found 3 errors."}, T),
    ("test", {f"{CRITERIA}/0/evidence": "11/12 tests passed"}, T),
    ("test", {f"{CRITERIA}/0/notes": "1 failed, 3 passed"}, T),
    ("test", {f"{BUILD}/docker_compose": "not run"}, N),
    ("test", {f"{BUILD}/docker_compose": "should work"}, N),
    ("test", {f"{CRITERIA}/0/evidence": "not tested"}, N),
    ("test", {f"{CRITERIA}/0/evidence": "skipped"}, N),
    ("success", {"error": ERROR}, FE),
    ("success", {"error": {"message": "no space left"}}, FE),
    ("success", {"error": {"type": "invalid_config"}}, FE),
    ("pass", {"error": ERROR}, FE),
    ("success", {"error": {"code": 7}}, FE),
    ("success", {"questions": [QUESTION]}, FQ),
    ("success", {"questions": [QUESTION, {"id": "q2", "question": "Where?"}]}, FQ),
    ("pass", {"questions": [QUESTION]}, FQ),
    (
        "success",
        {"questions": [{**QUESTION, "default": "sqlite", "options": ["sqlite", "pg"]}]},
        FQ,
    ),
    (
        "success",
        {"questions": [{**QUESTION, "answer": "sqlite"}, {"id": "q2", "question": "Where?"}]},
        FQ,
    ),
    ("success", {"blocking_issues": [ISSUE]}, FV),
    ("success", {"blocking_issues": [ISSUE, {**ISSUE, "id": "B2"}]}, FV),
    (
        "success",
        {"blocking_issues": [{"title": "Paths differ"}], "next_action": "return_to_architect"},
        FV,
    ),
    ("success", {"summary": "Built four modes; 10 passed, 2 failed"}, FT),
    ("success", {"summary": "Built four modes. Tests: 2 failed, 10 passed, 12 total"}, FT),
    ("success", {"metrics/tests_failed": 2}, FT),
    ("success", {"metrics": {"failed_tests": 1}}, FT),
    ("success", {"checks": [check("10 passed, 2 failed")]}, FT),
    ("success", {"checks": [check("exited with code 1", name="output")]}, FT),
    ("success", {"verification": [{"status": "passed", "details": "Found 2 errors."}]}, FT),
    ("success", {"verification": {"lint": {"status": "PASS", "output": "3 errors"}}}, FT),
    ("success", {"checks": [check("not run")]}, FN),
    ("success", {"checks": [check("0 tests")]}, FN),
    ("success", {"checks": [check("")]}, FN),
    ("pass", {"checks": [check("should pass")]}, FN),
    ("blocking", {"blocking_issues": ["..."]}, FP),
    ("pass", {"blocking_issues": ["..."]}, FP),
    ("success", {"deliverables": ["…"]}, FP),
    ("success", {"Status": "failure"}, D),
    ("pass", {"Verdict": "BLOCKING"}, D),
    ("blocking", {"VERDICT": "PASS"}, D),
    ("success", {"deliverables/0/Path": "other.md"}, D),
    ("test", {"Status": "error"}, D),
    ("test", {"result/Overall_Status": "FAILED"}, D),
    ("test", {f"{TESTS}/Failed": 3}, D),
    ("test", {f"{GATES}/coverage/Status": "FAILED"}, D),
    ("test", {f"{CRITERIA}/0/Status": "FAILED"}, D),
]

CONSISTENT: list[tuple[str, Values]] = [
    ("test", {TESTS: {"total": 45, "passed": 45, "failed": 0, "flaky": 1}}),
    ("test", {TESTS: {"total": 45, "passed": 44, "failed": 0, "flaky": 1}}),
    ("test", {TESTS: {"total": 45, "passed": 43, "failed": 0, "skipped": 2, "flaky": 1}}),
    *((name, {}) for name in BASES if name != "error"),
    ("error", {}),
    ("test", {TESTS: {"total": 45, "passed": 43, "failed": 0, "skipped": 2}}),
    ("test", {TESTS: {"total": 45, "passed": 42, "failed": 0, "skipped": 2, "xfailed": 1}}),
    ("test", {TESTS: {"total": 45, "passed": 44, "failed": 0, "pending": 1}}),
    ("test", {TESTS: {"total": 1, "passed": 1, "failed": 0}}),
    ("test", {TESTS: {"passed": 45, "failed": 0}}),
    ("test", {TESTS: {"total": 45}}),
    ("test", {TESTS: {}}),
    ("test", {TESTS: {"total": 45, "passed": 45, "failed": 0, "errors": 0, "warnings": 3}}),
    ("test", {TESTS: {"total": 45, "passed": 45, "failed": 0, "duration_ms": 1200}}),
    ("test", {TESTS: {"total": 45, "passed": 45, "failed": 0, "failed_before": 3}}),
    ("test", {CODE: {"lint_errors": 0, "type_errors": 0, "lint_warnings": 12}}),
    ("test", {CODE: {"lint_errors": 0, "type_errors": 0, "max_errors": 10}}),
    ("test", {CODE: {"lint_errors": 0, "type_errors": 0, "files": 40}}),
    ("test", {COVERAGE: {"overall": 80, "required": 80}}),
    ("test", {COVERAGE: {"overall": 100, "required": 0}}),
    ("test", {COVERAGE: {"overall": 99.99, "required": 80.0}}),
    ("test", {BUILD: {"docker_compose": "valid", "image_mb": 240}}),
    ("test", {BUILD: {"docker_compose": "0 errors, 2 warnings"}}),
    ("test", {BUILD: {"command": "npm run build || exit 1"}}),
    ("test", {BUILD: {"log": "exit code 0"}}),
    ("test", {BUILD: {}}),
    ("test", {f"{TESTS}/command": "pytest tests/test_failed_login.py"}),
    ("test", {f"{TESTS}/summary": "45 passed, 3 deselected"}),
    ("test", {f"{TESTS}/summary": "previously 2 failed, now 45 passed"}),
    ("test", {f"{TESTS}/note": "e2e not run"}),
    ("test", {f"{CRITERIA}/0/evidence": "12/12 tests passed"}),
    ("test", {f"{CRITERIA}/0/evidence": "locked after 3 failed attempts, as specified"}),
    ("test", {f"{CRITERIA}/1": criterion()}),
    ("test", {f"{CRITERIA}/1": criterion(evidence="4 passed")}),
    ("test", {CRITERIA: []}),
    ("test", {"result/next_steps": []}),
    ("test", {"result/next_steps": ["review", "taskstoissues"]}),
    (
        "test",
        {f"{GATES}/e2e": {"status": "PASSED", "details": {"total": 9, "passed": 9, "failed": 0}}},
    ),
    (
        "test",
        {
            "result/overall_status": "PASSED",
            f"{GATES}/e2e": {"status": "PASSED", "details": {"browsers": 2}},
        },
    ),
    ("test", {"Trace": "a", "trace_id": "b"}),
    ("test", {"STATUS": "success"}),
    ("test", {"result/X-Request-Id": "7", "result/x_request_id": "8"}),
    ("implement", {"result/implementation_phases/polish": "skipped"}),
    ("implement", {"result/implementation_phases/polish": "done"}),
    ("implement", {"result/implementation_phases/failed_login": "completed"}),
    ("implement", {"result/tests_passed": 0, "result/tests_total": 0}),
    ("implement", {"result/coverage_percentage": 0}),
    ("implement", {"result/coverage_percentage": 100}),
    ("implement", {"execution_time_ms": 0}),
    ("implement", {"execution_time_ms": 0.4}),
    ("implement", {"result/next_steps": ["test", "review"]}),
    ("implement", {"result/growth_factor": 140}),
    ("review", {"result/constitution_compliance": {"status": "PASS", "passed": 0, "failed": 0}}),
    ("review", {"result/overall_status": "APPROVED_WITH_WARNINGS"}),
    ("analyze", {"result/next_steps": ["tasks", "plan"]}),
    ("clarify", {"result/next_steps": ["plan", "research"]}),
    ("error", {"error/suggested_action/agent": "specify"}),
    ("success", {"error": None}),
    ("success", {"questions": []}),
    ("success", {"questions": None}),
    ("success", {"questions": [{**QUESTION, "answer": "sqlite"}]}),
    ("success", {"questions": [{**QUESTION, "resolution": "settled with the user"}]}),
    ("success", {"blocking_issues": []}),
    ("success", {"concerns": ["2 tests failed before this change"]}),
    ("success", {"errors": 0}),
    ("success", {"error_rate": 0.2}),
    ("success", {"summary": "Fixed 2 failing tests, 14 passed"}),
    ("success", {"summary": "Locks the account after 3 failed attempts; 14 passed"}),
    ("success", {"summary": "Added the error page; 14 passed, 0 failed"}),
    ("success", {"summary": "Documented exit code 1 and 2"}),
    ("success", {"summary": "All 14 tests pass"}),
    ("success", {"summary": "Removed 3 errors and 2 warnings of the linter"}),
    ("success", {"metrics": {"tests_failed": 0, "tests_passed": 12}}),
    ("success", {"metrics/failures_injected": 3}),
    ("success", {"metrics": {"Files": 3, "files": 4}}),
    ("success", {"checks": [check("14 passed")]}),
    ("success", {"checks": [check("2 failed", passed=False)]}),
    ("success", {"checks": [{"status": "failed", "details": "3 errors"}]}),
    ("success", {"checks": ["tests", "lint"]}),
    ("success", {"checks": "14 passed"}),
    ("success", {"checks": [check("0 errors, 4 warnings")]}),
    ("success", {"checks": [check("test_failed_login.py passed")]}),
    ("success", {"verification": {"lint": {"status": "passed", "output": "clean"}}}),
    ("success", {"tests": 12}),
    ("success", {"Summary": "Designed a data pipeline with four agents"}),
    ("success", {"notes": ["and so on ..."], "todo": []}),
    ("pass", {"concerns": []}),
    ("pass", {"blocking_issues": []}),
    ("pass", {"summary": "Review of the tests that failed before: all pass now"}),
    ("blocking", {"summary": "10 passed, 2 failed"}),
    ("blocking", {"metrics": {"tests_failed": 2}}),
    ("blocking", {"blocking_issues": [ISSUE]}),
    ("blocking", {"summary": "Review found 2 BLOCKING issues"}),
]


def changed(base: str, changes: Values) -> Values:
    values = copy.deepcopy(BASES[base])
    for pointer, value in changes.items():
        *steps, last = pointer.split("/")
        place: Any = values
        for step in steps:
            place = place[int(step)] if isinstance(place, list) else place[step]

        if not isinstance(place, list):
            place[last] = value
        elif int(last) < len(place):
            place[int(last)] = value
        else:
            place.append(value)

    return values


def protocol_of(base: str) -> str:
    return "factory" if base in FACTORY_BASES else "speckit"


def new_rules(verdict: Verdict) -> set[str]:
    return {
        each.rule
        for each in verdict.findings
        if each.rule in {rule for _, _, rule in CONTRADICTIONS}
    }


def test_the_sets_are_as_large_as_they_should_be() -> None:
    assert len(CONTRADICTIONS) + len(ENVELOPES) >= 85
    assert len(CONSISTENT) + len(LOOK_ALIKES) >= 85


@requirement("S-13", "S-38", "F-10", "F-24")
@pytest.mark.parametrize(("base", "changes", "rule"), CONTRADICTIONS, ids=str)
def test_contradiction_is_found_in_both_modes(base: str, changes: Values, rule: str) -> None:
    reply = json.dumps(changed(base, changes), indent=1)

    lenient, strict = (judge(reply, protocol_of(base), mode) for mode in ("lenient", "strict"))

    assert rule in {each.rule for each in lenient.findings}
    assert not strict.accepted
    assert lenient.accepted == all(each.severity is not Severity.ERROR for each in lenient.findings)
    finding, *_ = [each for each in strict.findings if each.rule == rule]
    assert finding.severity is Severity.ERROR
    assert finding.path
    assert finding.line is not None


@pytest.mark.parametrize(("base", "changes"), CONSISTENT, ids=str)
def test_consistent_reply_gets_no_such_finding(base: str, changes: Values) -> None:
    verdict = judge(json.dumps(changed(base, changes), indent=1), protocol_of(base))

    assert new_rules(verdict) == set()
    assert verdict.accepted, verdict.feedback


@requirement("F-24")
@pytest.mark.parametrize(
    "elided", ["[...]", "[…]", "[ ... ]", "[....]", '["..."]', "[..., ]", "[\n  // more\n  ...\n]"]
)
@pytest.mark.parametrize("verdict", ["PASS", "BLOCKING"])
def test_elided_issues_of_a_critic_are_template_text_and_no_empty_list(
    elided: str, verdict: str
) -> None:
    reply = CRITIC_REPLY.replace('"PASS"', f'"{verdict}"').replace(
        '"concerns"', f'"blocking_issues": {elided}, "concerns"'
    )

    found = judge(reply, "factory")

    assert not found.accepted
    rules = {each.rule for each in found.findings}
    assert rules - {"json/loose-syntax", "factory/next-action-contradicts-verdict"} == {
        "factory/placeholder-left"
    }


@pytest.mark.parametrize("field", ["constitution_violations", "next_steps", "technologies"])
def test_elided_list_of_speckit_is_template_text(field: str) -> None:
    plan = with_result(
        "plan",
        plan_file="a.md",
        research_file="b.md",
        data_model_file="c.md",
        contracts_dir="d",
        quickstart_file="e.md",
    )
    plan["result"] |= {"technologies": [], "constitution_violations": [], "artifacts_created": []}
    plan["result"][field] = ["@"]

    verdict = judge(json.dumps(plan).replace('["@"]', "[...]"), "speckit")

    assert "speckit/placeholder-left" in {each.rule for each in verdict.findings}
    assert not verdict.accepted


# Envelopes in XML

_CHECK = '<check name="tests" passed="true">'
_FILE = '<file path="src/login.py" action="created">Login endpoint</file>'
_ROOT = '<goop_report version="0.1.6">'
CREATED_AND_DELETED = "goop_report/file-created-and-deleted"


def report(old: str, new: str) -> str:
    assert old in COMPLETE_REPLY
    return COMPLETE_REPLY.replace(old, new)


def request(new: str) -> str:
    return REQUEST_PROMPT.replace('version="1.0"', f'version="1.0" {new}', 1)


def files(*pairs: str) -> str:
    lines = [
        f'<file path="{path}" action="{action}">x</file>'
        for path, _, action in (pair.partition(" ") for pair in pairs)
    ]
    return report(_FILE, "".join(lines))


ENVELOPES = [
    (report(_CHECK, '<check name="tests" passed="true" Passed="false">'), D),
    (report(_CHECK, '<check name="tests" PASSED="false" passed="true">'), D),
    (report(_CHECK, '<check name="tests" passed = "true" Passed = "false">'), D),
    (report('action="created"', 'action="created" Action="deleted"'), D),
    (report('sha="a1b2c3d"', 'sha="a1b2c3d" Sha="0000000"'), D),
    (report('agent="goop-tester"', 'agent="goop-tester" Agent="goop-deployer"'), D),
    (report(_ROOT, '<goop_report version="0.1.6" Version="0.1.4">'), D),
    (report(_ROOT, '<goop_report version="0.1.6" status="BLOCKED">'), D),
    (report(_ROOT, '<goop_report version="0.1.6" Status="PARTIAL">'), D),
    (report(_ROOT, '<goop_report version="0.1.6" agent="goop-planner">'), D),
    (report(_ROOT, '<goop_report version="0.1.6" task_id="W9.T9">'), D),
    (report(_ROOT, '<goop_report version="0.1.6" phase="accept">'), D),
    (report(_ROOT, '<goop_report version="0.1.6" ready="false">'), D),
    (request('mode="blocking"'), D),
    (request('workflow="SPIKE"'), D),
    (files("a.py created", "a.py deleted"), CREATED_AND_DELETED),
    (files("a.py deleted", "./a.py created"), CREATED_AND_DELETED),
    (files("src/a.py deleted", "src//a.py modified"), CREATED_AND_DELETED),
    (files("src/x/../a.py created", "src/a.py deleted"), CREATED_AND_DELETED),
]

LOOK_ALIKES = [
    COMPLETE_REPLY,
    REQUEST_PROMPT,
    report(_CHECK, '<check name="tests" passed="true" Passed="true">'),
    report(_CHECK, '<check name="Tests" passed="true" note="Passed=false">'),
    report(_ROOT, '<goop_report version="0.1.6" status="COMPLETE">'),
    report(_ROOT, '<goop_report version="0.1.6" status=" complete ">'),
    report(_ROOT, '<goop_report version="0.1.6" agent="goop-executor" phase="execute">'),
    report(_ROOT, '<goop_report version="0.1.6" run="7" host="ci">'),
    report(_ROOT, '<goop_report version="0.1.6" task="2" files="1">'),
    report("Added the login endpoint.", "Set Passed=false in the config."),
    request('mode="spawn"'),
    request('team="a" Team_lead="b"'),
    files("a.py created", "b.py deleted"),
    files("a.py created", "a.py modified"),
    files("src/a.py deleted", "lib/a.py created"),
    files("a.py deleted", "a.py deleted"),
    files("a.py deleted", "A.py created"),
]


@requirement("G-08", "G-22")
@pytest.mark.parametrize(("text", "rule"), ENVELOPES)
def test_contradiction_in_xml_is_found_at_its_line(text: str, rule: str) -> None:
    verdict = validate(text)

    assert rule in {each.rule for each in verdict.findings}
    (finding,) = [each for each in verdict.findings if each.rule == rule]
    assert finding.line is not None
    assert verdict.accepted is (rule != D)


def rules_that_weigh(text: str) -> Iterator[str]:
    return (each.rule for each in validate(text).findings if each.severity is not Severity.INFO)


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_consistent_envelope_in_xml_gets_no_finding(text: str) -> None:
    assert set(rules_that_weigh(text)) <= {"json/loose-syntax"}

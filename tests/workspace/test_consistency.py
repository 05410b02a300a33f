"""State, documents and reports are compared, and gates use the authoritative one."""

import json
import random
from pathlib import Path

import pytest

from goop_mcp.store.records import StoredReport
from goop_mcp.validation.findings import Severity
from goop_mcp.workflow.gates import GateName, judge_gate
from goop_mcp.workspace.consistency import find_drift, gate_facts, project_facts
from goop_mcp.workspace.documents.handoff import SessionHandoff, handoff_text
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import READING_ORDER
from goop_mcp.workspace.project import Project, read_project
from goop_mcp.workspace.report_index import Records, ReportIndex
from tests.requirements import requirement
from tests.workspace.projects import CASES, NOW, copied

NOTHING = Records()


def report(
    task: str | None,
    *,
    status: str = "COMPLETE",
    agent: str = "goop-executor",
    checks: dict[str, bool] | None = None,
    evidence: str = "12 passed",
) -> StoredReport:
    verification = [
        {"name": name, "passed": passed, "evidence": evidence}
        for name, passed in (checks or {}).items()
    ]
    return StoredReport(
        id=1,
        protocol="goop_report",
        idempotency_key="k",
        envelope=json.dumps({"verification": verification, "handoff": {"blockers": "no database"}}),
        verdict="{}",
        decision="{}",
        created_at=NOW,
        revision=1,
        agent=agent,
        phase="execute",
        task_id=task,
        status=status,
    )


def records_of(newest_first: list[StoredReport]) -> Records:
    return ReportIndex().with_reports(newest_first[::-1], revision=0).records


def drift_of(files: ProjectFiles, records: Records = NOTHING) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for finding in find_drift(read_project(files), records):
        found.setdefault(finding.rule.removeprefix("workflow/"), []).append(finding.message)
    return found


def edited(files: ProjectFiles, name: str, old: str, new: str) -> None:
    path = files.root / ".goopspec" / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def files(tmp_path: Path) -> ProjectFiles:
    return copied("profile_0x", tmp_path)


@requirement("P-16")
def test_each_document_of_the_folder_is_found_and_a_missing_optional_one_is_no_failure(
    files: ProjectFiles,
) -> None:
    for name in ("PROJECT_KNOWLEDGE_BASE.md", "RESEARCH.md", "HANDOFF.md"):
        (files.root / ".goopspec" / name).write_text("# x\n")

    whole = read_project(files)
    (files.root / ".goopspec" / "RESEARCH.md").unlink()
    (files.root / ".goopspec" / "HANDOFF.md").unlink()
    without = read_project(files)

    assert {
        "state.json",
        "PROJECT_KNOWLEDGE_BASE.md",
        "SPEC.md",
        "BLUEPRINT.md",
        "CHRONICLE.md",
    } <= set(whole.paths)
    assert {"RESEARCH.md", "HANDOFF.md"} <= set(whole.paths)
    assert (without.missing, without.handoff, without.unreadable) == ((), None, ())
    assert not any(
        finding.rule == "workflow/context-file-missing" for finding in find_drift(without, NOTHING)
    )


@requirement("P-03")
def test_the_reading_order_contains_the_conventions_and_drift_in_coverage_is_reported(
    files: ProjectFiles,
) -> None:
    edited(files, "SPEC.md", "## Nice-to-Haves", "### MH4: Search\n\n## Nice-to-Haves")

    assert READING_ORDER[1] == "PROJECT_KNOWLEDGE_BASE.md"
    assert drift_of(files)["drift-coverage"] == [
        "no task of BLUEPRINT.md serves MH4; expected a task for each must-have",
        "BLUEPRINT.md has tasks without a must-have: W2.T2; expected one for each task",
    ]


def test_a_missing_file_is_a_warning_and_missing_conventions_are_none(files: ProjectFiles) -> None:
    (files.root / ".goopspec" / "SPEC.md").unlink()

    findings = find_drift(read_project(files), NOTHING)

    missing = {f.path: f.severity for f in findings if f.rule == "workflow/context-file-missing"}
    assert missing == {"SPEC.md": Severity.WARNING}


def test_a_project_whose_sides_agree_has_no_drift(files: ProjectFiles) -> None:
    edited(
        files, "BLUEPRINT.md", "Files: src/http/errors.ts", "Covers: MH2\nFiles: src/http/errors.ts"
    )

    assert list(drift_of(files, records_of([report("W1.T1"), report("Task 1.2")]))) == []


def test_a_phase_that_the_diary_has_not_noticed_is_drift(files: ProjectFiles) -> None:
    edited(files, "state.json", '"phase": "execute",\n    "mode"', '"phase": "accept",\n    "mode"')

    assert drift_of(files, records_of([report("W1.T1")]))["drift-phase"] == [
        "state.json says phase accept, CHRONICLE.md execute and the last report execute; state.json"
        " counts"
    ]


def test_a_lock_that_the_header_denies_is_drift_at_its_line(files: ProjectFiles) -> None:
    edited(files, "SPEC.md", "**Locked:** 🔒 Yes", "**Locked:** No")

    (finding,) = [
        f for f in find_drift(read_project(files), NOTHING) if f.rule == "workflow/drift-spec-lock"
    ]
    assert (finding.path, finding.line) == ("SPEC.md", 7)


def test_a_wave_that_the_plan_lacks_is_drift(files: ProjectFiles) -> None:
    edited(files, "state.json", '"totalWaves": 3', '"totalWaves": 4')

    assert drift_of(files)["drift-waves"] == [
        "state.json counts 4 waves, BLUEPRINT.md has 3; BLUEPRINT.md counts"
    ]


def test_tasks_done_here_and_open_there_and_tasks_of_no_plan_are_drift(files: ProjectFiles) -> None:
    found = drift_of(files, records_of([report("W2.T1"), report("W9.T1")]))

    assert found["drift-task-status"] == [
        "task W2.T1 is done in the reports and open in CHRONICLE.md; the reports count"
    ]
    assert found["drift-unknown-task"] == [
        "task W9.T1 is recorded; expected one that BLUEPRINT.md has"
    ]


@pytest.mark.parametrize(
    ("generated", "stale"),
    [
        (NOW, False),
        ("2026-01-20T07:59:59.999Z", True),
        ("2026-01-20T10:00:00+02:00", False),
        ("2026-01-20", False),
    ],
)
def test_a_handoff_older_than_the_last_report_is_stale(
    files: ProjectFiles, generated: str, stale: bool
) -> None:
    text = handoff_text(SessionHandoff(generated=generated, phase="execute"))
    (files.root / ".goopspec" / "HANDOFF.md").write_text(text, encoding="utf-8")

    assert ("drift-handoff-stale" in drift_of(files, records_of([report("W1.T1")]))) is stale


def test_a_broken_state_is_an_error_at_its_place_and_stops_no_other_document() -> None:
    finding, *_ = find_drift(read_project(ProjectFiles(CASES / "corrupt")), NOTHING)

    assert (finding.rule, finding.severity) == ("workflow/state-corrupt", Severity.ERROR)
    assert (finding.line, finding.column) == (6, 1)


@pytest.mark.parametrize("case", ["version_2_map", "version_2_workflows", "before_version_1"])
def test_a_state_that_is_only_read_is_an_info(case: str) -> None:
    found = [
        f
        for f in find_drift(read_project(ProjectFiles(CASES / case)), NOTHING)
        if f.path == "state.json"
    ]

    assert [(f.rule, f.severity) for f in found] == [("workflow/state-read-only", Severity.INFO)]


def test_an_unreadable_document_is_reported_and_stops_no_other() -> None:
    project = read_project(ProjectFiles(CASES / "not_utf8"))

    assert project.unreadable == (
        ".goopspec/CHRONICLE.md is not UTF-8 text: byte 0xfc in line 1; save it as UTF-8",
    )
    assert project.chronicle is None


def test_where_there_is_no_folder_there_is_no_drift(tmp_path: Path) -> None:
    assert find_drift(read_project(ProjectFiles(tmp_path)), NOTHING) == ()
    assert list(tmp_path.iterdir()) == []


# reports


def test_only_the_last_report_of_a_task_counts() -> None:
    newest_first = [report("2.1", status="PARTIAL"), report("W2.T1"), report("W1.T1")]

    records = records_of(newest_first)

    assert (records.done, records.open) == (("W1.T1",), ("W2.T1",))


def test_reports_that_are_added_one_by_one_say_what_all_of_them_say_together() -> None:
    ids = ("W1.T1", "1.1", "W1.T2", "Wave 1 Task 2", None)
    statuses = ("COMPLETE", "PARTIAL", "BLOCKED")
    chosen = random.Random(3)
    oldest_first = [
        report(
            chosen.choice(ids),
            status=chosen.choice(statuses),
            agent=chosen.choice(("goop-executor", "goop-verifier")),
            checks={"MH1": chosen.random() < 0.7},
        )
        for _ in range(200)
    ]
    report_index = ReportIndex()
    for number, each in enumerate(oldest_first, 1):
        report_index = report_index.with_reports([each], revision=number)
        assert report_index.records == records_of(oldest_first[:number][::-1])


def test_many_tasks_that_no_plan_has_are_named_in_part(files: ProjectFiles) -> None:
    found = drift_of(files, records_of([report(f"W9.T{number}") for number in range(1, 200)]))[
        "drift-unknown-task"
    ]

    assert len(found) == 21
    assert found[-1] == "reports name 179 more tasks that BLUEPRINT.md does not have"


def test_a_failed_check_keeps_a_task_open() -> None:
    records = records_of([report("W1.T1", checks={"tests": False, "lint": True})])

    assert (records.done, records.open, records.failed) == ((), ("W1.T1",), ("W1.T1",))


@pytest.mark.parametrize("text", ["0 tests collected", "left to goop-tester", ""])
def test_a_passed_check_that_shows_nothing_keeps_a_task_open(text: str) -> None:
    records = records_of([report("W1.T1", checks={"tests": True}, evidence=text)])

    assert (records.done, records.open, records.failed) == ((), ("W1.T1",), ())


def test_a_must_have_whose_check_shows_nothing_is_not_verified() -> None:
    records = records_of(
        [report(None, agent="goop-verifier", checks={"MH1": True}, evidence="not run")]
    )

    assert (records.verified, records.passed_must_haves) == (False, {})


def test_a_blocker_is_active_until_the_task_is_reported_again() -> None:
    blocked = report("W1.T1", status="BLOCKED")

    assert records_of([blocked]).blockers == ("no database",)
    assert records_of([report("W1.T1"), blocked]).blockers == ()


# gates


def passed(project: Project, records: Records) -> list[str]:
    facts = gate_facts(project, records)
    return [name for name in GateName if judge_gate(name, facts).passed]


def test_the_gates_open_one_after_the_other(files: ProjectFiles) -> None:
    done = [report(f"W{wave}.T{task}") for wave in (1, 2, 3) for task in (1, 2)]
    verified = report(None, agent="goop-verifier", checks={"MH1": True, "MH2": True, "MH3": True})

    assert passed(read_project(files), NOTHING) == ["Discovery", "Spec"]
    assert passed(read_project(files), records_of(done)) == ["Discovery", "Spec", "Execution"]
    edited(files, "state.json", '"acceptanceConfirmed": false', '"acceptanceConfirmed": true')
    assert passed(read_project(files), records_of([verified, *done])) == [
        "Discovery",
        "Spec",
        "Execution",
        "Acceptance",
    ]


def test_the_execution_gate_counts_what_is_left_in_the_first_open_wave(files: ProjectFiles) -> None:
    facts = gate_facts(
        read_project(files), records_of([report("W1.T1"), report("W1.T2"), report("W2.T1")])
    )

    assert (facts.open_wave, facts.open_tasks, facts.open_tasks_in_all, facts.total_tasks) == (
        2,
        1,
        3,
        6,
    )
    assert (
        judge_gate(GateName.EXECUTION, facts).sentence
        == "Execution incomplete. 1 task remaining in Wave 2."
    )


def test_the_diary_counts_for_no_gate(files: ProjectFiles) -> None:
    edited(files, "CHRONICLE.md", "⏳ Pending", "✅ Done")

    assert gate_facts(read_project(files), NOTHING).open_tasks_in_all == 6


def test_an_untraced_must_have_closes_the_spec_gate(files: ProjectFiles) -> None:
    edited(files, "SPEC.md", "## Nice-to-Haves", "### MH4: Search\n\n## Nice-to-Haves")

    facts = gate_facts(read_project(files), NOTHING)
    assert (facts.must_haves, facts.traced_must_haves) == (4, 3)
    assert not judge_gate(GateName.SPEC, facts).passed


def test_the_facts_name_tasks_as_we_write_them(files: ProjectFiles) -> None:
    facts = project_facts(read_project(files), NOTHING)

    assert facts.planned == ("W1.T1", "W1.T2", "W2.T1", "W2.T2", "W3.T1", "W3.T2")
    assert (facts.done_in_chronicle, facts.open_in_chronicle) == (
        ("W1.T1", "W1.T2"),
        ("W2.T1", "W2.T2"),
    )
    assert (facts.done_in_state, facts.waves_in_blueprint) == (("W1.T1",), 3)

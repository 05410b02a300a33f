"""After each report CHRONICLE.md says where the work stands, and nothing contradicts it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.project_status import project_status
from goop_mcp.store.opening import open_store
from goop_mcp.validation.findings import Severity
from goop_mcp.workspace.documents.chronicle import Chronicle, read_chronicle
from goop_mcp.workspace.documents.state_block import find_state_block
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.project import read_project
from goop_mcp.workspace.scaffold import create_project
from goop_mcp.workspace.virtual_documents import render_document
from tests.postgres import Database
from tests.requirements import requirement
from tests.services.redaction_samples import PASSWORD
from tests.services.reporting import NOW, record, report, working_in

SPEC = """\
# SPEC: demo

**Locked:** Yes

## Must-Haves

### MH1: It runs
"""
PLAN = """\
# BLUEPRINT: demo

## Spec Mapping

| Must-Have | Tasks |
|---|---|
| MH1 | W1.T1, W1.T2, W2.T1 |

## Wave 1: One

### Task 1.1: First
### Task 1.2: Second

## Wave 2: Two

### Task 2.1: Third
"""


def in_execution(folder: Path) -> None:
    """Put a project in the phase execute into `folder`."""
    create_project(ProjectFiles(folder), name="demo", now=NOW)
    (folder / ".goopspec/SPEC.md").write_text(SPEC, encoding="utf-8")
    (folder / ".goopspec/BLUEPRINT.md").write_text(PLAN, encoding="utf-8")
    path = folder / ".goopspec/state.json"
    state = json.loads(path.read_text(encoding="utf-8"))
    state["workflow"] |= {"phase": "execute", "status": "execute", "specLocked": True}
    state["workflow"] |= {"interviewComplete": True}
    path.write_text(json.dumps(state), encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ProjectContext]:
    in_execution(tmp_path)
    with working_in(tmp_path) as project_context:
        yield project_context


def chronicle(project: ProjectContext) -> Chronicle:
    text = project.files.read_text(".goopspec/CHRONICLE.md")
    assert text is not None
    assert find_state_block(text) is not None
    return read_chronicle(text)


def test_no_report_of_a_project_whose_agents_behave_finds_a_contradiction(
    project: ProjectContext,
) -> None:
    steps = [
        (report("W1.T1", wave="1"), (1, 3), ["W1.T2", "W2.T1"]),
        (report("W1.T2", "PARTIAL", wave="1"), (1, 3), ["W1.T2", "W2.T1"]),
        (report("W1.T2", passed="false", wave="1"), (1, 3), ["W1.T2", "W2.T1"]),
        (report("W1.T2", "BLOCKED", wave="1"), (1, 3), ["W1.T2", "W2.T1"]),
        (report("W1.T2", wave="1", summary="Again."), (2, 3), ["W2.T1"]),
    ]
    for text, counts, still_open in steps:
        recorded = record(project, text)
        shown, status = chronicle(project), project_status(project)

        assert recorded.status == "recorded"
        assert [each for each in recorded.findings if each.severity is not Severity.INFO] == []
        assert [each for each in status.drift if each.severity is not Severity.INFO] == []
        assert (shown.phase, shown.task_count) == ("execute", counts)
        assert [task.id for task in shown.tasks] == still_open
        assert shown.waves == (status.current_wave, 2)
        assert (shown.next_command, shown.blockers) == (status.next_command, status.blockers)


@requirement("G-47", "G-49")
def test_documents_show_what_the_router_saw(project: ProjectContext) -> None:
    blocker = "RULE 4 DEVIATION: Which? Options: A) SQL, B) files"
    record(project, report("W1.T1", passed="false", wave="1"))
    record(project, report("W1.T2", "BLOCKED", wave="1", blockers=blocker))
    text = project.files.read_text(".goopspec/CHRONICLE.md") or ""

    assert "- **Action:** W1.T1: COMPLETE, but 1 check failed\n" in text
    assert "- **Failed Checks:** tests (ran)\n" in text
    assert f"- **Blockers:** {blocker}\n" in text
    assert "- **Claimed Only:** check tests passed\n" in text


def test_a_blocker_is_in_the_block_until_its_task_is_finished(project: ProjectContext) -> None:
    record(project, report("W1.T1", "BLOCKED", blockers="RULE 4 DEVIATION: A) SQL, B) files"))
    assert chronicle(project).blockers == ("RULE 4 DEVIATION: A) SQL, B) files",)
    record(project, report("W1.T1"))
    assert chronicle(project).blockers == ()


def test_secrets_of_a_plan_or_a_blocker_are_not_in_the_block(project: ProjectContext) -> None:
    plan = PLAN.replace("Second", f"Use password={PASSWORD}")
    (project.files.root / ".goopspec/BLUEPRINT.md").write_text(plan, encoding="utf-8")
    record(project, report("W1.T1", wave="1"))
    assert PASSWORD not in (project.files.read_text(".goopspec/CHRONICLE.md") or "")


def test_without_a_plan_the_block_lists_what_was_reported(tmp_path: Path) -> None:
    with working_in(tmp_path) as project_context:
        record(project_context, report("W1.T1"))
        record(project_context, report("W1.T2", "PARTIAL"))
        shown = chronicle(project_context)

    assert (shown.phase, shown.task_count) == (None, (1, 2))
    assert [(task.id, task.status) for task in shown.tasks] == [("W1.T2", "pending")]


def test_a_machine_without_the_folder_keeps_the_block_of_a_shared_database_true(
    tmp_path: Path, database: Database
) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    in_execution(here)
    store = open_store(database.url(), project=here, project_id="shop")
    with_folder = ProjectContext(store=store, files=ProjectFiles(here), writes_files=False)
    without = ProjectContext(store=store, files=ProjectFiles(elsewhere), writes_files=False)

    first = record(with_folder, report("W1.T1", wave="1"))
    record(without, report("W1.T2", wave="1"))
    shown = store.read(lambda reading: render_document(reading, without.files, "CHRONICLE.md"))
    again = record(with_folder, report("W2.T1", "PARTIAL"))
    status = project_status(with_folder)
    store.close()

    assert shown is not None
    assert read_chronicle(shown).task_count == (2, 2)
    for findings in (first.findings, again.findings, status.drift):
        assert not [each for each in findings if "drift-task" in each.rule]
        assert not [each for each in findings if "drift-phase" in each.rule]


def test_a_named_session_with_a_folder_has_its_entries_in_documents_of_its_own(
    project: ProjectContext,
) -> None:
    sessions = project.files.root / ".goopspec/sessions"
    (sessions / "ann-1").mkdir(parents=True)
    record(project, report("W1.T1", wave="1", summary="Of Ann."), session_id="ann-1")
    record(project, report("W1.T2", wave="1", summary="Of nobody."))
    record(project, report("W2.T1", "PARTIAL", summary="Of Bob."), session_id="bob-1")
    record(
        project,
        report("W2.T1", "CHECKPOINT", summary="Ann stops.", new_session="true"),
        session_id="ann-1",
    )

    whole = project.files.read_text(".goopspec/CHRONICLE.md") or ""
    own = read_project(project.files, session="ann-1")
    text = project.files.read_text(".goopspec/sessions/ann-1/CHRONICLE.md") or ""
    assert [entry for entry in ("Of Ann.", "Of nobody.", "Of Bob.") if entry in whole] == [
        "Of Ann.",
        "Of nobody.",
        "Of Bob.",
    ]
    assert [entry for entry in ("Of Ann.", "Of nobody.", "Of Bob.") if entry in text] == ["Of Ann."]
    assert own.chronicle is not None
    assert own.handoff is not None
    assert "Ann stops." in own.handoff.context
    assert [path.name for path in sessions.iterdir()] == ["ann-1"]


@pytest.mark.parametrize("session", ["../elsewhere", "x", "A-b", "20260101-000000-no-folder"])
def test_a_session_without_a_folder_of_that_name_gets_no_documents(
    project: ProjectContext, session: str
) -> None:
    recorded = record(project, report("W1.T1", wave="1"), session_id=session)
    assert recorded.status == "recorded"
    assert not (project.files.root / ".goopspec/sessions").exists()

"""A document is read from the folder of the workflow, the root, or the folder of the phase."""

import json
from pathlib import Path

import pytest

from goop_mcp.services.project_documents import present_documents, read_project_document
from goop_mcp.workspace.document_lookup import find_current_document
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import DOCUMENTS, STATE, document_places
from goop_mcp.workspace.project import Project, read_project
from tests.workspace.projects import CASES, copied

PHASES = "folders_of_phases"
WORKFLOWS = "folders_of_workflows"


def with_workflow(folder: Path, workflow: str) -> ProjectFiles:
    files = copied(WORKFLOWS, folder)
    state = {"version": 2, "activeWorkflowId": workflow, "workflows": {workflow: {"phase": "plan"}}}
    (folder / ".goopspec" / "state.json").write_text(json.dumps(state), encoding="utf-8")
    return files


def names(project: Project) -> list[str | None]:
    return [each.name if each is not None else None for each in (project.spec, project.blueprint)]


def test_the_root_wins_over_the_folder_of_the_phase() -> None:
    project = read_project(ProjectFiles(CASES / PHASES))

    assert names(project) == ["Of the root", "Of the phase"]
    assert dict(project.paths) == {
        "SPEC.md": ".goopspec/SPEC.md",
        "BLUEPRINT.md": ".goopspec/phases/execute/BLUEPRINT.md",
        "state.json": ".goopspec/state.json",
    }
    assert project.missing == ("PROJECT_KNOWLEDGE_BASE.md", "CHRONICLE.md")
    assert project.unreadable == ()


def test_the_folder_of_the_active_workflow_wins_over_the_root() -> None:
    project = read_project(ProjectFiles(CASES / WORKFLOWS))

    assert names(project) == ["Of the workflow", "Of the workflow"]
    assert dict(project.paths) == {
        "SPEC.md": ".goopspec/checkout/SPEC.md",
        "BLUEPRINT.md": ".goopspec/checkout/BLUEPRINT.md",
        "REQUIREMENTS.md": ".goopspec/REQUIREMENTS.md",
        "HANDOFF.md": ".goopspec/HANDOFF.md",
        "state.json": ".goopspec/state.json",
    }
    assert project.state is not None
    assert project.state.phase == "execute"


def test_the_handoff_of_a_workflow_is_read_where_the_root_has_none(tmp_path: Path) -> None:
    files = copied(WORKFLOWS, tmp_path)
    (tmp_path / ".goopspec" / "HANDOFF.md").unlink()

    assert read_project_document(files, "HANDOFF.md") == "# HANDOFF\n\nOf the workflow.\n"


def test_the_default_workflow_is_the_root(tmp_path: Path) -> None:
    files = with_workflow(tmp_path, "default")
    (tmp_path / ".goopspec" / "checkout").rename(tmp_path / ".goopspec" / "default")

    assert names(read_project(files)) == ["Of the root", None]


@pytest.mark.parametrize("case", [PHASES, WORKFLOWS, "profile_0x", "checkpoints", "not_utf8"])
def test_the_document_that_is_shown_is_the_one_that_decisions_are_made_by(case: str) -> None:
    files = ProjectFiles(CASES / case)
    paths = read_project(files).paths

    assert present_documents(files, DOCUMENTS) == tuple(paths)
    assert {name: find_current_document(files, name) for name in paths} == paths


@pytest.mark.parametrize(
    "workflow", ["../checkout", "..", "/etc", "a/b", "a\\b", "con", "NUL.txt", "x" * 101, " "]
)
def test_a_workflow_without_a_valid_folder_is_reported_and_the_root_is_read(
    tmp_path: Path, workflow: str
) -> None:
    project = read_project(with_workflow(tmp_path, workflow))

    assert names(project) == ["Of the root", None]
    (sentence,) = project.unreadable
    assert sentence.startswith("the active workflow ")
    assert sentence.endswith("expected letters, digits, '.', '-' and '_'")


@pytest.mark.parametrize("workflow", ["phases", "Checkpoints", "sessions", "archive"])
def test_a_folder_with_another_meaning_is_no_workflow(workflow: str) -> None:
    assert document_places("SPEC.md", workflow=workflow) == (".goopspec/SPEC.md",)


@pytest.mark.parametrize("phase", ["..", "a/b", "", "aux"])
def test_a_phase_that_names_no_folder_adds_no_place(phase: str) -> None:
    assert document_places("SPEC.md", phase=phase) == (".goopspec/SPEC.md",)


def test_the_state_lies_in_the_root_alone() -> None:
    assert document_places(STATE, workflow="checkout", phase="plan") == (".goopspec/state.json",)


def test_a_folder_of_a_workflow_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SPEC.md").write_text("# SPEC: Of somebody else\n", encoding="utf-8")
    files = with_workflow(tmp_path / "project", "elsewhere")
    (tmp_path / "project" / ".goopspec" / "elsewhere").symlink_to(outside)

    project = read_project(files)

    assert project.spec is None
    assert (
        "path '.goopspec/elsewhere/SPEC.md' leads out of the project through a link; remove the"
        " link" in project.unreadable
    )

"""A new project gets its documents and its state, and nothing that is there is touched."""

import subprocess
from pathlib import Path

from goop_mcp.services.stop_hooks.policy import StopPolicy, read_policy
from goop_mcp.workflow.gates import GateName, judge_gate
from goop_mcp.workspace.consistency import find_drift, gate_facts
from goop_mcp.workspace.documents.markdown import read_markdown
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.project import read_project
from goop_mcp.workspace.report_index import Records
from goop_mcp.workspace.scaffold import create_project
from goop_mcp.workspace.state import ProjectState, StateShape, read_state
from tests.workspace.projects import NOW

CREATED = [
    f".goopspec/{name}.md" for name in ("REQUIREMENTS", "SPEC", "BLUEPRINT", "CHRONICLE", "ADL")
]


def contents(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def test_a_new_project_can_be_read_and_has_no_open_gate(tmp_path: Path) -> None:
    files = ProjectFiles(tmp_path)

    done = create_project(files, name="Todo\n# API", now=NOW)

    project = read_project(files)
    state = read_state(files)
    others = (".gitignore", "hooks.json", "state.json")
    assert done.created == (*CREATED, *(f".goopspec/{name}" for name in others))
    assert read_policy(str(tmp_path)) == (StopPolicy(record=True), ())
    assert isinstance(state, ProjectState)
    assert (state.shape, state.phase, state.project) == (StateShape.VERSION_1, "idle", "Todo # API")
    assert (project.spec and project.spec.name, project.spec and project.spec.locked) == (
        "Todo # API",
        False,
    )
    assert project.chronicle is not None
    assert (project.chronicle.phase, project.chronicle.blockers, project.chronicle.activities) == (
        "idle",
        (),
        (),
    )
    assert project.chronicle.next_command == "/goop-discuss"
    assert not any(judge_gate(name, gate_facts(project, Records())).passed for name in GateName)
    assert find_drift(project, Records()) == ()


def test_headings_of_the_documents_are_those_that_readers_look_for(tmp_path: Path) -> None:
    files = ProjectFiles(tmp_path)
    create_project(files, name="x", now=NOW)

    titles = {
        section.title
        for section in read_markdown(files.read_text(".goopspec/SPEC.md") or "").walk()
    }

    assert {
        "Vision",
        "Must-Haves",
        "Out of Scope",
        "Traceability Matrix",
        "Amendment History",
    } <= titles


def test_calling_again_changes_nothing(tmp_path: Path) -> None:
    files = ProjectFiles(tmp_path)
    create_project(files, name="x", now=NOW)
    before = contents(tmp_path)

    done = create_project(files, name="y", now="2027-01-01T00:00:00Z")

    assert (done.created, len(done.kept)) == ((), 8)
    assert contents(tmp_path) == before


def test_what_people_have_is_kept(tmp_path: Path) -> None:
    (tmp_path / ".goopspec").mkdir()
    (tmp_path / ".goopspec" / "state.json").write_text("{ broken")
    (tmp_path / ".goopspec" / "SPEC.md").symlink_to("../SPEC-elsewhere.md")

    done = create_project(ProjectFiles(tmp_path), name="x", now=NOW)

    assert set(done.kept) == {".goopspec/state.json", ".goopspec/SPEC.md"}
    assert (tmp_path / ".goopspec" / "state.json").read_text() == "{ broken"
    assert not (tmp_path / "SPEC-elsewhere.md").exists()


def test_git_sees_the_documents_and_neither_the_database_nor_locks(tmp_path: Path) -> None:
    create_project(ProjectFiles(tmp_path), name="x", now=NOW)
    folder = tmp_path / ".goopspec"
    ours = (
        "goop.db",
        "goop.db-wal",
        "goop.db-shm",
        "goop.db.version-5",
        ".lock",
        ".CHRONICLE.md.1.ab.goop-tmp",
    )
    for name in ours:
        (folder / name).touch()

    # Found by PATH
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)  # noqa: S607

    listed = ["git", "-C", str(tmp_path), "ls-files", "--others", "--exclude-standard"]
    seen = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()

    others = (".gitignore", "hooks.json", "state.json")
    assert sorted(seen) == sorted([*CREATED, *(f".goopspec/{name}" for name in others)])


def test_a_gitignore_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / ".goopspec").mkdir()
    (tmp_path / ".goopspec" / ".gitignore").write_text("mine\n")
    done = create_project(ProjectFiles(tmp_path), name="x", now=NOW)
    assert ".goopspec/.gitignore" in done.kept
    assert (tmp_path / ".goopspec" / ".gitignore").read_text() == "mine\n"


def test_a_project_that_was_there_keeps_what_its_hooks_do(tmp_path: Path) -> None:
    create_project(ProjectFiles(tmp_path), name="demo", now=NOW)
    (tmp_path / ".goopspec" / "hooks.json").unlink()
    create_project(ProjectFiles(tmp_path), name="demo", now=NOW)
    assert not (tmp_path / ".goopspec" / "hooks.json").exists()

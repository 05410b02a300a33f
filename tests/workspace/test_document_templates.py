"""The forms of a project's documents are shipped, and our own readers understand them."""

import json
import re
from pathlib import Path

import pytest

from goop_mcp.assets import split_front_matter
from goop_mcp.errors import AssetBrokenError, UnknownNameError
from goop_mcp.services.protocol_pages import read_document
from goop_mcp.workspace.consistency import find_drift, gate_facts
from goop_mcp.workspace.document_templates import (
    document_template,
    document_template_names,
    read_document_template,
)
from goop_mcp.workspace.documents.blueprint import read_blueprint
from goop_mcp.workspace.documents.handoff import (
    HandoffCommit,
    SessionHandoff,
    handoff_text,
    read_handoff,
)
from goop_mcp.workspace.documents.requirements import InterviewFacts, read_requirements
from goop_mcp.workspace.documents.spec import read_spec
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.project import read_project
from goop_mcp.workspace.report_index import Records
from goop_mcp.workspace.scaffold import create_project
from tests.repository import ROOT
from tests.requirements import requirement
from tests.workspace.projects import NOW

NAMES = ("adl", "blueprint", "chronicle", "handoff", "project", "requirements", "spec", "state")
HEADING = re.compile(r"^#+ .+$", re.MULTILINE)


@requirement("P-15")
def test_there_is_a_template_for_every_document_of_the_layout() -> None:
    assert document_template_names() == NAMES


@requirement("P-15")
@pytest.mark.parametrize("name", NAMES)
def test_a_template_has_every_slot_and_none_is_left_when_it_is_filled_in(name: str) -> None:
    front, text = split_front_matter(read_document_template(name), file=name)
    template = document_template(name)

    assert front["name"] == name
    assert {slot["name"] for slot in front.get("slots", ())} == set(
        re.findall(r"\{\{(\w+)\}\}", text)
    )
    assert "{{" not in template.filled(project="Todo", date=NOW)


def test_a_project_called_like_a_slot_keeps_its_name() -> None:
    assert "# SPEC: {{date}}\n" in document_template("spec").filled(project="{{date}}", date=NOW)


@pytest.mark.parametrize("name", ["adl", "blueprint", "requirements", "spec"])
def test_a_new_project_gets_its_documents_from_the_templates(name: str, tmp_path: Path) -> None:
    create_project(files := ProjectFiles(tmp_path), name="Todo", now=NOW)

    assert files.read_text(f".goopspec/{name.upper()}.md") == document_template(name).filled(
        project="Todo", date=NOW
    )


def test_the_template_of_the_state_is_what_a_new_project_gets(tmp_path: Path) -> None:
    create_project(files := ProjectFiles(tmp_path), name="Todo", now=NOW)
    (shown,) = re.findall(
        r"```json\n(.*?)```", document_template("state").filled(project="Todo", date=NOW), re.DOTALL
    )

    assert json.loads(shown) == json.loads(files.read_text(".goopspec/state.json") or "")


def test_the_template_of_a_handoff_has_the_headings_of_a_real_one() -> None:
    text = document_template("handoff").filled(project="Todo", date=NOW)
    read = read_handoff(text)

    whole = SessionHandoff(
        generated=NOW,
        phase="execute",
        outcomes=("The login works.",),
        files_modified=("src/login.py",),
        commits=(HandoffCommit("a1b2c3d", "Add the login"),),
        gotchas=("Sessions end at midnight.",),
        memories=("Where sessions live",),
    )
    assert HEADING.findall(text) == HEADING.findall(handoff_text(whole))
    assert read is not None
    assert (read.generated, read.blockers) == (NOW, ())


def test_a_template_that_does_not_exist_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'blueprint'"):
        document_template("blueprnt")


@pytest.mark.parametrize("text", ["# no front matter\n", "+++\nname = \n+++\n# x\n", "+++\n+++\n"])
def test_malformed_front_matter_is_reported_with_the_file_name(text: str) -> None:
    with pytest.raises(AssetBrokenError, match=r"^spec\.md cannot be used: "):
        split_front_matter(text, file="spec.md")


def test_every_file_of_the_folder_is_a_template() -> None:
    assert sorted(
        path.stem for path in (ROOT / "prompts" / "templates" / "documents").iterdir()
    ) == list(NAMES)


COMMENT = re.compile(r"<!--\n(.*?)-->", re.DOTALL)


def test_the_examples_in_the_templates_are_read_once_they_are_no_comments() -> None:
    texts = {
        name: document_template(name).filled(project="Todo", date=NOW)
        for name in ("spec", "blueprint")
    }
    assert read_spec(texts["spec"]).must_haves == ()
    assert read_blueprint(texts["blueprint"]).tasks == ()

    spec = read_spec(COMMENT.sub(r"\1", texts["spec"]))
    plan = read_blueprint(COMMENT.sub(r"\1", texts["blueprint"]))
    assert [each.id for each in spec.must_haves] == ["MH1", "MH2"]
    assert [str(task.id) for task in plan.tasks] == ["W1.T1", "W1.T2", "W2.T1"]
    assert [file.path for file in plan.tasks[0].files] == ["src/storage/schema.sql"]


def test_nothing_of_an_example_counts_for_the_interview() -> None:
    text = document_template("requirements").filled(project="Todo", date=NOW)
    read = read_requirements(text)

    assert "<!--" in text
    assert read == InterviewFacts(name="Todo", interview_complete=False)


def test_a_plan_that_is_still_the_template_counts_as_not_written(tmp_path: Path) -> None:
    create_project(files := ProjectFiles(tmp_path), name="Todo", now=NOW)
    path = tmp_path / ".goopspec/BLUEPRINT.md"
    text = path.read_text(encoding="utf-8")

    for untouched in (
        text,
        text.replace("\n", "\r\n"),
        COMMENT.sub("", text),
        "",
        "# BLUEPRINT: x\n",
    ):
        path.write_bytes(untouched.encode())
        project = read_project(files)
        assert project.blueprint is None
        assert "workflow/plan-not-read" not in {
            each.rule for each in find_drift(project, Records())
        }


@pytest.mark.parametrize("added", ["First we parse, then we print.\n", "## Wave 1: Parse\n"])
def test_a_plan_without_a_task_is_an_error_that_shows_the_form(tmp_path: Path, added: str) -> None:
    create_project(files := ProjectFiles(tmp_path), name="Todo", now=NOW)
    path = tmp_path / ".goopspec/BLUEPRINT.md"
    path.write_text(path.read_text(encoding="utf-8") + added, encoding="utf-8")
    project = read_project(files)
    (error,) = (each for each in find_drift(project, Records()) if each.severity == "error")

    assert error.rule == "workflow/plan-not-read"
    assert "'- [ ] W1.T1: Name'" in error.message
    assert "goop://docs/blueprint" in error.fix
    assert not gate_facts(project, Records()).blueprint_exists


@pytest.mark.parametrize(("page", "number"), [("blueprint", 3), ("spec", 1)])
def test_the_pages_about_the_documents_show_what_is_read(page: str, number: int) -> None:
    examples = re.findall(r"```markdown\n(.*?)```", read_document(page), re.DOTALL)
    assert len(examples) == number
    for example in examples:
        if page == "spec":
            assert [each.id for each in read_spec(example).must_haves] == ["MH1", "MH2"]
        else:
            plan = read_blueprint(example)
            assert [wave.number for wave in plan.waves] == [1, 2]
            assert [file.path for file in plan.tasks[0].files] == ["src/storage/schema.sql"]
            assert [str(id) for id in plan.serving("MH2")] == ["W2.T1"]

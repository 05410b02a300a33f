"""The forms of a project's documents are shipped, and our own readers understand them."""

import json
import re
from pathlib import Path

import pytest

from goop_mcp.assets import split_front_matter
from goop_mcp.errors import AssetBrokenError, UnknownNameError
from goop_mcp.workspace.document_templates import (
    document_template,
    document_template_names,
    read_document_template,
)
from goop_mcp.workspace.documents.handoff import Handoff, handoff_text, read_handoff
from goop_mcp.workspace.files import ProjectFiles
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

    assert HEADING.findall(text) == HEADING.findall(
        handoff_text(Handoff(generated=NOW, phase="execute"))
    )
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

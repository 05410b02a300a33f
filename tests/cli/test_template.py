"""`goop-mcp template`: the library, templates of a project, and filling them in."""

import json
from pathlib import Path

import pytest

from goop_mcp.services.fill_template import fill_template
from goop_mcp.services.templates import MOST_OWN, OWN_FOLDER, TemplateError, list_templates
from tests.cli.running import Ended, run
from tests.requirements import requirement

OWN = """\
+++
name = "release-notes"
title = "Write release notes"
description = "A writer describes what changed."

[[slots]]
name = "version"
description = "The version, such as 1.2.0."
+++
# Task: Release notes of {{version}}

````xml
<agent_request version="1.0" target_agent="writer-agent" priority="low" timeout="30m">
  <mode>spawn</mode>
  <original_intent>People know what changed in {{version}}</original_intent>
  <current_task_summary>Write the notes of {{version}}</current_task_summary>
  <workflow>standard</workflow>
  <task_details>Read the commits since the last tag.</task_details>
  <deliverables>
    <file path="docs/notes-{{version}}.md" required="true">The notes</file>
  </deliverables>
</agent_request>
````

Ask Maria about {{version}}.
"""


def own(project: Path, text: str = OWN, *, name: str = "release-notes") -> Path:
    file = project / OWN_FOLDER / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def template(project: Path, *arguments: str, stdin: bytes = b"") -> Ended:
    return run("template", *arguments, cwd=project, stdin=stdin)


@requirement("H-65")
def test_a_planner_lists_shows_and_fills_in_a_template(tmp_path: Path) -> None:
    listed = template(tmp_path, "list")
    assert listed.code == 0
    for each in list_templates():
        assert each.name in listed.out
        assert all(f"--slot {slot.name}=…" in listed.out for slot in each.slots)

    shown = template(tmp_path, "show", "validation-task")
    assert (shown.code, "{{checks}}" in shown.out, "[[slots]]" in shown.out) == (0, True, True)

    slots = {"goal": "Know it works", "service": "grafana & co", "checks": "- /health"}
    pairs = [part for name, value in slots.items() for part in ("--slot", f"{name}={value}")]
    missing = template(tmp_path, "fill", "validation-task", *pairs)
    assert (missing.code, missing.out) == (1, "")
    assert "slots that are not filled in: result_file" in missing.err
    assert "--slot result_file=…  File for the result, relative to the project." in missing.err

    filled = template(tmp_path, "fill", "validation-task", *pairs, "--slot", "result_file=r.json")
    assert (filled.code, filled.err) == (0, "")
    assert "grafana &amp; co" in filled.out
    assert run("gate", "-", "--strict", stdin=filled.out.encode(), cwd=tmp_path).code == 0


@requirement("H-65")
def test_a_slot_that_is_not_filled_in_is_never_written(tmp_path: Path) -> None:
    ended = template(tmp_path, "fill", "test-suite", "--slot", "goal=x", "--write")
    assert (ended.code, ended.out) == (1, "")
    assert list(tmp_path.iterdir()) == []


@requirement("H-65")
def test_a_project_has_templates_of_its_own(tmp_path: Path) -> None:
    own(tmp_path)
    listed = json.loads(template(tmp_path, "list", "--format", "json").out)
    assert [each["name"] for each in listed][-1] == "release-notes"
    assert listed[-1]["file"] == ".goopspec/templates/release-notes.md"

    filled = template(
        tmp_path, "fill", "release-notes", stdin=b'{"version": "1.2", "parent_agent": "boss-agent"}'
    )
    assert (filled.code, filled.err) == (0, "")
    # All that the template says is in the prompt: attributes, and the prose after the request.
    for part in ('priority="low"', 'timeout="30m"', 'parent_agent="boss-agent"', "notes-1.2.md"):
        assert part in filled.out
    assert filled.out.rstrip().endswith("Ask Maria about 1.2.")

    written = template(tmp_path, "fill", "release-notes", "--slot", "version=1.2", "--write")
    assert written.code == 0
    assert (tmp_path / written.out.strip()).is_file()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("+++\nname", "name"), "it has no front matter"),
        (('name = "release-notes"', "name = 5"), "its front matter is not in order; expected name"),
        (('name = "release-notes"', 'name = "other"'), "its name is 'other'"),
        (("{{version}}.md", "{{verzion}}.md"), "a slot 'verzion', which it does not list"),
        (
            ("\n+++\n#", '\n[[slots]]\nname = "x"\ndescription = "y"\n+++\n#'),
            "lists the slot 'x', which its text does not have",
        ),
        (
            ('name = "version"', 'name = "session_id"'),
            "its slot session_id has the name of a field of every request",
        ),
    ],
)
def test_a_file_that_is_no_template_is_named_with_what_to_change(
    tmp_path: Path, change: tuple[str, str], problem: str
) -> None:
    own(tmp_path, OWN.replace(*change, 1))
    listed = template(tmp_path, "list")
    assert listed.code == 1
    # The others are there all the same.
    assert "validation-task" in listed.out
    assert ".goopspec/templates/release-notes.md cannot be used: " in listed.err
    assert problem in listed.err

    with pytest.raises(TemplateError, match=r"release-notes\.md cannot be used: "):
        fill_template("release-notes", {"version": "1"}, project=tmp_path)


def test_a_template_without_a_request_is_refused_when_it_is_filled_in(tmp_path: Path) -> None:
    own(tmp_path, OWN.partition("````xml")[0] + "Just prose about {{version}}.\n")
    refused = template(tmp_path, "fill", "release-notes", "--slot", "version=1")
    assert refused.code == 1
    assert "it holds no agent_request" in refused.err


def test_a_template_with_what_no_request_has_loses_nothing(tmp_path: Path) -> None:
    own(tmp_path, OWN.replace("</agent_request>", "  <mood>good</mood>\n</agent_request>"))
    refused = template(tmp_path, "fill", "release-notes", "--slot", "version=1")
    assert refused.code == 1
    assert "elements or attributes that no agent_request has" in refused.err


def test_templates_of_a_project_are_bounded(tmp_path: Path) -> None:
    own(tmp_path, OWN + "x" * 70_000)
    assert "expected at most 65,536" in template(tmp_path, "list").err
    for number in range(MOST_OWN + 1):
        name = f"own-{number:03}"
        own(tmp_path, OWN.replace("release-notes", name), name=name)

    ended = template(tmp_path, "list")
    assert f"only the first {MOST_OWN} by name are used" in ended.err
    assert "own-100" not in ended.out


def test_a_template_cannot_lead_out_of_the_project(tmp_path: Path) -> None:
    outside = own(tmp_path / "elsewhere")
    project = tmp_path / "project"
    (project / OWN_FOLDER).mkdir(parents=True)
    (project / OWN_FOLDER / "release-notes.md").symlink_to(outside)
    refused = template(project, "show", "release-notes")
    assert (refused.code, refused.out) == (1, "")
    assert "leads out of the project through a link" in refused.err
    assert template(project, "show", "../../elsewhere/x").code == 2


def test_a_template_does_not_hide_one_of_goop_mcp(tmp_path: Path) -> None:
    own(tmp_path, OWN.replace('"release-notes"', '"test-suite"'), name="test-suite")
    refused = template(tmp_path, "show", "test-suite")
    assert refused.code == 1
    assert "goop-mcp has a template of that name; rename" in refused.err


def test_unknown_templates_and_slots_are_answered_with_the_nearest(tmp_path: Path) -> None:
    unknown = template(tmp_path, "show", "test-suit")
    assert (unknown.code, "did you mean 'test-suite'?" in unknown.err) == (2, True)
    slot = template(tmp_path, "fill", "test-suite", "--slot", "gaol=x")
    assert (slot.code, "did you mean 'goal'?" in slot.err) == (2, True)
    assert template(tmp_path, "fill", "test-suite", "--slot", "goal").code == 2
    assert (
        template(tmp_path, "fill", "test-suite", "--slot", "goal=a", "--slot", "goal=b").code == 2
    )

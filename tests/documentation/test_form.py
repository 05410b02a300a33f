"""The form of the site builds the same prompts as the program, and reports the same errors."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goop_mcp.protocols.agent_request.model import RequestMode, RequestWorkflow
from goop_mcp.services.build_request import build_request
from tests.repository import ROOT
from tests.requirements import requirement

FORM = ROOT / "docs" / "_pages" / "handoff-editor.html"
RUN = Path(__file__).parent / "form.js"
NODE = shutil.which("node")
PAGE = FORM.read_text(encoding="utf-8")
FIELDS: dict[str, Any] = {
    "original_intent": "Let users log in",
    "current_task_summary": "Add POST /login and its tests",
    "task_details": "  1. Tests.\n\n     - wrong password\n  2. <code> & more",
    "deliverables": [
        {"kind": "file", "path": 'src/a "b".py', "text": "The endpoint", "required": False},
        {"kind": "decision", "text": "Whether\nthe database changes"},
        {"kind": "report", "text": ""},
    ],
    "mode": "blocking",
    "workflow": "TDD",
    "constraints": ["No new dependencies", " "],
    "backlog_notes": "Next: tokens.\n````\nfence\n````",
    "session_id": "20260114-093000-login",
    "parent_agent": "planning-agent",
    "target_agent": 'a "b" & c',
    "priority": "high",
    "title": "Add\n login",
    "context": "\nSee docs.\n",
}
with_node = pytest.mark.skipif(NODE is None, reason="there is no node on the path")

_TEXT = st.text(
    st.characters(
        codec="utf-8", categories=("L", "N", "P", "S", "Zs"), include_characters="\n\t `<>&\"'"
    )
)
_LINE = st.text("ab-_/.é<&>\"' ", min_size=1, max_size=12)


def shown_by_form(fields: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the prompt and the problems that the form shows for each."""
    ended = subprocess.run(
        [NODE or "node", str(RUN), str(FORM)],
        input="\n".join(json.dumps(each) for each in fields),
        check=True,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    return [json.loads(line) for line in ended.stdout.splitlines()]


def changed(**fields: object) -> dict[str, Any]:
    return {**FIELDS, **fields}


@requirement("H-64")
@with_node
def test_the_prompt_of_the_form_is_that_of_the_program() -> None:
    bare = {
        name: FIELDS[name]
        for name in ("original_intent", "current_task_summary", "mode", "workflow")
    }
    bare |= {"task_details": "x", "deliverables": [{"kind": "report", "text": "y"}]}

    for fields, answer in zip([FIELDS, bare], shown_by_form([FIELDS, bare]), strict=True):
        built = build_request(**fields)
        assert answer == {"prompt": built.text, "problems": []}
        assert built.verdict.accepted


@requirement("H-64")
@with_node
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(_TEXT, _TEXT, _LINE, _LINE), min_size=1, max_size=20))
def test_whatever_is_written_into_the_form_comes_out_as_the_program_writes_it(
    drawn: list[tuple[str, str, str, str]],
) -> None:
    forms = [
        changed(
            task_details=f"do {details}",
            context=context,
            target_agent=f"x{agent}",
            title=f"t {title}",
        )
        for details, context, agent, title in drawn
    ]
    for fields, answer in zip(forms, shown_by_form(forms), strict=True):
        if answer["problems"]:
            continue

        try:
            built = build_request(**fields)
        except ValueError:
            continue

        assert answer["prompt"] == built.text


@requirement("H-64")
def test_every_mode_and_every_workflow_can_be_chosen() -> None:
    chosen = {
        name: re.findall(
            r'<option value="(\w+)">', PAGE.partition(f'id="{name}"')[2].partition("</select>")[0]
        )
        for name in ("mode", "workflow")
    }
    assert set(chosen["mode"]) == {str(mode) for mode in RequestMode}
    assert set(chosen["workflow"]) == {str(workflow) for workflow in RequestWorkflow}


@requirement("H-64")
@with_node
@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"original_intent": " \n"}, "the goal is missing"),
        ({"current_task_summary": ""}, "this task is missing"),
        ({"task_details": ""}, "what to do is missing"),
        ({"mode": "fork"}, "mode must be one of spawn, conversation_only, blocking"),
        ({"workflow": "waterfall"}, "workflow must be one of SPIKE, TDD, standard, none"),
        ({"deliverables": []}, "there is no deliverable; add a file, a decision or a report"),
        (
            {"deliverables": [{"kind": "file", "path": " "}]},
            "deliverable 1 is a file without a path",
        ),
        (
            {"deliverables": [{"kind": "file", "path": "a/../../b"}]},
            "path of deliverable 1 leads out of the project",
        ),
        (
            {"deliverables": [{"kind": "file", "path": "/etc/x"}]},
            "path of deliverable 1 is not relative to the project",
        ),
        ({"session_id": "login"}, "session must have the form 20260114-093000-login"),
        (
            {"task_details": "a\u0000b"},
            "a text contains a control character, which XML does not allow",
        ),
        ({"task_details": "see {{goal}}"}, "a slot such as {{name}} was not filled in"),
        (
            {"context": "<agent_request>x</agent_request>"},
            "title or prose contains another request",
        ),
    ],
)
def test_what_the_program_refuses_the_form_reports_in_advance(
    fields: dict[str, Any], problem: str
) -> None:
    (answer,) = shown_by_form([changed(**fields)])
    assert problem in answer["problems"]
    with pytest.raises((ValueError, OSError)):
        build_request(**changed(**fields))


def test_the_form_loads_and_sends_nothing() -> None:
    assert "default-src 'none'" in PAGE
    assert not re.search(r"(?:src|href)=[\"'](?:https?:)?//|@import|fetch\(|XMLHttpRequest", PAGE)

"""A prompt built from fields is always accepted, or the error is reported in a sentence."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from goop_mcp import UnknownNameError
from goop_mcp.errors import AssetBrokenError, GoopError, NotWritableError
from goop_mcp.services.build_request import HANDOFF_AGENTS, RequestFieldsError, build_request
from goop_mcp.services.fill_template import fill_template
from goop_mcp.services.templates import find_template, list_templates, parse_template
from tests.protocols.agent_request.prompts import judge, judge_both, request_of, rules_of
from tests.protocols.agent_request.strategies import FILLED, PATHS
from tests.repository import ROOT
from tests.requirements import requirement

FIELDS: dict[str, Any] = {
    "original_intent": "Let agents prove who they are",
    "current_task_summary": "Add POST /login and its tests",
    "task_details": "Steps:\n  - tests\n  - endpoint",
    "deliverables": [{"kind": "file", "path": "src/login.py", "text": "The endpoint"}],
}
TEMPLATES = [template.name for template in list_templates()]


@requirement("H-44")
def test_the_smallest_set_of_fields_makes_a_prompt() -> None:
    built = build_request(**FIELDS)

    assert built.text.startswith(
        "# Task: Add POST /login and its tests\n\n````xml\n<agent_request version="
    )
    assert built.verdict.findings == ()
    assert built.path is None
    request = request_of(built.verdict)
    assert (request.mode, request.workflow) == ("spawn", "standard")
    assert request.task_details == "Steps:\n  - tests\n  - endpoint"
    assert rules_of(judge(built.text)) == []


@requirement("H-44")
def test_every_field_is_carried_over() -> None:
    built = build_request(
        **FIELDS,
        mode="blocking",
        workflow="SPIKE",
        constraints=["No new dependencies", " "],
        backlog_notes="Next",
        session_id="20260114-093000-login",
        parent_agent="planning-agent",
        target_agent="backend-agent",
        priority="high",
        title="Login",
        context="See **docs**.",
    )

    request = request_of(built.verdict)
    assert (request.mode, request.workflow, request.priority) == ("blocking", "SPIKE", "high")
    assert request.constraints == ("No new dependencies",)
    assert (request.parent_agent, request.target_agent) == ("planning-agent", "backend-agent")
    assert built.path == "docs/.scratch/sessions/20260114-093000-login/prompt.md"
    assert built.text.endswith("\n````\n\nSee **docs**.\n")
    assert built.to_dict().keys() == {"kind", "text", "path", "verdict", "redactions", "size"}


def test_an_id_is_made_of_the_time_and_the_title_where_none_is_given() -> None:
    built = build_request(**FIELDS, now=datetime(2026, 1, 14, 9, 30, tzinfo=UTC))

    assert (
        built.path
        == "docs/.scratch/sessions/20260114-093000-add-post-login-and-its-tests/prompt.md"
    )
    assert built.verdict.findings == ()


def test_the_id_of_the_session_takes_the_place_of_its_variable() -> None:
    path = "docs/.scratch/sessions/{session-id}/result.json"
    fields = {**FIELDS, "deliverables": [{"kind": "file", "path": path}]}

    assert request_of(build_request(**fields, session_id="20260114-093000-x").verdict).paths == (
        "docs/.scratch/sessions/20260114-093000-x/result.json",
    )
    with pytest.raises(RequestFieldsError, match="still holds"):
        build_request(**fields)


def test_the_literal_schema_accepts_what_is_built_for_it() -> None:
    deliverables = [
        {"kind": "report", "text": "r"},
        {"kind": "decision", "text": "d"},
        *FIELDS["deliverables"],
    ]
    built = build_request(
        **{**FIELDS, "deliverables": deliverables}, xsd_compat=True, target_agent="test-agent"
    )

    schema = etree.XMLSchema(
        etree.parse(ROOT / "schemas" / "agent_request" / "agent-handoff-v1.xsd")
    )
    start, end = (
        built.text.index("<agent_request"),
        built.text.index("</agent_request>") + len("</agent_request>"),
    )
    schema.assertValid(etree.fromstring(built.text[start:end]))
    with pytest.raises(NotWritableError, match="no room for priority"):
        build_request(**FIELDS, xsd_compat=True, priority="low")


@given(FILLED, FILLED, PATHS, st.text(max_size=40), st.lists(FILLED, max_size=2))
def test_what_is_built_is_accepted_or_refused_with_a_sentence(
    details: str, summary: str, path: str, context: str, constraints: list[str]
) -> None:
    try:
        built = build_request(
            original_intent=summary,
            current_task_summary=summary,
            task_details=details,
            deliverables=[{"kind": "file", "path": path}],
            constraints=constraints,
            context=context,
        )
    except RequestFieldsError:
        return

    for verdict in judge_both(built.text):
        assert verdict.accepted

    assert request_of(built.verdict).task_details == details
    assert request_of(built.verdict).constraints == (tuple(constraints) or None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"mode": "fork"},
            "there is no mode 'fork'; known are spawn, conversation_only, blocking.",
        ),
        ({"workflow": "tdd"}, "there is no workflow 'tdd'"),
        ({"priority": "urgent"}, "there is no priority 'urgent'; known are high, medium, low."),
        ({"original_intent": " "}, "<original_intent> is blank"),
        ({"task_details": "Do {{what}}"}, "slot {{what}} of the template was not filled in"),
        ({"task_details": 7}, "task_details is not a text"),
        ({"title": 7}, "title is not a text"),
        ({"constraints": "none"}, "constraints is not a list of texts"),
        ({"constraints": ["a", 1]}, "constraint 2 is not a text; expected a text"),
        ({"deliverables": []}, "deliverables is empty"),
        ({"deliverables": "a.py"}, "deliverables is not a list"),
        ({"deliverables": ["a.py"]}, "deliverable 1 is not an object"),
        (
            {"deliverables": [{"kind": "code"}]},
            "kind of deliverable 1 is 'code'; expected file, decision or report",
        ),
        ({"deliverables": [{"kind": "file"}]}, "deliverable 1 is a file without a path"),
        (
            {"deliverables": [{"kind": "report", "path": "a"}]},
            "deliverable 1 is a report and has no path",
        ),
        ({"deliverables": [{"kind": "file", "pth": "a"}]}, "did you mean 'path'"),
        (
            {"deliverables": [{"kind": "file", "path": "a", "required": "yes"}]},
            "required of deliverable 1 is 'yes'; expected true or false",
        ),
        ({"deliverables": [{"kind": "file", "path": 7}]}, "path of deliverable 1 is not a text"),
        ({"deliverables": [{"kind": "report", "text": 7}]}, "text of deliverable 1 is not a text"),
        (
            {"deliverables": [{"kind": "report", "text": "\x07"}]},
            "text of deliverable 1: '\\x07' holds a control",
        ),
        ({"context": "\ud800"}, "context: '\\ud800' holds a control character"),
        ({"deliverables": [{"kind": "file", "path": "../a"}]}, "leads out of the workspace"),
        ({"session_id": "login"}, "session_id is 'login'; expected date, time and a short name"),
        ({"target_agent": "<agent>"}, "template text left in: target_agent"),
        ({"task_details": "\x1b[0m"}, "holds a control character"),
        (
            {"context": "```xml\n<agent_request>\n<mode>x</mode>\n</agent_request>\n```"},
            "2 requests in one prompt",
        ),
    ],
)
def test_fields_of_which_no_request_can_be_made_are_refused(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(GoopError) as raised:
        build_request(**{**FIELDS, **change})
    assert message in str(raised.value)


@requirement("H-48")
def test_the_agents_of_the_specification_are_accepted_and_others_unless_a_list_is_given() -> None:
    for agent in [*HANDOFF_AGENTS, "someone-else"]:
        assert build_request(**FIELDS, target_agent=agent).verdict.findings == ()

    assert build_request(
        **FIELDS, target_agent="test-agent", agents=HANDOFF_AGENTS
    ).verdict.accepted
    with pytest.raises(UnknownNameError, match="did you mean 'backend-agent'"):
        build_request(**FIELDS, target_agent="backend-agnt", agents=HANDOFF_AGENTS)


# Templates


@requirement("H-65")
def test_templates_can_be_listed() -> None:
    assert TEMPLATES == [
        "api-endpoint-implementation",
        "research-spike",
        "test-suite",
        "validation-task",
    ]
    for template in list_templates():
        assert all(slot.description for slot in template.slots)
        assert template.title
        assert template.description


@requirement("H-65")
@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_that_was_not_filled_in_is_refused_for_each_slot(name: str) -> None:
    for verdict in judge_both(find_template(name).text):
        assert set(rules_of(verdict)) == {"agent_request/placeholder-left"}
        assert not verdict.accepted


@requirement("H-65")
@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_that_was_filled_in_is_accepted(name: str) -> None:
    values = {slot.name: "a && b <c>" for slot in find_template(name).slots}
    values |= {slot: "src/a b.py" for slot in values if slot.endswith("_file")}

    built = fill_template(
        name, values, session_id="20260114-093000-x", parent_agent="planning-agent"
    )
    assert built.verdict.findings == ()
    assert "{{" not in built.text
    assert "src/a b.py" in request_of(built.verdict).paths
    assert "a && b <c>" in (request_of(built.verdict).task_details or "")


@requirement("H-65")
def test_slots_that_are_not_filled_in_are_named() -> None:
    with pytest.raises(RequestFieldsError, match="slots that are not filled in: goal, checks"):
        fill_template(
            "validation-task", {"service": "grafana", "result_file": "r.json", "checks": " "}
        )


def test_a_slot_or_template_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'service'"):
        fill_template("validation-task", {"servce": "x"})
    with pytest.raises(UnknownNameError, match="did you mean 'validation-task'"):
        find_template("validation")


def test_a_value_is_data_and_never_a_slot() -> None:
    values = {"goal": "x", "service": "{{checks}}", "checks": "y", "result_file": "r.json"}

    with pytest.raises(RequestFieldsError, match="was not filled in"):
        fill_template("validation-task", values)


@pytest.mark.parametrize(
    "text",
    [
        "# Task: x\n\nno front matter\n",
        "+++\nname = \n+++\n# Task: x\n\ny\n",
        '+++\nname = "t"\ntitle = "t"\ndescription = "d"\n+++\n# Task: x\n\ny\n',
        '+++\nname = "u"\ntitle = "t"\ndescription = "d"\nslots = []\n+++\n# Task: x\n\ny\n',
        '+++\nname = "t"\ntitle = "t"\ndescription = "d"\nslots = []\n+++\n# Task: {{x}}\n\ny\n',
    ],
)
def test_a_template_file_that_is_not_in_order_is_named(text: str) -> None:
    with pytest.raises(AssetBrokenError, match=r"^the template t\.md cannot be used: "):
        parse_template(text, file="t.md")

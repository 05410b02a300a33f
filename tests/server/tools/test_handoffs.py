"""The tool build_handoff: what is built, what is written, and what is refused with which words."""

from collections.abc import Iterator
from inspect import signature
from pathlib import Path

import pytest
from pydantic import JsonValue

from goop_mcp import validate
from goop_mcp.protocols.agent_request import Request
from goop_mcp.server import create_server
from goop_mcp.server.tools.handoffs import HandoffTools
from goop_mcp.server.tools.listing import UNLISTED
from goop_mcp.services.hand_over import REQUEST_FIELDS
from goop_mcp.services.session_handoff import SESSION_FIELDS
from goop_mcp.settings import Settings
from tests.requirements import requirement
from tests.server.connections import (
    PROTOCOL_MODES,
    Connection,
    check_against_schema,
    connect,
    text_of,
)

ID = "20260114-093000-login"
PLACE = f"docs/.scratch/sessions/{ID}/prompt.md"
FIELDS: dict[str, JsonValue] = {
    "kind": "agent_request",
    "original_intent": "Let agents prove who they are",
    "current_task_summary": "Add POST /login and its tests",
    "task_details": "Steps:\n- tests & <endpoint>",
    "deliverables": [{"kind": "file", "path": "src/login.py", "text": "The endpoint"}],
}


@pytest.fixture(params=PROTOCOL_MODES)
def workshop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connection]:
    """Connect to a server whose project is an empty folder."""
    with connect(create_server(Settings(project=tmp_path)), request.param) as opened:
        yield opened


def refused(connection: Connection, **changes: JsonValue) -> str:
    result = connection.tool("build_handoff", **{**FIELDS, **changes})
    assert result.is_error
    assert result.structured_content is None
    return text_of(result)


@requirement("H-44")
def test_the_prompt_is_valid_and_gives_back_what_was_put_in(connection: Connection) -> None:
    result = connection.tool("build_handoff", **FIELDS)

    built = result.structured_content
    assert built is not None
    check_against_schema(result, connection.tools()["build_handoff"])
    assert (built["kind"], built["path"], built["verdict"]["verdict"]) == (
        "agent_request",
        None,
        "accepted",
    )
    assert built["text"] in text_of(result)
    verdict = validate(built["text"], mode="strict")
    assert verdict.findings == ()
    assert isinstance(verdict.envelope, Request)
    assert verdict.envelope.task_details == FIELDS["task_details"]


def test_the_arguments_are_the_fields_of_a_request(connection: Connection) -> None:
    schema = connection.tools()["build_handoff"].input_schema
    assert list(schema["properties"]) == [
        "kind",
        "write",
        *(name for name in REQUEST_FIELDS if name not in UNLISTED),
        "from_text",
        "template",
        "slots",
        *SESSION_FIELDS,
        "detail",
    ]
    assert schema["required"] == ["kind"]
    assert schema["properties"]["kind"]["enum"] == ["agent_request", "session"]


def test_limits_and_dependencies_stand_in_the_request(connection: Connection) -> None:
    text = text_of(
        connection.tool(
            "build_handoff",
            **FIELDS,
            session_id=ID,
            depends_on=["20260114-093000-first"],
            timeout="30m",
            max_retries=2,
            estimated_duration="2h",
            notify_on_completion=["planning-agent"],
        )
    )

    assert isinstance(validate(text).envelope, Request)
    for value in ("20260114-093000-first", "30m", "2h", "planning-agent"):
        assert value in text


def test_the_tool_says_that_it_may_add_a_file(connection: Connection) -> None:
    hints = connection.tools()["build_handoff"].annotations
    assert hints is not None
    assert hints.read_only_hint is False
    assert hints.destructive_hint is False


def test_without_write_nothing_is_written_and_the_place_is_named(
    workshop: Connection, tmp_path: Path
) -> None:
    result = workshop.tool("build_handoff", **FIELDS, session_id=ID)

    head, size, fence, rest = text_of(result).split("\n", 3)
    assert head == f"not written; it belongs to {PLACE}; the prompt:"
    assert size.startswith("size: ")
    rest, left_out = rest.rsplit("\n", 1)
    assert left_out == "left out (detail=full has it): verdict.envelope, verdict.candidates"
    assert rest.startswith("# Task: ")
    assert rest.endswith(f"\n{fence.removesuffix('markdown')}")
    assert list(tmp_path.iterdir()) == []


def test_with_write_the_prompt_stands_in_the_folder_of_its_session(
    workshop: Connection, tmp_path: Path
) -> None:
    result = workshop.tool("build_handoff", **FIELDS, session_id=ID, write=True, detail="full")

    assert text_of(result).startswith(f"written: {PLACE}\nsize: ")
    assert result.structured_content is not None
    assert result.structured_content["path"] == PLACE
    assert (tmp_path / PLACE).read_bytes().decode() == result.structured_content["text"]
    # The folder is created as a whole, so that no reader meets half of it.
    assert {path.name for path in (tmp_path / PLACE).parent.iterdir()} == {
        "output.log",
        "prompt.md",
        "result.json",
        "session.log",
        "state.json",
    }


def test_another_prompt_is_never_overwritten(workshop: Connection, tmp_path: Path) -> None:
    workshop.tool("build_handoff", **FIELDS, session_id=ID, write=True)
    before = (tmp_path / PLACE).read_bytes()

    assert (
        refused(workshop, session_id=ID, write=True, title="Another")
        == f"{PLACE} exists already with other content; give another session_id, or move it"
        " away."
    )
    assert (tmp_path / PLACE).read_bytes() == before
    assert str(tmp_path) not in refused(workshop, session_id=ID, write=True, title="Another")


def test_a_session_without_an_id_gets_one_when_its_prompt_is_written(
    workshop: Connection, tmp_path: Path
) -> None:
    built = workshop.tool("build_handoff", **FIELDS, write=True, detail="full").structured_content

    assert built is not None
    (written,) = tmp_path.glob("docs/.scratch/sessions/*/prompt.md")
    assert built["path"] == written.relative_to(tmp_path).as_posix()
    assert f'session_id="{written.parent.name}"' in built["text"]


def test_a_link_in_the_project_leads_nowhere(
    workshop: Connection, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (tmp_path / "docs").symlink_to(outside, target_is_directory=True)

    assert "leads out of the project through a link" in refused(workshop, session_id=ID, write=True)
    assert list(outside.iterdir()) == []


def test_what_is_missing_is_named_at_once(connection: Connection) -> None:
    result = connection.tool("build_handoff", kind="agent_request", title="Login")
    assert (
        text_of(result)
        == "original_intent is missing; current_task_summary is missing; task_details is missing;"
        " deliverables is missing."
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"titel": "x"}, "did you mean 'title'?"),
        ({"kind": "letter"}, "kind is 'letter'; expected one of agent_request, session"),
        (
            {"mode": "Spawn"},
            (
                "mode is 'Spawn'; expected one of spawn, conversation_only, blocking; did you mean"
                " 'spawn'?"
            ),
        ),
        ({"priority": "hi"}, "priority is 'hi'; expected one of high, medium, low or null"),
        (
            {"constraints": ["a", 3]},
            "constraints[1] is a number; expected a string of at most 2,000 characters",
        ),
        (
            {"constraints": ["a"] * 201},
            "constraints is a list of 201; expected a list of at most 200",
        ),
        (
            {"deliverables": "a.py"},
            "deliverables is a string of 4 characters; expected a list of at most 200",
        ),
        (
            {"deliverables": ["a.py"]},
            "deliverable 1 is not an object; expected kind, path, required and text",
        ),
        (
            {"deliverables": [{"kind": "code"}]},
            "kind of deliverable 1 is 'code'; expected file, decision or report",
        ),
        ({"deliverables": []}, "deliverables is empty"),
        ({"session_id": "../x"}, "session_id is '../x'; expected date, time and a short name"),
        ({"deliverables": [{"kind": "file", "path": "../x"}]}, "leads out of the workspace"),
        ({"task_details": "Do {{what}}"}, "slot {{what}} of the template was not filled in"),
        ({"task_details": "\x07"}, "task_details: '\\x07' holds a control character"),
        ({"write": "yes"}, "write is a string of 3 characters; expected true or false"),
        ({"xsd_compat": True, "priority": "low"}, "the literal schema has no room for priority"),
    ],
)
def test_arguments_of_which_no_prompt_can_be_made_are_named(
    connection: Connection, changes: dict[str, JsonValue], message: str
) -> None:
    assert message in refused(connection, **changes)


def test_a_warning_on_the_prompt_is_shown(connection: Connection) -> None:
    lines = text_of(
        connection.tool("build_handoff", **{**FIELDS, "current_task_summary": "Login"})
    ).splitlines()
    assert lines[1:3] == [
        "1 remark:",
        (
            "- line 7: current_task_summary has 5 characters; expected 10 to 500"
            " (agent_request/summary-length)"
        ),
    ]


def test_the_tool_has_an_argument_for_every_field_of_a_handoff() -> None:
    taken = set(signature(HandoffTools.build_handoff).parameters)

    assert {*REQUEST_FIELDS, *SESSION_FIELDS} <= taken


# Templates and prose


@requirement("H-65")
def test_a_template_is_filled_in_by_an_agent(workshop: Connection) -> None:
    slots: dict[str, JsonValue] = {"goal": "Know it works", "service": "grafana", "checks": "- up"}
    given: dict[str, JsonValue] = {"kind": "agent_request", "template": "validation-task"}
    refused_answer = workshop.tool("build_handoff", **given, slots=slots, write=True)
    assert refused_answer.is_error
    assert "slots that are not filled in: result_file" in text_of(refused_answer)

    slots["result_file"] = "r.json"
    built = workshop.tool("build_handoff", **given, slots=slots, parent_agent="planning-agent")
    assert built.structured_content is not None
    assert built.structured_content["verdict"]["verdict"] == "accepted"
    assert 'parent_agent="planning-agent"' in built.structured_content["text"]
    check_against_schema(built, workshop.tools()["build_handoff"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"template": "validation-task", "original_intent": "x"}, "sets original_intent itself"),
        ({"template": "validation-task", "from_text": "x"}, "give one of them"),
        ({"slots": {"goal": "x"}}, "slots are given without a template"),
        ({"template": "validation-tusk"}, "did you mean 'validation-task'?"),
        ({"template": "validation-task", "slots": {"gaol": "x"}}, "did you mean 'goal'?"),
        ({"template": "validation-task", "slots": {"goal": 5}}, "goal is a number"),
        ({"from_text": " "}, "the description is empty"),
    ],
)
def test_a_template_or_a_text_that_cannot_be_used_is_refused(
    workshop: Connection, changes: dict[str, JsonValue], message: str
) -> None:
    answer = workshop.tool("build_handoff", kind="agent_request", **changes)
    assert answer.is_error
    assert message in text_of(answer)


@requirement("H-69")
def test_prose_comes_back_with_its_gaps_as_questions_and_then_as_a_handoff(
    workshop: Connection, tmp_path: Path
) -> None:
    prose = "Goal: Let users log in\n\nAdd a login. Do not change the schema."
    asked = workshop.tool("build_handoff", kind="agent_request", from_text=prose, write=True)
    assert not asked.is_error
    answer = asked.structured_content
    assert answer is not None
    check_against_schema(asked, workshop.tools()["build_handoff"])
    questions = {gap["field"]: gap["question"] for gap in answer["gaps"] if gap["required"]}
    assert set(questions) == {"deliverables"}
    assert answer["verdict"]["verdict"] == "rejected"
    # Both halves say the same, for hosts that show only one.
    assert all(question in text_of(asked) for question in questions.values())
    assert "{{deliverables}}" in answer["text"]
    assert list(tmp_path.iterdir()) == []

    built = workshop.tool(
        "build_handoff",
        kind="agent_request",
        from_text=prose,
        current_task_summary="Add POST /login and its tests",
        deliverables=[{"kind": "report", "text": "What was done"}],
    )
    assert built.structured_content is not None
    assert built.structured_content["verdict"]["verdict"] == "accepted"
    assert "<original_intent>Let users log in<" in built.structured_content["text"]


@requirement("H-69")
def test_the_prompt_for_a_draft_shows_what_is_missing_and_nothing_secret(
    workshop: Connection,
) -> None:
    secret = "ghp_" + "a1B2" * 9
    prompt = workshop.prompt("draft_handoff", text=f"Goal: Rotate the token\n\n{secret}\n````\nx")
    assert "`deliverables`: What is to be delivered" in prompt
    assert "line 1, `original_intent`: Rotate the token" in prompt
    assert secret not in prompt
    assert "`````text\n" in prompt

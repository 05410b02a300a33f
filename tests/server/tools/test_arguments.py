"""Arguments as models send them (D-102): over a real client, for every argument of every tool."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.types import CallToolResult
from pydantic import JsonValue

from goop_mcp.server.app import create_server
from goop_mcp.settings import Settings
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.server.connections import PROTOCOL_MODES, Connection, connect, text_of

GIVEN: dict[str, dict[str, JsonValue]] = {
    "validate_report": {"text": COMPLETE_REPLY},
    "route_next_action": {"text": COMPLETE_REPLY},
    "record_report": {"text": COMPLETE_REPLY, "check_workspace": False},
    "project_status": {},
    "update_project": {"action": "start_phase", "phase": "execute", "reason": "why not"},
    "build_handoff": {
        "kind": "agent_request",
        "original_intent": "A shop",
        "current_task_summary": "Add the login endpoint",
        "task_details": "Write shop/login.py and its tests.",
        "deliverables": [{"kind": "file", "path": "shop/login.py", "required": True, "text": "it"}],
    },
    "build_report": {
        "status": "COMPLETE",
        "agent": "goop-executor",
        "phase": "execute",
        "summary": "Added the login.",
        "files": [{"path": "src/login.py", "action": "created", "description": "it"}],
        "checks": [{"name": "tests", "passed": True, "evidence": "12 passed"}],
        "next_action": "Add logout",
        "fields": {"next_agent": "goop-executor"},
    },
    "save_memory": {"title": "Use jose", "content": "We use jose for tokens."},
    "search_memory": {"queries": ["jose"]},
    "get_memory": {"id": 1},
    "forget_memory": {"id": 1},
    "explain_rule": {"rule": "goop_report/unknown-status"},
    "hook_check": {"event": "Stop", "text": COMPLETE_REPLY},
    "memory_save": {"title": "Use jose", "content": "We use jose for tokens."},
    "memory_search": {"query": "jose"},
}
"""Arguments with which each tool can be called."""
OTHERS: dict[str, JsonValue] = {
    "context": {"phase": "execute", "counters": {"partials": 1}},
    "previous_rules": ["xml/unescaped"],
    "types": ["decision"],
    "importance": 1,
    "limit": 3,
}
"""Values by the names of arguments for which the type alone gives no good one."""


def value_for(name: str, schema: dict[str, JsonValue]) -> JsonValue:
    """Return a value of the type of an argument that is not a text; None for a text."""
    if name in OTHERS and schema["type"] != "string":
        return OTHERS[name]
    match schema["type"]:
        case "boolean":
            return True
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "array":
            return ["one"]
        case "object":
            return {}
        case _:
            return None


def as_sent(value: JsonValue) -> Iterator[JsonValue]:
    """Yield what models send for `value`."""
    yield json.dumps(value)
    if isinstance(value, list) and len(value) == 1:
        yield value[0]
    if isinstance(value, bool):
        yield str(value)
    elif isinstance(value, int):
        yield f" {value} "
        yield float(value)


@pytest.fixture(scope="module", params=PROTOCOL_MODES)
def offering_all(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Connection]:
    folder = tmp_path_factory.mktemp("arguments")
    settings = Settings(project=folder, goopspec_aliases=True, hook_tool=True)
    with connect(create_server(settings), request.param) as connection:
        connection.tool("update_project", action="init", name="shop")
        connection.tool("save_memory", title="Use jose", content="We use jose for tokens.")
        yield connection


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Connection]:
    with connect(create_server(Settings(project=tmp_path)), "auto") as connection:
        yield connection


def complaints(result: CallToolResult, name: str) -> list[str]:
    """Return the lines of an error that are about the argument `name`."""
    lines = text_of(result).splitlines()[1:] if result.is_error else []
    return [line for line in lines if line.startswith((f"- {name} ", f"- {name}["))]


def test_every_argument_is_taken_as_models_send_it(offering_all: Connection) -> None:
    tools, tried = offering_all.tools(), set()
    assert tools.keys() == GIVEN.keys()

    for tool in tools.values():
        for name, schema in tool.input_schema["properties"].items():
            value = GIVEN[tool.name].get(name)
            if value is None or isinstance(value, str):
                value = value_for(name, schema)
            if value is None or name == "report":
                # A report is judged instead of a text, and not in addition to it.
                continue

            for sent in as_sent(value):
                result = offering_all.tool(tool.name, **{**GIVEN[tool.name], name: sent})
                assert not complaints(result, name), (tool.name, name, sent, text_of(result))
                tried.add((tool.name, name))

    assert len(tried) > 30


def test_the_answer_is_the_same_as_for_the_value_itself(memory: Connection) -> None:
    memory.tool("save_memory", title="Use jose", content="We use jose for tokens.", concepts="auth")
    plain = memory.tool(
        "search_memory",
        queries=["jose"],
        types=["observation"],
        concepts=["auth"],
        min_importance=0.5,
        limit=1,
    )
    assert plain.structured_content is not None
    assert plain.structured_content["total"] == 1

    as_texts = memory.tool(
        "search_memory",
        queries='["jose"]',
        types='["observation"]',
        concepts='["auth"]',
        min_importance="0.5",
        limit="1",
    )
    single = memory.tool(
        "search_memory", queries="jose", types="observation", concepts="auth", limit=1.0
    )
    for other in (as_texts, single):
        assert other.structured_content == plain.structured_content

    one = memory.tool("get_memory", id="1")
    assert one.structured_content == memory.tool("get_memory", id=1).structured_content


@pytest.mark.parametrize(
    ("tool", "name", "sent", "message"),
    [
        ("get_memory", "id", "one", "- id is a string of 3 characters; expected a whole number"),
        ("get_memory", "id", "012", "- id is a string of 3 characters; expected a whole number"),
        ("get_memory", "id", "1.5", "- id is a string of 3 characters; expected a whole number"),
        ("get_memory", "id", "1e300", "- id is a string of 5 characters; expected a whole number"),
        ("get_memory", "id", [1], "- id is a list; expected a whole number"),
        ("get_memory", "id", True, "- id is true or false; expected a whole number"),
        (
            "search_memory",
            "min_importance",
            "NaN",
            "- min_importance is a string of 3 characters; expected a number from 0 to 1",
        ),
        (
            "search_memory",
            "concepts",
            "[auth",
            "- concepts is a string of 5 characters; expected a list of at most",
        ),
        (
            "search_memory",
            "concepts",
            "",
            "- concepts is a string of 0 characters; expected a list of at most",
        ),
        (
            "search_memory",
            "types",
            "decisions",
            "- types[0] is 'decisions'; expected one of decision,",
        ),
        (
            "validate_report",
            "check_workspace",
            "yes",
            "- check_workspace is a string of 3 characters; expected true or false",
        ),
        (
            "route_next_action",
            "context",
            '{"phase": "plan", "phase": "execute"}',
            "- context is a string of 37 characters; expected an object",
        ),
        (
            "route_next_action",
            "context",
            "[" * 100_000,
            "- context is a string of 100,000 characters; expected an object",
        ),
        (
            "route_next_action",
            "context",
            '{"a": [' + "0," * 20_000 + "0]}",
            "- context is a string of 40,010 characters; expected an object",
        ),
        (
            "build_report",
            "files",
            ["a"] * 1_001,
            "- files is a list of 1,001; expected a list of at most 1,000",
        ),
    ],
)
def test_what_has_no_single_meaning_is_an_error(
    connection: Connection, tool: str, name: str, sent: JsonValue, message: str
) -> None:
    result = connection.tool(tool, **{**GIVEN[tool], name: sent})
    assert result.is_error
    (line,) = complaints(result, name)
    assert line.startswith(message)


def test_a_field_that_is_no_argument_is_pointed_to_fields(offering_all: Connection) -> None:
    result = offering_all.tool("build_report", next_agent="goop-tester")
    assert result.is_error
    assert "give it in fields, as {'next_agent': ...}" in text_of(result)


def test_null_for_an_argument_with_a_default_counts_as_left_out(connection: Connection) -> None:
    given = connection.tool(
        "validate_report", text=COMPLETE_REPLY, mode=None, expected_agent=None, protocol=None
    )
    assert given == connection.tool("validate_report", text=COMPLETE_REPLY)

    missing = connection.tool("save_memory", title="Use jose", content=None)
    assert complaints(missing, "content")


def test_a_text_stays_a_text(memory: Connection) -> None:
    for reply in ('{"status": "success"}', "12", "true", '["a"]'):
        judged = memory.tool("validate_report", text=reply)
        assert not judged.is_error

    saved = memory.tool("save_memory", title="12", content='{"a": [1, 2]}', agent="true")
    assert saved.structured_content is not None
    kept = memory.tool("get_memory", id=saved.structured_content["id"]).structured_content
    assert kept is not None
    assert (kept["title"], kept["content"], kept["agent"]) == ("12", '{"a": [1, 2]}', "true")

    # A phrasing that is a JSON list of texts is a list of phrasings; any other JSON is a phrasing.
    assert not memory.tool("search_memory", queries='{"a": 1}').is_error

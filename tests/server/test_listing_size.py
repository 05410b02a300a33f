"""What `tools/list` costs a model in each conversation, and that it still says enough to choose."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.types import Tool
from pydantic import JsonValue

from goop_mcp.errors import GoopError
from goop_mcp.server.app import create_server
from goop_mcp.settings import Settings
from tests.server.connections import Connection, connect

MOST_BYTES = 16_000
MOST_BYTES_OF_CORE = 6_000
MOST_BYTES_OF_ANSWERS = 6_300
CORE = {"validate_report", "build_report", "save_memory", "search_memory", "project_status"}
MOST_CHARACTERS_OF_AN_ARGUMENT = 100


@contextmanager
def offering(folder: Path, tools: str) -> Iterator[Connection]:
    with connect(create_server(Settings(project=folder, tools=tools)), "auto") as connection:
        yield connection


def paid_for(tool: Tool) -> dict[str, Any]:
    """Return what a model sees of a tool: not the schema of its answer, nor notes to the host."""
    return tool.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude={"output_schema", "meta"}
    )


def size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def parts(schema: object) -> Iterator[Mapping[str, Any]]:
    """Yield every object in a JSON schema."""
    if isinstance(schema, dict):
        yield schema
        for each in schema.values():
            yield from parts(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from parts(each)


def test_the_tools_stay_within_their_bounds(tmp_path: Path) -> None:
    with offering(tmp_path, "all") as connection:
        tools = connection.tools()
    with offering(tmp_path, "core") as connection:
        core = connection.tools()

    assert core.keys() >= CORE
    advice = "shorten a description, or leave the argument out of the list (UNLISTED)"
    assert sum(size(paid_for(tool)) for tool in tools.values()) < MOST_BYTES, advice
    assert sum(size(paid_for(tool)) for tool in core.values()) < MOST_BYTES_OF_CORE, advice
    assert sum(size(tool.output_schema) for tool in tools.values()) < MOST_BYTES_OF_ANSWERS


def test_every_argument_is_described_in_one_line_that_every_model_can_read(tmp_path: Path) -> None:
    with offering(tmp_path, "all") as connection:
        tools = connection.tools()

    for tool in tools.values():
        for name, schema in tool.input_schema["properties"].items():
            description = schema["description"]
            assert "\n" not in description, (tool.name, name)
            assert 0 < len(description) <= MOST_CHARACTERS_OF_AN_ARGUMENT, (tool.name, name)
            assert isinstance(schema["type"], str), f"{tool.name}.{name} has no single type"
            assert schema.get("default", "some") not in (None, []), (tool.name, name)
            assert schema.get("default") is not False, (tool.name, name)

        for part in parts(tool.input_schema):
            assert not {"anyOf", "maxLength", "maxItems", "minLength", "minItems"} & part.keys()


@pytest.mark.parametrize("choice", ["validate_report", " explain_rule,validate_report "])
def test_tools_are_chosen_by_name(tmp_path: Path, choice: str) -> None:
    with offering(tmp_path, choice) as connection:
        assert connection.tools().keys() == {name.strip() for name in choice.split(",")}
        assert "save_memory" not in (connection.client.instructions or "")
        refused = connection.tool("save_memory", title="A", content="B")
        assert refused.is_error


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("validate_reprot", "did you mean 'validate_report'?"),
        ("cor", "Expected core, all, or names divided by commas: validate_report,"),
        (" , ", "--tools is empty; expected core, all, or names"),
    ],
)
def test_a_tool_that_does_not_exist_is_named(tmp_path: Path, choice: str, message: str) -> None:
    with pytest.raises(GoopError, match="--tools") as refusal:
        create_server(Settings(project=tmp_path, tools=choice))
    assert message in str(refusal.value)


def test_the_whole_schema_of_an_answer_is_a_resource(connection: Connection) -> None:
    for tool in connection.tools().values():
        read = connection.read(f"goop://schemas/answers/{tool.name}")
        assert read.mime_type == "application/schema+json"
        whole = json.loads(read.text)
        assert tool.output_schema is not None
        assert whole["properties"].keys() == tool.output_schema["properties"].keys()
        assert all(
            "description" in each or "$ref" in each for each in whole["properties"].values()
        ), tool.name


def test_counters_are_taken_and_not_listed(connection: Connection) -> None:
    listed = connection.tools()["route_next_action"].input_schema["properties"]
    counters: dict[str, JsonValue] = {
        "attempt": 2,
        "iteration": 1,
        "max_iterations": 3,
        "previous_rules": ["a/b"],
    }
    assert not counters.keys() & listed.keys()
    assert not connection.tool("route_next_action", text="nothing", **counters).is_error

"""The schema that editors use says the same about the form of a graph as `Graph.load`."""

import copy
import json
import tomllib
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped] # it ships no types

from goop_mcp.delegation.graph import Graph, GraphError
from goop_mcp.services.schemas import find_schema
from tests.delegation.graphs import LOGIN

SCHEMA = json.loads(find_schema("graph").text)
VALID = Draft202012Validator(SCHEMA)


def login() -> dict[str, Any]:
    values = tomllib.loads(LOGIN)
    # `Graph.load` puts the text of the file into its place before it reads the values.
    values["tasks"]["api"]["prompt"] = values["tasks"]["api"].pop("prompt_file")
    return values


def is_read(values: dict[str, Any]) -> bool:
    try:
        Graph.from_dict(values)
    except GraphError:
        return False
    return True


def test_the_schema_is_one_and_accepts_the_graph_of_the_documentation() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert VALID.is_valid(tomllib.loads(LOGIN))
    assert VALID.is_valid(Graph.from_dict(login()).to_dict())


def changes() -> list[tuple[str, Any]]:
    """Return places of the graph, dots between keys, and what is put there; ... takes it away."""
    wrong: tuple[Any, ...] = (
        None,
        True,
        0,
        -1,
        1.5,
        "",
        "x",
        [],
        ["x", 3],
        {},
        "90s",
        "10/min",
        "maybe",
    )
    places = {
        "limits": SCHEMA["properties"]["limits"],
        "agents.planner": SCHEMA["$defs"]["agent"],
        "agents.planner.retry": SCHEMA["$defs"]["agent"]["properties"]["retry"],
        "tasks.docs": SCHEMA["$defs"]["task"],
        "gates.ship": SCHEMA["$defs"]["gate"],
        "": SCHEMA,
    }
    # Names, and combinations of keys, are for the check of the whole graph and not for a schema.
    left_out = {
        "agents.planner.call",
        "agents.planner.command",
        "agents.planner.fallback",
        "agents.planner.on_stdin",
        "agents.planner.run",
        "tasks.docs.agent",
        "tasks.docs.needs",
        "tasks.docs.feedback_to",
        "tasks.docs.prompt_file",
        "gates.ship.needs",
        "gates.ship.answers",
        "gates.ship.default",
        "limits.max_tasks",
        "agents",
        "tasks",
        "gates",
    }
    paths = [
        ".".join(filter(None, (place, key)))
        for place, schema in places.items()
        for key in (*schema["properties"], "no_such_key")
    ]
    return [(path, value) for path in paths if path not in left_out for value in (..., *wrong)]


@pytest.mark.parametrize("place", sorted({path for path, _ in changes()}))
def test_schema_and_reader_agree_about_each_value(place: str) -> None:
    for value in (value for path, value in changes() if path == place):
        values = copy.deepcopy(login())
        *way, key = place.split(".")
        table: dict[str, Any] = values
        for each in way:
            table = table.setdefault(each, {})
        if value is ...:
            if place == "gates.ship.timeout":
                continue
            table.pop(key, None)
        else:
            table[key] = value

        assert VALID.is_valid(values) == is_read(values), (place, value)


def test_the_schema_knows_each_key_and_no_other() -> None:
    graph = login()
    for section, known in (("agents", "agent"), ("tasks", "task"), ("gates", "gate")):
        for key in SCHEMA["$defs"][known]["properties"]:
            values = copy.deepcopy(graph)
            name = next(iter(values[section]))
            values[section][name] = {key: object()}
            with pytest.raises(GraphError) as refused:
                Graph.from_dict(values)
            unknown = [each for each in refused.value.problems if "there is no key" in each.message]
            # The prompt in a file has its place taken before the values are read.
            assert bool(unknown) == (key == "prompt_file"), key

import pytest
from mcp import MCPError
from mcp.types import INVALID_PARAMS

from goop_mcp import validate
from goop_mcp.services.prompts import list_prompts, render_prompt
from tests.server.connections import Connection


def refused(connection: Connection, prompt: str, **arguments: str) -> str:
    with pytest.raises(MCPError) as refusal:
        connection.prompt(prompt, **arguments)
    assert refusal.value.code == INVALID_PARAMS
    return refusal.value.message


def test_every_prompt_that_ships_is_listed_with_its_arguments(connection: Connection) -> None:
    listed = connection.call(connection.client.list_prompts).prompts
    shipped = list_prompts()
    assert [each.name for each in listed] == [each.name for each in shipped]
    assert {"goop_report", "repair_report"} <= {each.name for each in listed}

    for ours, theirs in zip(shipped, listed, strict=True):
        assert (theirs.title, theirs.description) == (ours.title, ours.description)
        arguments = [
            (each.name, each.description, each.required) for each in theirs.arguments or []
        ]
        assert arguments == [
            (each.name, each.description, each.required) for each in ours.arguments
        ]


def test_prompt_is_filled_in_with_the_values_of_the_caller(connection: Connection) -> None:
    text = connection.prompt("goop_report", agent="goop-planner", phase="plan")
    assert text == render_prompt("goop_report", {"agent": "goop-planner", "phase": "plan"})
    assert "<agent>goop-planner</agent>" in text


def test_prompt_can_be_had_without_its_optional_arguments(connection: Connection) -> None:
    assert connection.prompt("goop_report") == render_prompt("goop_report", {})


def test_repair_prompt_shows_what_is_wrong_with_the_reply(connection: Connection) -> None:
    reply = "<goop_report><status>DONE</status></goop_report>"
    feedback = validate(reply).feedback
    assert feedback is not None
    assert feedback in connection.prompt("repair_report", text=reply)


def test_unknown_prompt_is_answered_with_the_nearest_one(connection: Connection) -> None:
    assert (
        refused(connection, "goop_reports")
        == "there is no prompt 'goop_reports'; did you mean 'goop_report'?"
    )


def test_unknown_argument_is_answered_with_the_known_ones(connection: Connection) -> None:
    message = refused(connection, "goop_report", agents="goop-planner")
    assert message == "the prompt goop_report has no argument 'agents'; it takes agent and phase."


def test_missing_argument_is_named(connection: Connection) -> None:
    assert (
        refused(connection, "repair_report") == "the prompt repair_report needs the argument text."
    )

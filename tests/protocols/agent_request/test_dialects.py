"""Other dialects are refused, and read only by who asks for them; nothing is filled in."""

from typing import cast

import pytest

from goop_mcp import UnknownNameError
from goop_mcp.protocols.agent_request.dialects import Dialect, read_dialect
from tests.protocols.agent_request.prompts import judge_both, read_case, the_finding

SPAWNS = read_case("in_the_wild_spawns")
MESSAGE = read_case("in_the_wild_conversation_message")


@pytest.mark.parametrize(
    ("prompt", "element", "dialect"),
    [(SPAWNS, "spawns", "fan-out"), (MESSAGE, "conversation_message", "conversation")],
)
def test_the_public_verdict_refuses_a_dialect_and_says_which_it_is(
    prompt: str, element: str, dialect: str
) -> None:
    for verdict in judge_both(prompt):
        assert not verdict.accepted
        message = the_finding(verdict, "agent_request/unknown-element").message
        assert f"<{element}>" in message
        assert f"{dialect} dialect" in message


def test_each_spawn_becomes_a_request_with_its_gaps_marked() -> None:
    two = SPAWNS.replace("</spawns>", "<spawn><agent_key>fix-agent</agent_key></spawn></spawns>")
    reading = read_dialect(two, dialect="fan-out")

    first, second = reading.requests
    assert first.request.target_agent == "debug-agent"
    assert first.request.task_details == "Find the cause; change nothing"
    assert first.request.original_intent == "Fix the failing deploy"
    assert first.gaps == ("current_task_summary", "workflow", "deliverables")
    assert second.gaps == ("current_task_summary", "workflow", "task_details", "deliverables")
    assert not reading.verdict.accepted


def test_deliverables_and_workflow_are_never_filled_in() -> None:
    readings = (
        read_dialect(SPAWNS, dialect="fan-out"),
        read_dialect(MESSAGE, dialect="conversation"),
    )
    for each in (*readings[0].requests, *readings[1].requests):
        assert each.request.deliverables is None
        assert each.request.workflow is None


def test_a_conversation_message_is_the_task() -> None:
    (only,) = read_dialect(MESSAGE, dialect="conversation").requests

    assert only.request.task_details == "Run the protocol."
    assert only.request.extensions == ()
    assert only.gaps == ("workflow", "deliverables")


@pytest.mark.parametrize("dialect", ["fan-out", "conversation"])
@pytest.mark.parametrize("name", ["6_1_backend_api", "1_1_freeform", "11_1_xxe"])
def test_a_prompt_in_no_dialect_gives_no_request(name: str, dialect: Dialect) -> None:
    assert read_dialect(read_case(name), dialect=dialect).requests == ()


def test_a_prompt_that_was_cut_off_gives_no_request() -> None:
    assert read_dialect(SPAWNS[: SPAWNS.index("</spawns>")], dialect="fan-out").requests == ()


def test_an_unknown_dialect_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'fan-out'"):
        read_dialect(SPAWNS, dialect=cast("Dialect", "fanout"))

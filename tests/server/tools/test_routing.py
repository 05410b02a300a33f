import pytest
from pydantic import JsonValue

from tests.repository import ROOT
from tests.server.connections import Connection, text_of

CASES = ROOT / "tests" / "cases" / "goop_report"


def case(name: str) -> str:
    return (CASES / name).read_text(encoding="utf-8")


def test_decision_names_who_continues_and_the_exact_words(connection: Connection) -> None:
    result = connection.tool("route_next_action", text=case("016_executor_complete.xml"))

    decision = result.structured_content
    assert decision is not None
    assert not result.is_error
    assert decision["actions"] == ["save_state", "continue_next"]
    assert decision["next_agent"] == "goop-executor"
    assert decision["instruction"] == "W2.T4: Implement session management"
    assert decision["rule"] == "G6"


@pytest.mark.parametrize(
    ("name", "actions"),
    [
        ("016_executor_blocked.xml", ["ask_user"]),
        ("derived_complete_failed_check.xml", ["resume_same"]),
        ("message_no_envelope.md", ["request_repair"]),
    ],
)
def test_nothing_goes_on_from_what_is_blocked_failed_or_missing(
    connection: Connection, name: str, actions: list[str]
) -> None:
    decision = connection.tool("route_next_action", text=case(name)).structured_content

    assert decision is not None
    assert decision["actions"] == actions


def test_same_errors_again_go_to_the_user(connection: Connection) -> None:
    result = connection.tool(
        "route_next_action", text="Done.", previous_rules=["envelope/no-envelope"]
    )

    decision = result.structured_content

    assert decision is not None
    assert decision["actions"] == ["ask_user"]


def test_number_out_of_range_is_refused_by_name(connection: Connection) -> None:
    result = connection.tool("route_next_action", text="x", attempt=0)

    assert result.is_error
    assert "attempt" in str(result.content)


def test_stored_state_changes_are_the_context_of_the_next_call(connection: Connection) -> None:
    text = case("016_executor_complete.xml").replace(">COMPLETE<", ">PARTIAL<")
    rules: list[str] = []
    stored: dict[str, JsonValue] = {}

    for _ in range(4):
        decision = connection.tool(
            "route_next_action", text=text, context=stored
        ).structured_content
        assert decision is not None
        rules.append(decision["rule"])
        stored = decision["state_changes"]

    assert rules == ["G7", "G7", "G7", "G7c"]


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (
            {"counters": {"partials": -1}},
            "context.counters.partials: is -1; expected a whole number from 0",
        ),
        (
            {"policy": {"adoption": "always"}},
            "context.policy.adoption: is 'always'; expected one of optional, pilot",
        ),
        ({"atempt": 2}, "context.atempt: there is no such field; did you mean 'attempt'?"),
        ({"attempt": None}, "context.attempt: is null; expected a whole number from 1"),
    ],
)
def test_context_of_a_wrong_shape_is_refused_by_the_name_of_its_field(
    connection: Connection, context: dict[str, JsonValue], words: str
) -> None:
    result = connection.tool("route_next_action", text="x", context=context)

    assert result.is_error
    assert words in text_of(result)

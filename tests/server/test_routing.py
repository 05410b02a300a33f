import pytest

from tests.repository import ROOT
from tests.server.connections import Connection

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


def test_same_faults_again_go_to_the_user(connection: Connection) -> None:
    result = connection.tool("route_next_action", text="Done.", previous_rules=["envelope/no-envelope"])

    decision = result.structured_content

    assert decision is not None
    assert decision["actions"] == ["ask_user"]


def test_number_out_of_range_is_refused_by_name(connection: Connection) -> None:
    result = connection.tool("route_next_action", text="x", attempt=0)

    assert result.is_error
    assert "attempt" in str(result.content)

"""Every row of the table, by its id: its actions, fields, reason and message."""

from pathlib import Path

import pytest

from goop_mcp.routing import Action, Decision
from goop_mcp.routing.table import ROWS
from tests.routing.examples import EXAMPLES, Example
from tests.routing.replies import actions

MESSAGES = Path(__file__).with_name("messages.txt")
_CARRIED = (
    *(
        "next_agent",
        "instruction",
        "next_command",
        "files_to_read",
        "new_session",
        "blockers",
        "questions",
        "retry",
    ),
    *("flags", "issues", "results"),
)

every_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.rule)


def test_every_row_has_an_example_and_so_every_action() -> None:
    assert {example.rule for example in EXAMPLES} == {row.rule for row in ROWS}
    assert {action for example in EXAMPLES for action in example.actions.split()} == {
        each.value for each in Action
    }


@every_example
def test_a_row_answers_its_example_with_the_published_actions(example: Example) -> None:
    decision = example.decision()

    assert decision.rule == example.rule
    assert actions(decision) == example.actions.split()


@every_example
def test_a_row_sets_the_published_fields_and_no_other(example: Example) -> None:
    decision = example.decision()

    assert {name for name in _CARRIED if getattr(decision, name) not in (None, ())} == set(
        example.sets.split()
    )


@every_example
def test_a_row_gives_its_reason_with_the_native_words(example: Example) -> None:
    assert example.decision().reason == f"{example.reason} ({example.rule})."


def test_people_read_what_the_reviewed_messages_say() -> None:
    """Compare with messages.txt.

    `python -m tests.routing.test_every_row` writes it again: review it before you commit it.
    """
    assert _messages() == MESSAGES.read_text(encoding="utf-8")


def _messages() -> str:
    return "".join(_rendered(example.decision()) for example in EXAMPLES)


def _rendered(decision: Decision) -> str:
    return f"==== {decision.rule}: {', '.join(decision.actions)}\n\n{decision.message.rstrip()}\n\n"


if __name__ == "__main__":
    MESSAGES.write_text(_messages(), encoding="utf-8")

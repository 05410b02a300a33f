"""The decision has one shape, and every row keeps to what it says."""

import json
import re
from pathlib import Path

import pytest

from goop_mcp.routing import Action, route
from goop_mcp.routing.adapters import ADAPTERS
from goop_mcp.routing.decision import Decision
from goop_mcp.routing.row import Row
from goop_mcp.routing.table import ROWS, rows_for
from tests.requirements import load_ledger
from tests.routing.replies import BLOCKED, judged, report, routed

KEYS = [
    "actions",
    "next_agent",
    "instruction",
    "next_command",
    "files_to_read",
    "new_session",
    "blockers",
    "questions",
    "retry",
    "rule",
    "reason",
    "message",
    "verdict",
]
CLOSED_LIST = [
    "continue_next",
    "resume_same",
    "run_prerequisite",
    "feedback_loop",
    "fix_and_retry",
    "retry",
    "retry_with_backoff",
    "ask_user",
    "manual_resolution",
    "human_review",
    "save_state",
    "new_session",
    "request_repair",
    "spawn",
    "provide_context",
    "wait",
    "reject",
    "finish",
]
PUBLISHED = {
    "any": "R1 R1b R4 R4b R2 R3 R9",
    "goop_report": "G1 G2 G2b G2c G7c G7b G7 G8 G8b G3 G4 G5 G6",
    "speckit": "S1 S2 S3 S3b S4 S4b S5 S6 S7 S7b S8 S9 S10 S10b S11 S12 S13 S14 S15",
    "factory": "F1 F2 F2a F2b F2c F2d F2e F3 F3b F3c F4 F4b F5 F5b F5c F6 F7",
    "agent_request": "H1 H1b H2 H3b H3 H3c H6 H6b H7 H7b H4 H4b H4c",
}


def test_the_actions_are_the_closed_list() -> None:
    assert [action.value for action in Action] == CLOSED_LIST


@pytest.mark.parametrize("text", [report(), BLOCKED, "nothing"])
def test_the_json_has_the_published_keys_first_and_survives_a_round_trip(text: str) -> None:
    values = routed(text, "goop_report").to_dict()

    assert list(values)[: len(KEYS)] == KEYS
    assert list(values)[len(KEYS) :] == ["state_changes", "steps", "flags", "issues", "results"]
    assert json.loads(json.dumps(values)) == values


def test_a_field_that_the_row_does_not_name_is_null_or_empty() -> None:
    values = routed(report(), "goop_report").to_dict()

    assert (values["new_session"], values["retry"]) == (None, None)
    assert (
        values["blockers"]
        == values["questions"]
        == values["issues"]
        == values["flags"]
        == values["results"]
        == []
    )


def test_questions_and_retry_are_plain_json() -> None:
    blocked = routed(BLOCKED, "goop_report").to_dict()
    silent = routed("", "factory", {"responded": False}).to_dict()

    assert blocked["questions"][0]["options"][0] == {
        "letter": "A",
        "text": "Stripe (recommended, better docs)",
        "recommended": True,
    }
    assert silent["retry"] == {
        "attempt": 2,
        "max_attempts": 2,
        "delay_seconds": 0,
        "message": "send the same request again",
    }


@pytest.mark.parametrize("protocol", PUBLISHED)
def test_the_rows_of_a_protocol_stand_in_the_published_order(protocol: str) -> None:
    rules = [row.rule for row in ROWS if row.protocol == protocol]

    assert list(dict.fromkeys(rules)) == PUBLISHED[protocol].split()


@pytest.mark.parametrize("protocol", [*ADAPTERS, None, "unheard_of"])
def test_common_rows_come_first_and_the_last_row_always_fits(protocol: str | None) -> None:
    rows = rows_for(protocol)

    assert [row.rule for row in rows[:6]] == ["R1", "R1b", "R4", "R4b", "R2", "R3"]
    assert rows[-1].rule == "R9"


def test_every_protocol_has_an_adapter_and_rows() -> None:
    assert [*ADAPTERS] == [*PUBLISHED][1:]
    assert {row.protocol for row in ROWS} == {*PUBLISHED}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.rule)
def test_a_row_names_known_requirements_and_fields(row: Row) -> None:
    assert set(row.requirements) <= load_ledger().keys()
    assert set(row.sets) <= set(Decision.__dataclass_fields__)
    assert row.actions
    assert row.when


def test_every_row_has_a_test_named_by_its_id() -> None:
    folder = Path(__file__).parent
    names = set()
    for path in folder.glob("test_*_rows.py"):
        for name in re.findall(
            r"^def test_(\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            names |= set(re.findall(r"(?:^|_)([rgsfh]\d+[a-z]?)(?=_)", name))

    assert {row.rule.lower() for row in ROWS} <= names


def test_the_reason_is_one_sentence_that_ends_with_the_row() -> None:
    for text in (report(), BLOCKED, "nothing"):
        decision = route(judged(text, "goop_report"))
        assert decision.reason.endswith(f" ({decision.rule}).")
        assert "\n" not in decision.reason

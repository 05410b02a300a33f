"""A draft says what the description says, asks for the rest, and invents nothing."""

import tomllib
from typing import Any

import pytest

from goop_mcp.protocols.agent_request import AGENT_REQUEST
from goop_mcp.services.build_request import RequestFieldsError
from goop_mcp.services.draft_request import MOST_CHARACTERS, Draft, draft_request
from goop_mcp.validation import pipeline
from tests.repository import ROOT
from tests.requirements import requirement


def cases(name: str) -> list[dict[str, Any]]:
    text = (ROOT / "tests/cases/drafts" / name).read_text(encoding="utf-8")
    return list(tomllib.loads(text)["case"])


REQUESTS = cases("requests.toml")
CASES = [*cases("descriptions.toml"), *REQUESTS]
BY_NAME = {case["name"]: case for case in CASES}
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])


def shown(value: object) -> object:
    """Return a value as the cases write it."""
    if not isinstance(value, dict):
        return value
    if value["kind"] == "file":
        return f"file{'' if value.get('required', True) else '?'} {value['path']}"
    return f"{value['kind']} {value['text']}"


def drafted(case: dict[str, Any]) -> Draft:
    return draft_request(case["text"])


def accepts(text: str) -> bool:
    return pipeline.validate(
        text, (AGENT_REQUEST,), protocol="agent_request", mode="strict"
    ).accepted


def test_there_are_at_least_40_descriptions_and_30_requests() -> None:
    assert len(REQUESTS) >= 30
    assert len(CASES) >= 40 + len(REQUESTS)
    assert len(BY_NAME) == len(CASES)


@requirement("H-69")
@each_case
def test_nothing_is_invented_and_nothing_that_can_be_proved_is_missed(case: dict[str, Any]) -> None:
    found = [(fact.field, shown(fact.value)) for fact in drafted(case).facts]
    wanted = [(name, value) for name, value in case["facts"]]
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))


@requirement("H-69")
@each_case
def test_each_gap_is_asked_and_nothing_else_has_to_be_answered(case: dict[str, Any]) -> None:
    draft = drafted(case)
    assert sorted(gap.field for gap in draft.gaps if gap.required) == sorted(case["gaps"])
    assert all(gap.question.endswith(("?", ".")) for gap in draft.gaps)


@pytest.mark.parametrize("case", REQUESTS, ids=lambda case: case["name"])
def test_each_sentence_that_was_not_understood_is_listed_and_stays_in_the_prompt(
    case: dict[str, Any],
) -> None:
    draft = drafted(case)
    assert [each.text for each in draft.unread] == case["unread"]
    assert all(each.text in " ".join(draft.fields["task_details"].split()) for each in draft.unread)


@requirement("H-69")
@each_case
def test_a_draft_is_valid_if_and_only_if_it_has_no_gap(case: dict[str, Any]) -> None:
    draft = drafted(case)
    assert draft.is_complete is (not case["gaps"])
    assert draft.verdict.accepted is draft.is_complete
    assert accepts(draft.text) is draft.is_complete
    if not draft.is_complete:
        assert all(finding.line for finding in draft.verdict.findings)


@each_case
def test_the_place_of_a_fact_holds_what_proves_it(case: dict[str, Any]) -> None:
    lines = case["text"].split("\n")
    for fact in drafted(case).facts:
        quote = "".join(fact.quote.partition("\\u")[0].rstrip("…").split())
        assert "".join("".join(lines[fact.line - 1 :]).split()).find(quote) >= 0


def test_what_was_not_understood_is_one_question_that_needs_no_answer() -> None:
    (gap,) = [
        each
        for each in draft_request("The page is empty.\n" * 30).gaps
        if each.field == "task_details"
    ]
    assert not gap.required
    assert gap.question.startswith("Not understood, and kept in the details word for word: line 1 ")
    assert gap.question.endswith("; 10 more sentences.")


def test_what_is_known_stands_in_the_prompt_also_while_a_part_is_missing() -> None:
    draft = draft_request("Add a table to docs/a.md. At most ten minutes.")
    assert not draft.is_complete
    assert 'timeout="10m"' in draft.text


def test_a_file_that_is_asked_for_and_may_not_be_written_is_asked_about() -> None:
    draft = draft_request("Add a table to docs/a.md. Read only.")
    assert [each.question for each in draft.gaps if each.field == "constraints"] == [
        "The text says 'Read only' and asks for docs/a.md. May that file be written?"
    ]


def test_answers_fill_the_gaps_and_count_instead_of_the_description() -> None:
    case = BY_NAME["a priority that is no known word"]
    draft = draft_request(case["text"], {"priority": "high", "original_intent": "Another goal"})
    assert draft.is_complete
    assert 'priority="high"' in draft.text
    assert "<original_intent>Another goal</original_intent>" in draft.text
    assert "original_intent" not in {fact.field for fact in draft.facts}


def test_what_no_field_takes_stays_in_the_prompt() -> None:
    draft = drafted(BY_NAME["paragraphs after lists belong to nothing"])
    assert "Ask Maria which alarms are read." in draft.text
    assert "Thank you!" in draft.text


def test_a_secret_is_in_no_part_of_a_draft() -> None:
    draft = drafted(BY_NAME["a secret"])
    assert draft.redactions == 1
    assert "ghp_" not in str(draft.to_dict())


def test_answers_that_do_not_fit_are_a_gap_with_the_reason() -> None:
    case = BY_NAME["clear, with labels"]
    draft = draft_request(case["text"], {"max_retries": -1})
    assert not draft.is_complete
    assert any("max_retries" in gap.question for gap in draft.gaps)
    assert not accepts(draft.text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \n ", "the description is empty"),
        ("x" * (MOST_CHARACTERS + 1), "expected at most 65,536"),
        ("Priority: low\nPriority: x\n" * 400, "divide the task"),
    ],
)
def test_a_description_without_bounds_is_refused(text: str, message: str) -> None:
    with pytest.raises(RequestFieldsError, match=message):
        draft_request(text)

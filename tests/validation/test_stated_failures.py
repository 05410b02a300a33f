"""Statements of failure in a success, each in its place, and honest texts like them (D-120)."""

import pytest

from goop_mcp import Severity, Verdict, validate
from goop_mcp.validation.samples import COMPLETE_REPLY
from goop_mcp.validation.stated_failures import stated_failure
from tests.growth import assert_linear
from tests.requirements import requirement
from tests.validation.placed_texts import PlacedText, judge_placed, load_placed
from tests.validation.replies import MODES
from tests.validation.test_placed_texts import HONEST, ids

FAILURES = list(load_placed("failure"))
CONTRADICTIONS = (
    "check-contradicts-itself",
    "check-without-result",
    "complete-with-failed-check",
    "summary-contradicts-status",
    "text-contradicts-status",
)


def is_failure_found(verdict: Verdict) -> bool:
    return any(finding.rule.endswith(CONTRADICTIONS) for finding in verdict.findings)


@requirement("G-47", "S-38", "F-10")
@pytest.mark.parametrize("placed", FAILURES, ids=ids)
def test_a_failure_that_a_success_states_is_found_in_its_place(placed: PlacedText) -> None:
    for mode in MODES:
        assert is_failure_found(judge_placed(placed, mode)) is placed.found


@pytest.mark.parametrize("placed", HONEST, ids=ids)
def test_an_honest_text_states_no_failure(placed: PlacedText) -> None:
    assert not is_failure_found(judge_placed(placed))


def test_the_set_is_large_and_nearly_all_of_it_is_found() -> None:
    assert sum(placed.found for placed in FAILURES) >= 0.95 * len(FAILURES) > 300


@pytest.mark.parametrize("text", ["Could not add the login endpoint", "❌ build broken"])
@pytest.mark.parametrize("old", [">Added the login endpoint.<", ">Login endpoint<"])
def test_who_is_not_finished_may_say_so(old: str, text: str) -> None:
    reply = COMPLETE_REPLY.replace(old, f">{text}<")
    errors = validate(reply).of_severity(Severity.ERROR)

    assert [each.rule for each in errors] == ["goop_report/text-contradicts-status"]
    assert text in errors[0].message
    assert errors[0].line is not None
    for status in ("PARTIAL", "CHECKPOINT"):
        unfinished = validate(reply.replace(">COMPLETE<", f">{status}<"))
        assert unfinished.accepted
        assert not is_failure_found(unfinished)


@requirement("G-47")
@pytest.mark.parametrize(
    ("agent", "summary", "found"),
    [
        ("goop-executor", "The build is broken.", True),
        ("goop-verifier", "The build is broken.", False),
        ("goop-debugger", "Failed to start: PORT is unset", False),
        ("goop-explorer", "Endpoint not implemented.", False),
        ("goop-verifier", "❌ 2 of 5 must-haves are missing", False),
        ("goop-verifier", "I could not finish the verification", True),
    ],
)
def test_who_reviews_may_state_what_is_broken(agent: str, summary: str, found: bool) -> None:
    reply = COMPLETE_REPLY.replace(">Added the login endpoint.<", f">{summary}<")

    verdict = validate(reply.replace("goop-executor", agent))

    assert is_failure_found(verdict) is found


@pytest.mark.parametrize(
    "unit",
    [
        "❌ ",
        "could not ",
        "konnte ",
        "not done ",
        "無法",
        "は",
        "tests ",
        "the ",
        "a. ",
        "\n",
        "so ",
    ],
)
def test_statements_are_read_in_time_linear_to_their_length(unit: str) -> None:
    assert_linear(
        stated_failure, lambda size: "could not add " + unit * size, sizes=(2_000, 16_000)
    )

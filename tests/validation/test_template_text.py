"""What is template text and what only looks like it, value by value (D-22)."""

import time

import pytest

from goop_mcp import Severity
from goop_mcp.validation.template_phrases import (
    AGENT_REQUEST_PROSE,
    FACTORY_PROSE,
    GOOP_REPORT_PROSE,
    PHRASES,
    SPECKIT_PROSE,
    Prose,
)
from goop_mcp.validation.template_text import ValueKind, template_text
from tests.requirements import requirement
from tests.validation.template_samples import (
    HONEST_PATHS,
    LOOK_ALIKES,
    OPEN,
    OPEN_PATHS,
    PATHS,
    WHOLE,
    commit_subjects,
)

PROSE = (GOOP_REPORT_PROSE, AGENT_REQUEST_PROSE, SPECKIT_PROSE, FACTORY_PROSE)


@requirement("G-53", "H-65")
@pytest.mark.parametrize("value", WHOLE)
def test_a_whole_value_of_a_template_is_an_error(value: str) -> None:
    assert template_text(value) is Severity.ERROR
    assert template_text(f"  {value}\n") is Severity.ERROR


@pytest.mark.parametrize("value", PATHS)
def test_a_path_of_a_template_is_an_error(value: str) -> None:
    assert template_text(value, ValueKind.PATH) is Severity.ERROR


@pytest.mark.parametrize("value", OPEN)
def test_a_known_slot_in_a_sentence_is_a_warning(value: str) -> None:
    assert template_text(value) is Severity.WARNING


@pytest.mark.parametrize("value", OPEN_PATHS)
def test_a_slot_in_a_path_is_a_warning(value: str) -> None:
    assert template_text(value, ValueKind.PATH) is Severity.WARNING


@pytest.mark.parametrize("value", LOOK_ALIKES)
def test_what_looks_like_a_slot_and_is_none_stays(value: str) -> None:
    assert [template_text(value, ValueKind.TEXT, prose) for prose in PROSE] == [None] * len(PROSE)


@pytest.mark.parametrize("value", HONEST_PATHS)
def test_a_path_that_files_have_stays(value: str) -> None:
    assert template_text(value, ValueKind.PATH) is None


def test_subjects_of_commits_stay() -> None:
    assert [subject for subject in commit_subjects(22, 5_000) if template_text(subject)] == []


@pytest.mark.parametrize("prose", PROSE, ids=["goop_report", "agent_request", "speckit", "factory"])
def test_the_prose_of_a_family_is_written_as_it_is_looked_up_and_found(prose: Prose) -> None:
    for phrase in prose.phrases | PHRASES:
        assert " ".join(phrase.split()).casefold() == phrase
        ended = f"{phrase.capitalize()}." if phrase[-1].isalpha() else phrase
        assert template_text(ended, ValueKind.TEXT, prose) is Severity.ERROR


@pytest.mark.parametrize("value", ["Description", "Brief description of completed work"])
def test_prose_that_good_examples_of_a_family_hold_is_valid_there(value: str) -> None:
    assert template_text(value, ValueKind.TEXT, AGENT_REQUEST_PROSE) is None
    assert template_text(value, ValueKind.TEXT, FACTORY_PROSE) is None


@pytest.mark.parametrize("sha", ["abc1234", "1234567"])
def test_the_hash_of_a_template_is_a_warning(sha: str) -> None:
    assert template_text(sha, ValueKind.SHA) is Severity.WARNING
    assert template_text(sha) is None


@pytest.mark.parametrize("value", ["N", "M", "X", "Y", "XX", "N/M", "[n]", "0.X", "TBD", "~N"])
def test_a_letter_where_a_number_belongs_is_an_error(value: str) -> None:
    assert template_text(value, ValueKind.NUMBER) is Severity.ERROR


@pytest.mark.parametrize(
    "unit",
    [
        "[",
        "]",
        "[a",
        "{{",
        "<",
        "<a ",
        "[a](",
        "__a",
        "%a",
        "${",
        "`",
        '"',
        "a|",
        "|",
        "N ",
        "- [a]\n",
        "```\n",
        "X% ",
        "1. ",
        " [foo] x",
        "a [file] x",
        "[a]/",
        "a [topic",
        "x {topic} ",
        "see goop-[a",
        "TODO: ",
        "path/to/",
        ". ",
        "a" * 50 + " [topic",
        "here ",
        "W[wave]",
        "__a_",
    ],
)
def test_long_runs_take_time_linear_to_their_length(unit: str) -> None:
    def cost(length: int) -> float:
        text = "x " + unit * (length // len(unit))
        least = 9.0
        for _ in range(3):
            began = time.thread_time()
            for place in ValueKind:
                template_text(text, place)

            least = min(least, time.thread_time() - began)

        return least

    short, long = cost(4_000), cost(64_000)
    assert long < max(short * 80, 0.02)


@requirement("G-53")
@pytest.mark.parametrize(
    "value",
    [
        *(
            "Brief summary of the changes",
            "Exact next step",
            "What was implemented",
            "Title of the memory",
        ),
        *(
            "Reason for being blocked",
            "(what was done)",
            "test command - result",
            "Describe the blocker",
        ),
    ],
)
def test_prose_that_asks_for_a_report_is_an_error_there_only(value: str) -> None:
    assert template_text(value, prose=GOOP_REPORT_PROSE) is Severity.ERROR
    assert template_text(value, prose=AGENT_REQUEST_PROSE) is None

"""What check texts show: false ones are found, honest ones are left alone."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp import Severity, validate
from goop_mcp.validation.check_texts import judge_claim, parse_result
from goop_mcp.validation.check_texts.results import CheckResult
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.growth import assert_linear
from tests.requirements import requirement
from tests.sets import lines_of
from tests.validation.replies import MODES

CASES = [
    (case["text"], case["shows"])
    for line in (
        (Path(__file__).parent / "check_texts.jsonl").read_text(encoding="utf-8").splitlines()
    )
    for case in [json.loads(line)]
]
IN_LANGUAGES = lines_of("check_texts")
RULES = {
    "success": None,
    "failure": "goop_report/check-contradicts-itself",
    "nothing": "goop_report/check-without-result",
}
KINDS = {None: "success", "contradicts": "failure", "without result": "nothing"}
PIECES = (
    "1",
    "0",
    "12",
    "/",
    ",",
    ";",
    ":",
    "(",
    ")",
    "`",
    "'",
    '"',
    "no",
    "not",
    "of",
    "tests",
    "failed",
    "3/4",
    "→",
)
_GOOD = "pytest: 12 passed"


def reply_with(
    text: str, *, passed: str = "true", summary: str = "Added the login endpoint."
) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    check = f'<check name="tests" passed="{passed}">{text}</check>'
    reply = COMPLETE_REPLY.replace(
        "<summary>Added the login endpoint.</summary>", f"<summary>{summary}</summary>"
    )

    return reply.replace(f'<check name="tests" passed="true">{_GOOD}</check>', check)


def test_the_sets_are_as_large_as_they_should_be() -> None:
    counts = Counter(shows for _, shows in CASES)

    assert counts["failure"] + counts["nothing"] >= 60
    assert counts["success"] >= 80


@requirement("G-47")
@pytest.mark.parametrize(("text", "shows"), CASES)
def test_text_is_read_as_what_it_shows(text: str, shows: str) -> None:
    claim = judge_claim(text)

    assert KINDS[claim and claim.kind] == shows, parse_result(text)


@requirement("G-44", "G-47")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shows", sorted(RULES))
def test_passed_check_gets_the_finding_of_its_text_and_no_other(shows: str, mode: Mode) -> None:
    rule = RULES[shows]
    for text in [each for each, kind in CASES if kind == shows and "\x1b" not in each]:
        verdict = validate(reply_with(text), mode=mode)

        weighty = {each.rule for each in verdict.findings if each.severity is not Severity.INFO}
        assert weighty == ({rule} if rule else set()), text


@requirement("G-47")
@pytest.mark.parametrize("text", [text for text, shows in CASES if shows != "success"])
def test_failed_check_may_show_its_failure(text: str) -> None:
    verdict = validate(reply_with(text, passed="false"))

    assert not [each for each in verdict.findings if "/check-" in each.rule], text


@requirement("G-47")
@pytest.mark.parametrize(
    ("summary", "text", "passed", "contradicts"),
    [
        ("All 14 tests pass.", "12 passed, 2 failed", "false", True),
        ("Added login; all tests are green.", "2 failed", "false", True),
        ("All tests passed.", "FAILED (failures=1)", "false", True),
        ("Added login; 10 passed, 2 failed.", "pytest ran", "true", True),
        ("Added login, 12 of the 14 tests pass.", "12 passed, 2 failed", "false", False),
        ("All 14 tests pass.", "14 passed", "true", False),
        ("All 14 tests pass.", "eslint: 3 errors", "false", False),
        ("Added login; 2 failed before, 14 passed now.", "14 passed", "true", False),
        ("Locks the account after 3 failed attempts; 14 tests pass.", "14 passed", "true", False),
        ("Fixed the 2 failed tests, all 14 pass.", "14 passed", "true", False),
    ],
)
def test_summary_counts_as_well(summary: str, text: str, passed: str, contradicts: bool) -> None:
    verdict = validate(reply_with(text, passed=passed, summary=summary))

    assert (
        "goop_report/check-contradicts-itself" in {each.rule for each in verdict.findings}
    ) is contradicts


@requirement("G-47")
@pytest.mark.parametrize("language", sorted({case["language"] for case in IN_LANGUAGES}))
@pytest.mark.parametrize("mode", MODES)
def test_reports_in_each_language_get_the_finding_of_their_text(language: str, mode: Mode) -> None:
    for case in IN_LANGUAGES:
        if case["language"] != language:
            continue

        verdict = validate(reply_with(case["text"]), mode=mode)
        weighty = {each.rule for each in verdict.findings if each.severity is not Severity.INFO}
        rule = RULES[case["shows"]]
        assert weighty == ({rule} if rule else set()), case["text"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Pruefung: 2 Tests fehlgeschlagen", "failure"),
        ("2 tests ont echoue", "failure"),
        ("codigo de salida 1", "failure"),
        ("nao foi possivel executar os testes", "nothing"),
        ("12 passed, 2 个失败", "failure"),
        ("Tests: ２ 个失败，１０ 个通过", "failure"),
    ],
)
def test_missing_accents_and_mixed_languages_are_read(text: str, shown: str) -> None:
    claim = judge_claim(text)

    assert KINDS[claim and claim.kind] == shown


def test_counts_are_read_for_other_uses_too() -> None:
    result = parse_result("3 failed, 39 passed, 2 skipped, 1 error in 4.21s\nexit code: 1")

    assert (result.passed, result.failed, result.skipped, result.errors) == (39, 3, 2, 1)
    assert result.exit_status == 1
    assert parse_result("Tests run: 12, Failures: 0").total == 12
    assert parse_result("looks fine") == CheckResult()


def test_the_end_of_a_long_output_counts() -> None:
    result = parse_result("compiling part 1\n" * 50_000 + "12 passed, 2 failed")
    assert (result.passed, result.failed) == (12, 2)


@given(
    st.lists(
        st.sampled_from([text for text, _ in CASES] + [*PIECES, "\n"]),
        max_size=8,
    ).map(" ".join)
)
def test_any_text_is_read(text: str) -> None:
    parse_result(text)
    judge_claim(text)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "12 tests ",
            "1/2 ",
            "now ",
            "skipped ",
            "'a",
            '"',
            "`x",
            "should be ",
            "all tests ",
            "12 of ",
            "exit ",
        ),
        *(
            "from 5 errors ",
            "failed: ",
            "1,234 ",
            "no ",
            "not run ",
            "passed (",
            "FAIL a/b ",
            "12%",
            "tests: ",
        ),
        *(
            "2 Tests nicht ",
            "fehlgeschlagen ",
            "échoué ",
            "тесты не ",
            "个失败",
            "が成功",
            "，失败 2",
        ),
        *("coverage 4% ", "required 80 % ", "coverage ", "4%, "),
        *("no se ", "keine Tests ", "errors    ", "если ", "wenn "),
        *("12 passed (14) ", "1 failed before ", "\n", "\x1b[", "[1;", "2 failed logins ", "- "),
    ],
)
def test_time_is_linear_in_the_text(unit: str) -> None:
    assert_linear(parse_result, lambda times: unit * times, sizes=(2_000, 16_000))

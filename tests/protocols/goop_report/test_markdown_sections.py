"""The sections of profile v1 are read as a report."""

import pytest

from goop_mcp import Severity
from goop_mcp.protocols.goop_report.model import Status
from tests.protocols.goop_report.legacy_replies import (
    SECTIONS,
    assert_converted,
    sections,
)
from tests.requirements import requirement
from tests.validation.replies import (
    judge,
    judge_both,
    report_of,
    rules_of,
)


@requirement("P-08")
@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("complete", Status.COMPLETE),
        ("Complete", Status.COMPLETE),
        ("PARTIAL", Status.PARTIAL),
        ("checkpoint", Status.CHECKPOINT),
        ("complete - all tests pass", Status.COMPLETE),
    ],
)
def test_sections_of_markdown_are_read_by_their_first_word(word: str, status: Status) -> None:
    verdict = assert_converted(sections(STATUS=word), SECTIONS)

    assert report_of(verdict).status is status
    assert report_of(verdict).summary == "Added the login endpoint."


@pytest.mark.parametrize("word", ["done", "success", "failed", "completed", "✅", "not complete"])
def test_other_word_in_the_status_section_is_never_complete(word: str) -> None:
    for verdict in judge_both(sections(STATUS=word)):
        assert "goop_report/unknown-status" in rules_of(verdict, Severity.ERROR)
        assert report_of(verdict).status is None


def test_blocked_sections_take_their_blocker_from_next_or_the_summary() -> None:
    with_next = report_of(judge(sections(STATUS="blocked", NEXT="Give me the key."))).handoff
    without = report_of(judge(sections(STATUS="blocked", SUMMARY="No key."))).handoff

    assert with_next is not None
    assert with_next.blockers == "Give me the key."
    assert without is not None
    assert without.blockers == "No key."


def test_sections_may_stand_in_any_order() -> None:
    text = "## SUMMARY\nAdded it.\n\n## NEXT\nnothing\n\n## STATUS\ncomplete\n"

    assert report_of(assert_converted(text, SECTIONS)).summary == "Added it."


def test_artifacts_are_list_items_of_path_and_text_without_an_action() -> None:
    verdict = assert_converted(
        sections(ARTIFACTS="- src/login.py - the endpoint\n- `README.md`\n"), SECTIONS
    )

    artifacts = report_of(verdict).artifacts
    assert artifacts is not None
    assert [file.action for file in artifacts.files] == [None, None]
    assert artifacts.files[0].path == "src/login.py"
    assert artifacts.files[0].description == "the endpoint"
    assert "README.md" in str(artifacts.files[1].path)


def test_artifacts_none_are_no_files() -> None:
    artifacts = report_of(assert_converted(sections(ARTIFACTS="none"), SECTIONS)).artifacts

    assert artifacts is None or artifacts.files == ()


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        ("- tests: pass", True),
        ("- tests passed", True),
        ("- ✓ tests", True),
        ("- typecheck: OK", True),
        ("- tests: fail", False),
        ("- 2 tests failed", False),
        ("- ✗ lint", False),
        ("- looked at it", None),
    ],
)
def test_checks_are_passed_or_failed_from_clear_words_only(line: str, passed: bool | None) -> None:
    checks = report_of(judge(sections(STATUS="partial", VERIFICATION=line))).verification

    assert checks is not None
    assert [check.passed for check in checks] == [passed]


def test_verification_not_applicable_is_no_check() -> None:
    assert not report_of(assert_converted(sections(VERIFICATION="n/a"), SECTIONS)).verification


def test_next_section_is_the_next_action_with_the_agent_and_command_it_names() -> None:
    text = sections(NEXT="Let goop-tester check the endpoint, then run /goop-accept.")

    handoff = report_of(assert_converted(text, SECTIONS)).handoff

    assert handoff is not None
    assert handoff.next_action is not None
    assert handoff.next_action.text == "Let goop-tester check the endpoint, then run /goop-accept."
    assert handoff.next_action.agent == "goop-tester"
    assert handoff.next_command == "/goop-accept"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("## STATUS\ncomplete\n", id="status_alone"),
        pytest.param("## SUMMARY\nAdded it.\n", id="summary_alone"),
        pytest.param("```\n## STATUS\ncomplete\n\n## SUMMARY\nx\n```\n", id="inside_a_fence"),
        pytest.param("# STATUS\ncomplete\n\n# SUMMARY\nx\n", id="first_level"),
        pytest.param("### STATUS\ncomplete\n\n### SUMMARY\nx\n", id="third_level"),
        pytest.param(
            "## Status of things\ncomplete\n\n## Summary of things\nx\n", id="longer_words"
        ),
        pytest.param("STATUS\ncomplete\n\nSUMMARY\nx\n", id="no_headings"),
    ],
)
def test_other_headings_are_no_report(text: str) -> None:
    for verdict in judge_both(text):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/no-envelope"}

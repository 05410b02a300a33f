"""Reports under another root are read by the table of their statuses."""

import pytest

from goop_mcp import Severity
from goop_mcp.protocols.goop_report.model import Status
from tests.protocols.goop_report.legacy_replies import (
    OTHER_ROOT,
    rooted,
)
from tests.requirements import requirement
from tests.validation.replies import (
    EXECUTOR,
    judge,
    judge_both,
    report_of,
    rules_of,
    weighty_rules,
)

ROOTS = [
    ("debug_report", "BUG FIXED", Status.COMPLETE, None),
    ("debug_report", "BUG IDENTIFIED", Status.PARTIAL, None),
    ("debug_report", "BUG INVESTIGATING", Status.PARTIAL, None),
    ("verification_report", "VERIFICATION PASSED", Status.COMPLETE, True),
    ("verification_report", "VERIFICATION FAILED", Status.COMPLETE, False),
    ("verification_report", "NEEDS_MANUAL", Status.BLOCKED, None),
    ("response", "DESIGN COMPLETE", Status.COMPLETE, None),
    ("response", "DESIGN OPTIONS", Status.BLOCKED, None),
    ("response", "DESIGN NEEDS_INPUT", Status.BLOCKED, None),
    ("response", "SEARCH COMPLETE", Status.COMPLETE, None),
    ("response", "SEARCH PARTIAL", Status.PARTIAL, None),
    ("response", "SEARCH NO_RESULTS", Status.PARTIAL, None),
    ("response", "TESTS COMPLETE", Status.COMPLETE, None),
    ("response", "TESTS FAILING", Status.COMPLETE, False),
    ("response", "TESTS PARTIAL", Status.PARTIAL, None),
    ("goopspec_response", "DOCS COMPLETE", Status.COMPLETE, None),
    ("goopspec_response", "DOCS PARTIAL", Status.PARTIAL, None),
    ("goopspec_response", "DOCS BLOCKED", Status.BLOCKED, None),
    ("distillation", "DISTILLATION COMPLETE", Status.COMPLETE, None),
    ("elefant_report", "COMPLETE", Status.COMPLETE, None),
    ("elefant_report", "PARTIAL", Status.PARTIAL, None),
    ("elefant_report", "BLOCKED", Status.BLOCKED, None),
]


@requirement("P-08")
@pytest.mark.parametrize(("root", "word", "status", "passed"), ROOTS)
def test_sibling_root_is_converted_by_the_table(
    root: str, word: str, status: Status, passed: bool | None
) -> None:
    verdict = judge(
        rooted(root, word, blockers="Choose one." if status is Status.BLOCKED else "NONE")
    )

    report = report_of(verdict)
    assert OTHER_ROOT in rules_of(verdict, Severity.WARNING)
    assert verdict.accepted
    assert report.status is status
    assert [check.passed for check in report.verification or ()] == (
        [] if passed is None else [passed]
    )


@pytest.mark.parametrize(("root", "word", "status"), [row[:3] for row in ROOTS])
def test_sibling_root_is_refused_in_strict_mode(root: str, word: str, status: Status) -> None:
    verdict = judge(rooted(root, word), "strict")

    assert OTHER_ROOT in rules_of(verdict, Severity.ERROR)
    assert report_of(verdict).status is status


@pytest.mark.parametrize(
    "root", ["debug_report", "verification_report", "goopspec_response", "distillation"]
)
@pytest.mark.parametrize("word", ["DONE", "", "COMPLETE?", "BUG SOLVED"])
def test_status_outside_the_table_is_an_error_of_its_own(root: str, word: str) -> None:
    for verdict in judge_both(rooted(root, word)):
        assert not verdict.accepted
        assert "goop_report/unknown-status" in rules_of(verdict, Severity.ERROR)
        assert report_of(verdict).status is None


@pytest.mark.parametrize("word", ["OK", "200", "COMPLETE", ""])
def test_response_with_a_status_outside_the_table_is_no_report(word: str) -> None:
    for verdict in judge_both(rooted("response", word)):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/no-envelope"}


def test_everything_else_of_a_sibling_root_is_kept() -> None:
    content = (
        "<summary>Off by one.</summary><root_cause>index starts at"
        " 1</root_cause><fix>src/a.py</fix>"
    )

    values = judge(rooted("debug_report", "BUG FIXED", content)).to_dict()["envelope"]

    assert "index starts at 1" in str(values["extensions"]["root_cause"])
    assert "src/a.py" in str(values["extensions"]["fix"])


def test_elefant_report_says_none_in_capitals_and_its_read_files_are_kept_as_an_extension() -> None:
    content = (
        "<summary>Read it.</summary><artifacts><files><file path='a.py' action='read'>x</file>"
        "<file path='b.py' action='modified'>y</file></files></artifacts>"
    )

    verdict = judge(rooted("elefant_report", "COMPLETE", content))

    report = report_of(verdict)
    assert verdict.accepted
    assert report.handoff is not None
    assert report.handoff.blockers is None
    assert report.artifacts is not None
    assert "read" not in {str(file.action) for file in report.artifacts.files}
    assert "a.py" in str(verdict.to_dict()["envelope"]["extensions"])


def test_inner_report_wins_over_the_root_around_it() -> None:
    text = (
        "<verification_report>\n<status>VERIFICATION"
        f" FAILED</status>\n{EXECUTOR}\n</verification_report>\n"
    )

    verdict = judge(text)

    assert verdict.envelope == judge(EXECUTOR).envelope
    assert OTHER_ROOT not in weighty_rules(verdict)

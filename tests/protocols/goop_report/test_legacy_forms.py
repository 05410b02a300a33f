"""What holds of every older and sibling form of the report."""

import json

import pytest

from goop_mcp import Severity, validate
from tests.protocols.goop_report.legacy_replies import (
    LEGACY,
    OTHER_ROOT,
    SECTIONS,
    legacy,
    rooted,
    sections,
)
from tests.validation.replies import (
    DRAFT,
    EXECUTOR,
    MODES,
    fenced,
    judge,
    judge_both,
    report_of,
    rules_of,
    weighty_rules,
)

EXECUTOR_REPORT = report_of(judge(EXECUTOR))
OLDER = {
    LEGACY: legacy(notes=["a & b <c>"]),
    SECTIONS: sections(NEXT="Let goop-tester check a & b <c>."),
    OTHER_ROOT: rooted("debug_report", "BUG FIXED"),
}
ALL_OLDER = [pytest.param(text, rule, id=rule.partition("/")[2]) for rule, text in OLDER.items()]


@pytest.mark.parametrize(("text", "rule"), ALL_OLDER)
def test_older_form_is_recognised_without_naming_the_protocol(text: str, rule: str) -> None:
    verdict = validate(text, protocol="auto")

    assert verdict.protocol == "goop_report"
    assert rule in weighty_rules(verdict)


@pytest.mark.parametrize(("text", "rule"), ALL_OLDER)
def test_older_form_is_looked_for_last(text: str, rule: str) -> None:
    for reply in (f"{text}\n{fenced(EXECUTOR)}", f"{fenced(EXECUTOR)}\n{text}"):
        verdict = judge(reply)

        assert verdict.envelope == EXECUTOR_REPORT
        assert rule not in weighty_rules(verdict)


@pytest.mark.parametrize(("text", "rule"), ALL_OLDER)
def test_older_form_is_written_again_as_a_report(text: str, rule: str) -> None:
    verdict = judge(text)

    assert [repair.rule for repair in verdict.repairs] == [rule]
    assert verdict.repaired_text is not None
    again = judge(verdict.repaired_text)
    assert report_of(again).status is report_of(verdict).status
    assert report_of(again).summary == report_of(verdict).summary
    assert rule not in weighty_rules(again)


@pytest.mark.parametrize(("text", "rule"), ALL_OLDER)
def test_place_of_the_older_form_is_named(text: str, rule: str) -> None:
    prose = "One.\n\nTwo.\n\n"

    moved = [f for f in judge(prose + text).findings if f.rule == rule]
    unmoved = [f for f in judge(text).findings if f.rule == rule]

    assert moved[0].line is not None
    assert unmoved[0].line is not None
    assert moved[0].line == unmoved[0].line + prose.count("\n")


@pytest.mark.parametrize(("text", "rule"), ALL_OLDER)
def test_cut_off_report_is_not_answered_with_an_older_form(text: str, rule: str) -> None:
    for mode in MODES:
        verdict = judge(f"{text}\n\n{EXECUTOR[:700]}", mode)

        assert rules_of(verdict, Severity.ERROR) == {"envelope/truncated"}
        assert rule not in weighty_rules(verdict)


@pytest.mark.parametrize("tag", ["think", "thinking", "reasoning"])
@pytest.mark.parametrize(("text", "rule"), ALL_OLDER)
def test_older_form_that_was_only_thought_is_no_report(text: str, rule: str, tag: str) -> None:
    for verdict in judge_both(f"<{tag}>\n{text}\n</{tag}>\n\nAll done.\n"):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/no-envelope"}
        assert rule not in weighty_rules(verdict)


@pytest.mark.parametrize(("text", "rule"), ALL_OLDER)
def test_older_form_next_to_a_draft_in_a_thinking_block_counts(text: str, rule: str) -> None:
    verdict = judge(f"<thinking>\n{DRAFT}\n</thinking>\n{text}")

    assert rule in weighty_rules(verdict)
    assert report_of(verdict).summary != "Only a draft."


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"status": "complete", "status": "failed", "summary": "x"}', id="key_twice"),
        pytest.param('{"status": "complete", "summary": "x", "n": NaN}', id="not_a_number"),
        pytest.param(
            '{"status": "complete", "summary": "x", "n": ' + "9" * 5_000 + "}", id="long_number"
        ),
        pytest.param(
            '{"status": "complete", "summary": "x", "a": ' + "[" * 100_000 + "}", id="open_lists"
        ),
        pytest.param(
            '{"status": "complete", "summary": "x", "a": ' + "[" * 5_000 + "]" * 5_000 + "}",
            id="deep_lists",
        ),
        pytest.param('{"status": "complete", "summary": "\\ud800"}', id="escaped_lone_surrogate"),
        pytest.param('{"status": "complete", "summary": "a\ud800b"}', id="lone_surrogate"),
        pytest.param('{"status": "complete", "summary": "a\\u0000b"}', id="escaped_nul"),
        pytest.param(
            '{"status": "complete", "summary": "x", "notes": ["\\u001b[0m"]}',
            id="escaped_terminal_colour",
        ),
        pytest.param("## STATUS\ncomplete\n\n## SUMMARY\na\x00b\n", id="nul_in_a_section"),
        pytest.param(
            "## STATUS\ncomplete\n\n## SUMMARY\n\x1b[32mok\x1b[0m\n",
            id="terminal_colours_in_a_section",
        ),
        pytest.param(
            "## STATUS\ncomplete\n\n## SUMMARY\nx\n\n## ARTIFACTS\n- a\ud800.py - y\n",
            id="surrogate_in_a_path",
        ),
        pytest.param(
            "<debug_report><status>BUG FIXED</status><x>\x00</x></debug_report>",
            id="nul_under_another_root",
        ),
    ],
)
def test_odd_values_in_an_older_form_break_nothing(text: str) -> None:
    for verdict in judge_both(text):
        assert (verdict.feedback is None) == verdict.accepted
        json.dumps(verdict.to_dict())
        if verdict.repaired_text is not None:
            assert judge(verdict.repaired_text).envelope is not None

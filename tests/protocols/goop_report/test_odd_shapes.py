"""Reports of an odd shape: doubled, packed or misplaced parts, blanks, and values without end."""

import pytest

from goop_mcp import Severity
from goop_mcp.protocols.goop_report.model import Phase, Status
from goop_mcp.protocols.goop_report.writing import write_report
from tests.requirements import requirement
from tests.validation.replies import (
    EXECUTOR,
    PLANNER,
    SUMMARY,
    changed,
    judge,
    judge_both,
    report_of,
    rules_of,
    weighty_rules,
)

STATUS = "<status>COMPLETE</status>"


def doubled(name: str, text: str) -> str:
    """Return `text` with its first element `name` standing twice."""
    start = text.index(f"<{name}")
    closed_at_once = (
        text.find("/>", start) < text.find(">", start) + 1 and text.find("/>", start) >= 0
    )
    end = (
        text.index("/>", start) + 2
        if closed_at_once
        else text.index(f"</{name}>", start) + len(name) + 3
    )

    return text[:end] + text[start:end] + text[end:]


@requirement("G-09", "G-36")
@pytest.mark.parametrize(
    "name",
    [
        *(
            "task_id",
            "task_name",
            "phase",
            "wave",
            "spec_locked",
            "artifacts",
            "files",
            "commits",
            "memory",
        ),
        *(
            "verification",
            "ready",
            "next_action",
            "files_to_read",
            "blockers",
            "suggest_new_session",
        ),
    ],
)
def test_every_part_that_may_stand_once_is_refused_when_it_stands_twice(name: str) -> None:
    for verdict in judge_both(doubled(name, EXECUTOR)):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/duplicate-element"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (STATUS, "<status> COMPLETE </status>"),
        (STATUS, "<status>\n    COMPLETE\n  </status>"),
        (STATUS, "<status\n>COMPLETE</status >"),
        ("<agent>goop-executor</agent>", "<agent>\n\tgoop-executor\n</agent>"),
        ('<wave current="2" total="3"/>', "<wave  current = '2'\n total=' 3 ' />"),
        ('<wave current="2" total="3"/>', '<wave current="2" total="3"></wave>'),
        ('name="tests" passed="true"', 'passed=" true " name="tests"'),
        ('sha="a1b2c3d"', 'sha=" a1b2c3d "'),
        ("<ready>true</ready>", "<ready> true\n</ready>"),
    ],
)
def test_blanks_around_a_value_are_accepted(old: str, new: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (old, new))):
        assert weighty_rules(verdict) == set()
        assert verdict.envelope == report_of(judge(EXECUTOR))


@requirement("G-18", "G-29", "G-33")
@pytest.mark.parametrize("name", ["spec_locked", "ready", "suggest_new_session"])
@pytest.mark.parametrize("blank", ["<{}></{}>", "<{}> </{}>"])
def test_blank_is_neither_true_nor_false(name: str, blank: str) -> None:
    old = f"<{name}>false</{name}>" if name == "suggest_new_session" else f"<{name}>true</{name}>"

    for verdict in judge_both(changed(EXECUTOR, (old, blank.format(name, name)))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/not-a-boolean"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            '<next_action agent="goop-executor">W2.T4: Implement session management</next_action>',
            "<next_action><agent>goop-executor</agent><text>W2.T4</text></next_action>",
            id="attribute_as_an_element",
        ),
        pytest.param(STATUS, "", id="status_nowhere"),
        pytest.param(
            f'version="0.1.6">\n  {STATUS}',
            'version="0.1.6" status="COMPLETE">',
            id="status_as_an_attribute",
        ),
        pytest.param(
            STATUS, "<state><status>COMPLETE</status></state>", id="status_in_another_element"
        ),
        pytest.param(
            f"<summary>{SUMMARY}</summary>",
            f"<summary>{SUMMARY}{STATUS}</summary>",
            id="status_twice_packed",
        ),
        pytest.param(STATUS, "<statuses>COMPLETE</statuses>", id="another_name"),
        pytest.param(STATUS, "<!-- <status>COMPLETE</status> -->", id="status_in_a_comment"),
        pytest.param(STATUS, "<![CDATA[<status>COMPLETE</status>]]>", id="status_in_cdata"),
        pytest.param(STATUS, "&lt;status&gt;COMPLETE&lt;/status&gt;", id="status_escaped"),
    ],
)
def test_part_in_the_wrong_place_is_never_taken_for_the_part(old: str, new: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (old, new))):
        assert not verdict.accepted


def test_status_packed_into_the_summary_does_not_stand_for_the_missing_one() -> None:
    edits = [
        (f"  {STATUS}\n", ""),
        (f"<summary>{SUMMARY}</summary>", f"<summary>{SUMMARY}{STATUS}</summary>"),
    ]

    for verdict in judge_both(changed(EXECUTOR, *edits)):
        assert not verdict.accepted
        assert verdict.envelope is None or report_of(verdict).status is None


@pytest.mark.parametrize("digits", ["9" * 30, "9" * 5_000, "1" + "0" * 400])
def test_numbers_without_end_break_nothing(digits: str) -> None:
    edits = [
        ('<wave current="2" total="3"/>', f'<wave current="1" total="{digits}"/>'),
        ('importance="0.8"', f'importance="{digits}"'),
        ("<task_id>W2.T3", f"<task_id>W{digits}.T{digits}"),
        ('version="0.1.6"', f'version="0.1.{digits}"'),
    ]

    for edit in edits:
        for verdict in judge_both(changed(EXECUTOR, edit)):
            assert report_of(verdict).status is Status.COMPLETE


@requirement("G-08")
def test_extension_in_a_namespace_of_its_own_is_kept_and_written_back() -> None:
    added = '<x:note xmlns:x="urn:y" x:kind="z">hi <x:b>there</x:b></x:note>'
    verdict = judge(changed(EXECUTOR, ("  <handoff>", f"  {added}\n  <handoff>")), "strict")

    assert weighty_rules(verdict) == set()
    assert rules_of(verdict, Severity.INFO) == {"goop_report/extension-element"}
    (extension,) = report_of(verdict).extensions
    assert extension.name == "note"
    assert "urn:y" in extension.content
    assert judge(write_report(report_of(verdict)), "strict").envelope == verdict.envelope


def test_loose_text_between_the_elements_is_kept_and_accepted() -> None:
    verdict = judge(changed(EXECUTOR, ("  <handoff>", "  And that is all.\n  <handoff>")))

    assert verdict.accepted
    assert weighty_rules(verdict) == set()
    assert "And that is all." in str(verdict.to_dict()["envelope"]["extensions"])
    assert judge(write_report(report_of(verdict))).envelope == verdict.envelope


def test_empty_sections_are_accepted() -> None:
    empty = "<artifacts><files/><commits></commits></artifacts><memory/><verification/>"
    text = changed(PLANNER, ("<status>COMPLETE", "<status>PARTIAL"))
    start, end = text.index("<artifacts>"), text.index("</memory>") + len("</memory>")

    for verdict in judge_both(text[:start] + empty + text[end:]):
        assert weighty_rules(verdict) == set()
        state = report_of(verdict).state
        assert state is not None
        assert state.phase is Phase.PLAN


@pytest.mark.parametrize("character", ["\ufeff", "\u200b", "\u00a0", "\u2060", "\u00ad", "\u2028"])
def test_invisible_character_between_the_elements_is_no_text(character: str) -> None:
    for verdict in judge_both(EXECUTOR.replace("</state>", f"</state>{character}")):
        assert weighty_rules(verdict) == set()
        assert verdict.envelope == report_of(judge(EXECUTOR))
        assert judge(write_report(report_of(verdict))).envelope == verdict.envelope

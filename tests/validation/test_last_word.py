"""Which of several envelopes is the agent's last word (D-02 to D-05, D-16)."""

import pytest

from goop_mcp import Severity, validate
from goop_mcp.validation.samples import BLOCKED_REPLY, COMPLETE_REPLY
from tests.requirements import requirement
from tests.validation.replies import judge, rules_of

COMPLETE = COMPLETE_REPLY[COMPLETE_REPLY.index("<goop_report") : COMPLETE_REPLY.index("```\n", 60)]
BLOCKED = BLOCKED_REPLY[BLOCKED_REPLY.index("<goop_report") : BLOCKED_REPLY.index("```\n", 60)]


def status_of(text: str) -> str | None:
    verdict = judge(text)
    return None if verdict.envelope is None else verdict.envelope.to_dict()["status"]


@requirement("G-04")
@pytest.mark.parametrize(
    ("place", "wrapped"),
    [
        ("  <artifacts>", f"  <evidence>\n{COMPLETE}\n</evidence>\n  <artifacts>"),
        ("The payment provider is not decided.", f"Quoted: {COMPLETE} and no more."),
    ],
    ids=["in_an_extension", "in_the_summary"],
)
def test_report_quoted_inside_another_is_content(place: str, wrapped: str) -> None:
    text = BLOCKED.replace(place, wrapped)

    verdict = judge(text)

    assert [candidate.line for candidate in verdict.candidates] == [1]
    assert "envelope/multiple" not in rules_of(verdict, Severity.WARNING)
    assert status_of(text) in ("BLOCKED", None)


def test_report_that_quotes_another_and_is_cut_off_later_is_cut_off() -> None:
    text = BLOCKED.replace("  <artifacts>", f"  <evidence>\n{COMPLETE}\n</evidence>\n  <artifacts>")
    cut = text[: text.index("</evidence>") + 30]

    verdict = judge(cut)

    assert rules_of(verdict, Severity.ERROR) == {"envelope/truncated"}


@pytest.mark.parametrize(
    "beginning",
    [
        "<evidence>x</evidence>\n",
        "<!-- started -->\n",
        "Here it is:\n",
        "",
    ],
    ids=["extension", "comment", "text", "nothing"],
)
def test_cut_off_report_after_a_whole_one_counts_whatever_it_begins_with(beginning: str) -> None:
    second = BLOCKED.replace(
        '<goop_report version="0.1.6">\n', f'<goop_report version="0.1.6">\n{beginning}'
    )

    cut_points = range(second.index("<status>") + 8, len(second) - len("</goop_report>") - 1, 7)
    for cut in cut_points:
        verdict = judge(f"{COMPLETE}\n\nFinal:\n\n{second[:cut]}")
        assert status_of(f"{COMPLETE}\n\nFinal:\n\n{second[:cut]}") != "COMPLETE"
        assert verdict.accepted is (
            "envelope/root-not-closed" in rules_of(verdict, Severity.WARNING)
        )


@pytest.mark.parametrize(
    "draft",
    [
        '{"status": "complete", "summary": "Added."}',
        "## STATUS\nCOMPLETE\n\n## SUMMARY\nx\n",
    ],
    ids=["json", "sections"],
)
@pytest.mark.parametrize(
    ("before", "after"),
    [("<thinking>\n", "\n</thinking>"), ("<think>\n", "\n</think>"), ("<!--\n", "\n-->")],
    ids=["thinking", "think", "comment"],
)
def test_older_form_that_is_not_part_of_the_answer_is_no_report(
    draft: str, before: str, after: str
) -> None:
    verdict = judge(f"{before}{draft}{after}\nNot done, still failing.")

    assert not verdict.accepted
    assert rules_of(verdict, Severity.ERROR) == {"goop_report/no-envelope"}


def test_older_json_in_inline_code_is_a_mention() -> None:
    verdict = judge('The old form was `{"status": "complete", "summary": "x"}`; I am not done.')

    assert rules_of(verdict, Severity.ERROR) == {"goop_report/no-envelope"}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (f"<thinking>\n{COMPLETE}\n</thinking>\nDone.", "thinking block"),
        (f"<!-- {COMPLETE} -->\nDone.", "comment"),
        (f"`{COMPLETE.replace(chr(10), ' ')}`\nDone.", "inline code"),
    ],
    ids=["thinking", "comment", "code"],
)
def test_only_envelope_that_does_not_count_is_named_with_its_place(text: str, where: str) -> None:
    verdict = judge(text)

    assert verdict.feedback is not None
    assert where in verdict.feedback
    assert [candidate.chosen for candidate in verdict.candidates] == [False]


def test_host_lines_after_a_missing_root_end_are_no_text() -> None:
    text = COMPLETE.replace("</goop_report>\n", "agentId: abc\n<usage>tokens: 1</usage>\n")

    verdict = judge(text)

    assert verdict.accepted
    assert "envelope/root-not-closed" in rules_of(verdict, Severity.WARNING)


def test_cut_off_line_is_that_of_the_agent_and_not_of_the_host() -> None:
    cut = COMPLETE[: COMPLETE.index("<handoff>")].rstrip()

    verdict = judge(f"{cut}\nagentId: abc\n<usage>tokens: 1</usage>\n")

    assert [finding.line for finding in verdict.findings] == [cut.count("\n") + 1]


def test_whole_report_with_text_in_place_of_its_end_is_asked_to_close_it() -> None:
    verdict = judge(COMPLETE.replace("</goop_report>", "</goop-report>\nThat is all."))

    assert verdict.feedback is not None
    assert rules_of(verdict, Severity.ERROR) == {"envelope/truncated"}
    assert "end it with </goop_report>" in verdict.feedback
    assert "shorter" not in verdict.feedback


@pytest.mark.parametrize(
    "cut_off",
    [
        '{"status": "success", "confidence": "high", "deliver',
        '```json\n{"agent": "plan", "status": "error", "error": {"type": "Mis',
        "<agent_request>\n<mode>spawn</mode>\n<original_intent>",
    ],
    ids=["factory", "speckit", "agent_request"],
)
@pytest.mark.parametrize(
    "whole", [COMPLETE, '{"status": "complete", "summary": "Added."}'], ids=["report", "older"]
)
def test_whole_envelope_is_not_taken_in_place_of_another_protocols_that_was_cut_off(
    whole: str, cut_off: str
) -> None:
    verdict = validate(f"{whole}\n\nAnd now the answer:\n\n{cut_off}")

    assert not verdict.accepted
    assert rules_of(verdict, Severity.ERROR) == {"envelope/truncated"}

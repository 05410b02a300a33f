"""A reply that was cut off is never accepted, but for the outermost end tag alone (D-16)."""

import re
from collections.abc import Iterator

import pytest

from goop_mcp import Severity
from goop_mcp.validation.findings import Mode
from tests.validation.replies import (
    BLOCKED,
    DRAFT,
    EXECUTOR,
    MODES,
    PLANNER,
    SUMMARY,
    changed,
    fenced,
    judge,
    judge_both,
    only_root_is_open,
    report_of,
    rules_of,
    weighty_rules,
)

ROOT_END = "</goop_report>"
PROSE = "The work is done.\n\n```xml\n"
HANDOFF_FIRST = changed(
    EXECUTOR.replace(EXECUTOR[EXECUTOR.index("  <handoff>") : EXECUTOR.index(ROOT_END)], ""),
    (
        "  <artifacts>",
        EXECUTOR[EXECUTOR.index("  <handoff>") : EXECUTOR.index(ROOT_END)] + "  <artifacts>",
    ),
)


def cuts(envelope: str) -> Iterator[tuple[int, str]]:
    """Yield every proper beginning of `envelope` that lacks the end of its root."""
    for length in range(1, len(envelope)):
        yield length, envelope[:length]


def errors_of_cut(cut: str, mode: Mode, *, before: str, after: str) -> set[str]:
    verdict = judge(before + cut + after, mode)
    if verdict.accepted:
        assert weighty_rules(verdict) - {"envelope/root-not-closed"} <= weighty_rules(
            judge(cut + ROOT_END)
        )
        assert [repair.rule for repair in verdict.repairs] == ["envelope/root-not-closed"]

    return rules_of(verdict, Severity.ERROR)


def allowed_errors(cut: str, mode: Mode) -> list[set[str]]:
    if only_root_is_open(cut):
        return [set() if mode == "lenient" else {"envelope/root-not-closed"}]

    # Before the first child tag is whole, the root's start tag may as well be a mention in prose.
    maybe_mention = "<status>" not in cut
    return (
        [{"envelope/truncated"}, {"goop_report/no-envelope"}]
        if maybe_mention
        else [{"envelope/truncated"}]
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", "", id="bare"),
        pytest.param(PROSE, "", id="in_an_open_fence"),
        pytest.param(PROSE, "\n```\n", id="in_a_fence_that_somebody_closed"),
        pytest.param("I thought <b> & wrote `<goop_report>`:\n\n", "\n", id="after_a_mention"),
    ],
)
def test_executor_report_cut_at_any_character_is_cut_off(
    before: str, after: str, mode: Mode
) -> None:
    for length, cut in cuts(EXECUTOR):
        errors = errors_of_cut(cut, mode, before=before, after=after)

        assert errors in allowed_errors(cut, mode), f"cut after {length} characters: …{cut[-40:]!r}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "envelope",
    [
        pytest.param(PLANNER, id="planner"),
        pytest.param(BLOCKED, id="blocked"),
        pytest.param(HANDOFF_FIRST, id="handoff_before_artifacts"),
        pytest.param(EXECUTOR.replace("\n", "\r\n"), id="windows_line_ends"),
        pytest.param(EXECUTOR.replace("\n", ""), id="one_line"),
        pytest.param(changed(EXECUTOR, (SUMMARY, f"<![CDATA[{SUMMARY}]]>")), id="cdata"),
        pytest.param(changed(EXECUTOR, (SUMMARY, f"{SUMMARY}<!-- <a> & so on -->")), id="comment"),
        pytest.param(
            changed(EXECUTOR, ("<handoff>", "<evidence><a>x</a></evidence><handoff>")),
            id="extension",
        ),
        pytest.param(
            changed(
                EXECUTOR,
                (
                    ROOT_END,
                    "<evidence>a <b>c</b></evidence>\n<note/>\n<note>x</note>\n</goop_report>",
                ),
            ),
            id="extensions_after_the_handoff",
        ),
    ],
)
def test_any_report_cut_at_any_character_is_never_accepted_as_whole(
    envelope: str, mode: Mode
) -> None:
    for length, cut in cuts(envelope):
        verdict = judge(PROSE + cut, mode)

        if verdict.accepted:
            assert mode == "lenient", f"cut after {length} characters"
            assert only_root_is_open(cut), f"cut after {length} characters: …{cut[-40:]!r}"
            assert [repair.rule for repair in verdict.repairs] == ["envelope/root-not-closed"]


@pytest.mark.parametrize("mode", MODES)
def test_cut_reply_with_slips_of_form_is_never_accepted_as_whole(mode: Mode) -> None:
    form_errors = (
        (SUMMARY, "a && b, Map<String, T>"),
        ('version="0.1.6"', "version=0.1.6"),
        ("<ready>true", "<Ready>TRUE"),
    )
    envelope = changed(EXECUTOR, *form_errors, ("</ready>", "</Ready>"))

    for length, cut in cuts(envelope):
        verdict = judge(PROSE + cut, mode)
        if verdict.accepted:
            assert "envelope/root-not-closed" in rules_of(verdict, Severity.WARNING), (
                f"cut after {length}"
            )
            assert cut.rstrip().endswith("</handoff>"), (
                f"cut after {length} characters: …{cut[-40:]!r}"
            )


@pytest.mark.parametrize(
    "end",
    ["</status>", "<agent>goop-ex", "</state>", "</summary>", "</verification>", "<ready>true"],
)
def test_cut_off_report_has_one_finding_that_names_the_line_and_no_missing_fields(end: str) -> None:
    text = PROSE + EXECUTOR[: EXECUTOR.index(end) + len(end)]

    for verdict in judge_both(text):
        (finding,) = verdict.of_severity(Severity.ERROR)
        assert finding.rule == "envelope/truncated"
        assert str(text.count("\n") + 1) in finding.message
        assert finding.line == text.count("\n") + 1
        assert verdict.repairs == ()
        assert verdict.repaired_text is None


def test_fields_of_a_cut_off_report_are_shown_and_marked_as_partial() -> None:
    verdict = judge(EXECUTOR[: EXECUTOR.index("<verification>")])

    assert report_of(verdict).partial
    assert report_of(verdict).agent == "goop-executor"
    assert verdict.to_dict()["envelope"]["partial"] is True
    assert report_of(judge(EXECUTOR)).partial is False


@pytest.mark.parametrize("cut_at", ["<agent>", "</summary>", "</verification>", "<ready>"])
def test_cut_off_report_after_a_complete_draft_is_not_answered_with_the_draft(cut_at: str) -> None:
    text = f"{fenced(DRAFT)}\nNow the report:\n\n```xml\n{EXECUTOR[: EXECUTOR.index(cut_at)]}"

    for verdict in judge_both(text):
        assert rules_of(verdict, Severity.ERROR) == {"envelope/truncated"}
        assert "Only a draft" not in str(verdict.envelope)
        assert [candidate.chosen for candidate in verdict.candidates] == [False, True]


def test_mention_after_a_complete_report_is_not_a_cut_off_report() -> None:
    verdict = judge(f"{fenced(EXECUTOR)}\n<goop_report> was asked for.\n")

    assert verdict.accepted


def test_report_with_only_its_root_open_after_a_draft_is_closed_and_counts() -> None:
    verdict = judge(f"{fenced(DRAFT)}\n```xml\n{EXECUTOR.removesuffix(ROOT_END)}```\n")

    assert verdict.envelope == report_of(judge(EXECUTOR))
    assert "envelope/root-not-closed" in rules_of(verdict, Severity.WARNING)


@pytest.mark.parametrize(
    "after",
    [
        "And there is more to say.",
        "```\n\nAnd there is more to say.",
        "&",
        "more <b>text</b>",
        "<handoff>",
        "<!-- note",
    ],
)
def test_root_is_not_closed_when_more_than_a_fence_follows(after: str) -> None:
    for verdict in judge_both(f"{PROSE}{EXECUTOR.removesuffix(ROOT_END)}{after}"):
        assert not verdict.accepted
        assert "envelope/truncated" in rules_of(verdict, Severity.ERROR)


@pytest.mark.parametrize("part", ["status", "agent", "summary"])
def test_root_is_not_closed_when_a_required_part_is_missing(part: str) -> None:
    text = re.sub(rf"<{part}>.*?</{part}>", "", EXECUTOR).removesuffix(ROOT_END)

    for verdict in judge_both(text):
        assert rules_of(verdict, Severity.ERROR) == {"envelope/truncated"}


def test_cut_off_report_inside_a_thinking_block_that_closes_is_only_thought() -> None:
    text = f"<thinking>\n{DRAFT[:300]}\n</thinking>\n\n{fenced(EXECUTOR)}"

    for verdict in judge_both(text):
        assert weighty_rules(verdict) == set()
        assert verdict.envelope == report_of(judge(EXECUTOR))

"""Laws that hold for every text."""

import json

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from goop_mcp import Severity, Verdict, validate
from goop_mcp.protocols.goop_report.model import Report
from goop_mcp.protocols.goop_report.writing import write_report
from goop_mcp.validation.escaping import visible
from goop_mcp.validation.findings import Mode
from tests.validation.replies import (
    EXECUTOR,
    MODES,
    SUMMARY,
    changed,
    fenced,
    judge,
    judge_both,
    only_root_is_open,
    report_of,
    weighty_rules,
)
from tests.validation.strategies import (
    OLDER_FORMS,
    SEED_ENVELOPES,
    TEXTS,
    WHOLE_REPLIES,
    envelopes,
    markup,
    no_template,
    replies,
    reports,
    slipped,
    spoiled,
)

MORE = settings(max_examples=3 * settings().max_examples)
ANY_TEXT = st.one_of(replies(), spoiled(OLDER_FORMS, most=3), markup(), st.text())
CONVERSIONS = {
    f"subagent_protocol/{form}" for form in ("legacy-response", "markdown-sections", "other-root")
}
STRICT_ONLY = {"goop_report/check-without-result", "goop_report/complete-with-failed-check"}


def assert_sound(verdict: Verdict, text: str) -> None:
    """Check what holds of every verdict by itself."""
    rejected = any(finding.severity is Severity.ERROR for finding in verdict.findings)
    assert verdict.accepted != rejected
    assert (verdict.feedback is None) == verdict.accepted
    assert sum(candidate.chosen for candidate in verdict.candidates) <= 1
    assert verdict.accepted <= (verdict.envelope is not None)
    assert json.loads(json.dumps(verdict.to_dict())) == verdict.to_dict()
    assert_positions_inside(verdict, text)


def assert_positions_inside(verdict: Verdict, text: str) -> None:
    lines = text.split("\n")
    placements = [
        (each.line, each.column)
        for each in verdict.findings
        if each.line is not None and each.column is not None
    ]
    assert placements == sorted(placements)
    for line, column in placements:
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1

    lines_named = [candidate.line for candidate in verdict.candidates]
    lines_named += [repair.line for repair in verdict.repairs if repair.line is not None]
    assert all(1 <= line <= len(lines) for line in lines_named)


@MORE
@given(ANY_TEXT, st.sampled_from(MODES), st.sampled_from(["auto", "goop_report"]))
@example("", "lenient", "auto")
@example("\x00\ud800", "strict", "auto")
def test_any_text_gets_a_sound_verdict(text: str, mode: Mode, protocol: str) -> None:
    assert_sound(validate(text, protocol=protocol, mode=mode), text)


@given(ANY_TEXT)
def test_same_text_gets_the_same_verdict(text: str) -> None:
    assert judge(text) == judge(text)


@MORE
@given(ANY_TEXT)
def test_both_modes_see_the_same_rules_and_read_the_same_report(text: str) -> None:
    lenient, strict = judge_both(text)

    assert lenient.envelope == strict.envelope
    assert lenient.candidates == strict.candidates
    assert strict.repairs == ()
    assert strict.repaired_text is None


@MORE
@given(st.one_of(replies(), WHOLE_REPLIES))
def test_what_strict_mode_accepts_lenient_mode_accepts_without_a_repair(text: str) -> None:
    strict = judge(text, "strict")
    assume(strict.accepted)

    lenient = judge(text)

    assert lenient.accepted
    assert lenient.repairs == ()
    assert lenient.repaired_text is None


@MORE
@given(spoiled(slipped(), most=2))
def test_repaired_text_has_no_error_that_the_original_had_not(text: str) -> None:
    lenient = judge(text)
    assume(lenient.repaired_text is not None)
    assert lenient.repaired_text is not None

    strict = judge(lenient.repaired_text, "strict")

    assert strict.accepted or weighty_rules(strict) <= weighty_rules(lenient)
    assert {repair.rule for repair in lenient.repairs} & weighty_rules(strict) == set()
    assert strict.envelope == lenient.envelope


@MORE
@given(
    SEED_ENVELOPES | envelopes(), st.sampled_from(["", "Done.\n\n", "Done.\n\n```xml\n"]), st.data()
)
def test_beginning_of_a_report_is_never_accepted_but_for_its_root_end(
    envelope: str, before: str, data: st.DataObject
) -> None:
    cut = envelope[: data.draw(st.integers(0, len(envelope) - 1))]

    lenient, strict = judge_both(before + cut)

    assert not strict.accepted
    if lenient.accepted:
        assert only_root_is_open(cut)
        assert "envelope/root-not-closed" in {repair.rule for repair in lenient.repairs}


@MORE
@given(reports())
def test_written_report_is_accepted_and_reads_as_the_same_report(report: Report) -> None:
    verdict = judge(write_report(report))

    assert verdict.accepted, verdict.feedback
    assert verdict.repairs == ()
    assert verdict.envelope == report
    strict = judge(write_report(report), "strict")
    assert strict.accepted or weighty_rules(strict) & STRICT_ONLY
    assert strict.envelope == report


@MORE
@given(spoiled(WHOLE_REPLIES, most=2))
def test_accepted_report_reads_the_same_when_it_is_written_again(text: str) -> None:
    verdict = judge(text)
    assume(verdict.accepted)
    assume(not weighty_rules(verdict) & CONVERSIONS)
    assert isinstance(verdict.envelope, Report)

    assert judge(write_report(verdict.envelope)).envelope == verdict.envelope


@given(
    st.one_of(WHOLE_REPLIES, envelopes(), envelopes().map(fenced)),
    st.text(st.characters(exclude_characters="<{"), max_size=80),
)
def test_prose_without_markup_after_a_reply_never_turns_accepted_into_rejected(
    text: str, prose: str
) -> None:
    before = judge(text)
    assume(before.accepted)

    after = judge(f"{text}\n{prose}")

    assert after.accepted
    assert after.envelope == before.envelope


SCRIBBLES = st.text(st.sampled_from("abXY \n<>&'\"{}[]()|/=-_.,:`~"), min_size=1, max_size=60)


@MORE
@given(SCRIBBLES)
@example("a<b")
@example("x</y>z")
@example("<a>b</a>")
@example("<a b='c'>")
def test_no_letter_of_a_summary_is_lost_when_it_is_repaired(words: str) -> None:
    assume(any(character.isalpha() for character in words))
    assume(no_template(words))

    lenient, _ = judge_both(changed(EXECUTOR, (SUMMARY, words)))

    assert lenient.accepted, lenient.feedback
    assert isinstance(lenient.envelope, Report)
    assert "".join((lenient.envelope.summary or "").split()) == "".join(words.split())
    assert lenient.envelope.handoff == report_of(judge(EXECUTOR)).handoff


@MORE
@given(st.text(st.sampled_from("abXY <>&'{}[]()|/=-_.,:`~"), min_size=1, max_size=40))
@example("docs/<workflowId>/a.md")
@example("a&b='c'>d")
def test_no_letter_of_an_attribute_is_lost_when_it_is_repaired(words: str) -> None:
    assume(any(character.isalpha() for character in words))
    assume(no_template(words))

    lenient, _ = judge_both(changed(EXECUTOR, ('path="src/auth/types.ts"', f'path="{words}"')))

    assert lenient.accepted, lenient.feedback
    artifacts = report_of(lenient).artifacts
    assert artifacts is not None
    assert artifacts.files[2].path == words.strip()
    assert artifacts.files[:2] == (report_of(judge(EXECUTOR)).artifacts or artifacts).files[:2]


@given(slipped())
def test_slips_together_are_repaired_as_each_alone(text: str) -> None:
    lenient, strict = judge_both(text)

    assert lenient.accepted, lenient.feedback
    assert {repair.rule for repair in lenient.repairs} == weighty_rules(lenient)
    assert not strict.accepted
    assert lenient.repaired_text is not None
    assert judge(lenient.repaired_text, "strict").envelope == lenient.envelope
    assert judge(lenient.repaired_text, "strict").accepted


@given(TEXTS, st.sampled_from(["task_name", "summary", "evidence"]))
def test_text_in_a_proper_cdata_section_is_kept_whole(words: str, element: str) -> None:
    assume("]]>" not in words)
    assume("goop_report" not in words)
    assume(visible(words))
    envelope = f"<{element}><![CDATA[{words}]]></{element}>"
    text = EXECUTOR.replace("  <handoff>", f"  {envelope}\n  <handoff>")
    if element != "evidence":
        text = changed(
            EXECUTOR,
            (
                EXECUTOR[EXECUTOR.index(f"<{element}>") : EXECUTOR.index(f"</{element}>")],
                envelope[: -len(element) - 3],
            ),
        )

    verdict = judge(text, "strict")

    assert verdict.accepted, verdict.feedback
    assert isinstance(verdict.envelope, Report)
    kept = {"task_name": verdict.envelope.task_name, "summary": verdict.envelope.summary}
    kept |= {extension.name: extension.content for extension in verdict.envelope.extensions}
    assert kept[element] == words

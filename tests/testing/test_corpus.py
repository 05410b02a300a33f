import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp import Severity, Verdict, validate
from goop_mcp.errors import NotCorruptibleError, UnknownNameError
from goop_mcp.protocols.speckit.samples import ERROR_REPLY, RESEARCH_REPLY
from goop_mcp.testing import KINDS, CorruptedReply, corrupt, load_corpus
from goop_mcp.testing.good_replies import DRAFT, GoodReply, fenced
from goop_mcp.testing.writing import GOOD_REPLIES, corpus_lines
from goop_mcp.validation.samples import COMPLETE_REPLY, REQUEST_PROMPT
from tests.repository import ROOT

CORPUS = {case.id: case for case in load_corpus()}
EVERY_CASE = [pytest.param(case, id=case.id) for case in CORPUS.values()]

ODD_PLACES = """
goop_report: bare prose_and_fence prose_without_fence prose_after xml_declaration
    think_block_with_draft
    draft_then_final root_mentioned_first cdata fence_inside_text
factory: bare prose_and_fence prose_without_fence prose_after think_block_with_draft
    draft_then_final
    fence_inside_text other_fence_first unclosed_fence
"""
FORM_ERRORS = """
goop_report: bare_ampersand bare_less_than generics html_break ampersand_in_attribute html_entity
    broken_cdata
    smart_quotes unquoted_attribute tag_in_wrong_case end_tag_missing root_end_missing
    control_character
    value_in_wrong_case
factory: trailing_comma comments python_dict smart_quotes raw_line_break unescaped_quote
    last_brace_missing
    value_in_wrong_case wrapped
"""
UNREADABLE = """
goop_report: cut_at_70_percent cut_in_narrative entity_bomb placeholder no_envelope
factory: cut_at_70_percent placeholder status_missing no_envelope empty
"""


def cases_of(names: str) -> list[CorruptedReply]:
    """Return the cases of a list like those above."""
    lines = names.strip().replace("\n    ", " ").splitlines()
    return [
        CORPUS[f"{line.split(':')[0]}/{kind}"]
        for line in lines
        for kind in line.split(":")[1].split()
    ]


def judge(case: CorruptedReply) -> Verdict:
    return validate(case.text, protocol=case.protocol)


def fields(verdict: Verdict) -> dict[str, Any]:
    """Return the envelope as JSON values, empty when none was read."""
    return verdict.envelope.to_dict() if verdict.envelope is not None else {}


def narrative(verdict: Verdict) -> str | None:
    """Return what a program that acts on accepted replies would receive."""
    return fields(verdict)["summary"] if verdict.accepted else None


def answer(verdict: Verdict) -> str:
    return "refused" if not verdict.accepted else "mended" if verdict.repairs else "read"


@pytest.mark.parametrize("case", EVERY_CASE)
def test_each_reply_gets_the_wanted_answer_or_is_refused_with_the_exact_finding(
    case: CorruptedReply,
) -> None:
    verdict = judge(case)

    rules = {finding.rule for finding in verdict.of_severity(Severity.ERROR)} | {
        each.rule for each in verdict.repairs
    }
    assert answer(verdict) == case.wanted or (answer(verdict), case.wanted) == ("refused", "mended")
    assert not case.rules or rules & set(case.rules)


@pytest.mark.parametrize("case", EVERY_CASE)
def test_no_reply_does_the_harm_it_could_do(case: CorruptedReply) -> None:
    verdict = judge(case)

    assert case.what_happened(narrative(verdict)) in ("as wanted", "good reply refused")
    assert DRAFT not in str(fields(verdict))


def test_every_good_envelope_in_an_odd_place_is_read() -> None:
    assert Counter(answer(judge(case)) for case in cases_of(ODD_PLACES)) == {"read": 19}


def test_at_least_twenty_of_twenty_three_slips_are_repaired_and_listed() -> None:
    answers = Counter(answer(judge(case)) for case in cases_of(FORM_ERRORS))

    assert answers.total() == 23
    assert answers["mended"] >= 20
    assert answers["read"] == 0


def test_all_ten_unreadable_replies_are_refused() -> None:
    assert Counter(answer(judge(case)) for case in cases_of(UNREADABLE)) == {"refused": 10}


def test_a_repaired_reply_keeps_everything_that_the_slip_did_not_touch() -> None:
    good = {name: fields(validate(text)) for name, text in GOOD_REPLIES.items()}
    for case in CORPUS.values():
        verdict = judge(case)
        if answer(verdict) == "mended" and case.kind not in (
            "ampersand_in_attribute",
            "unknown_namespace",
        ):
            changed = {
                key
                for key, value in fields(verdict).items()
                if value != good[case.protocol].get(key)
            }
            assert changed <= {"summary"}, case.id


@given(words=st.text(alphabet="xyz QZ<>&;'\"[]/=\n.1", max_size=40))
def test_no_letter_of_an_element_is_lost_whatever_stray_characters_follow_it(words: str) -> None:
    good = GoodReply.of(COMPLETE_REPLY)

    read = fields(validate(fenced(good.adding(words), "xml"), protocol="goop_report"))

    if read:
        assert letters(read["summary"]) == letters(f"{good.narrative} {words}")
        assert read | {"summary": good.narrative} == fields(validate(COMPLETE_REPLY))


@given(words=st.text(alphabet="xyz QZ<>&;'[]{}/=\n\t.,1“”", max_size=40))
def test_no_letter_of_a_string_is_lost_whatever_stray_characters_follow_it(words: str) -> None:
    reply = GOOD_REPLIES["factory"]
    good = GoodReply.of(reply)

    read = fields(validate(fenced(good.adding(words), "json"), protocol="factory"))

    if read:
        assert letters(read["summary"]) == letters(f"{good.narrative} {words}")
        assert read | {"summary": good.narrative} == fields(validate(reply))


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


@pytest.mark.parametrize("cut", [0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("protocol", GOOD_REPLIES)
def test_a_cut_reply_is_never_accepted_even_after_a_complete_draft(
    protocol: str, cut: float
) -> None:
    good = GoodReply.of(GOOD_REPLIES[protocol])
    cut_off = good.envelope[: math.floor(len(good.envelope) * cut)]
    text = f"{fenced(good.draft, good.syntax)}\n{cut_off}"

    verdict = validate(text, protocol=protocol)

    assert not verdict.accepted
    assert "envelope/truncated" in {finding.rule for finding in verdict.findings}


@pytest.mark.parametrize("protocol", GOOD_REPLIES)
def test_the_files_are_what_the_kinds_make(protocol: str) -> None:
    path = ROOT / "goop_mcp/testing/corpus" / f"{protocol}.jsonl"

    assert path.read_text("utf-8").splitlines() == list(corpus_lines(protocol)), "run: make docs"


def test_the_corpus_is_the_same_as_what_corrupt_makes() -> None:
    made = {case.id: case for text in GOOD_REPLIES.values() for case in every_corruption(text)}

    assert made == CORPUS


def every_corruption(reply: str) -> list[CorruptedReply]:
    return [corrupt(reply, kind) for kind in KINDS[GoodReply.of(reply).syntax]]


@pytest.mark.parametrize("reply", [RESEARCH_REPLY, ERROR_REPLY], ids=["success", "error"])
def test_users_can_corrupt_a_reply_of_another_family(reply: str) -> None:
    for case in every_corruption(reply):
        verdict = validate(case.text, protocol=case.protocol)
        assert answer(verdict) in (case.wanted, "refused"), case.id
        assert DRAFT not in str(fields(verdict)), case.id


def test_the_harm_of_a_reader_that_accepts_everything_is_named() -> None:
    draft, cut = CORPUS["factory/draft_then_final"], CORPUS["goop_report/cut_at_70_percent"]

    assert draft.what_happened(DRAFT) == "draft taken"
    assert draft.what_happened(None) == "good reply refused"
    assert draft.what_happened("Designed a data") == "text lost"
    assert draft.what_happened(draft.narrative) == "as wanted"
    assert cut.what_happened("Added the login endpoint.") == "cut reply accepted"
    assert cut.what_happened(None) == "as wanted"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("Done.", "not good to begin with: envelope/no-envelope"),
        (COMPLETE_REPLY.replace("COMPLETE", "complete"), "goop_report/value-case"),
        (REQUEST_PROMPT, "is a prompt"),
    ],
)
def test_only_a_good_reply_can_be_corrupted(reply: str, why: str) -> None:
    with pytest.raises(NotCorruptibleError, match=why):
        corrupt(reply, "bare")


def test_a_slip_that_nothing_offers_itself_to_is_refused() -> None:
    start, end = COMPLETE_REPLY.index("    <wave"), COMPLETE_REPLY.index("    <spec_locked")

    with pytest.raises(NotCorruptibleError, match="choose another kind"):
        corrupt(COMPLETE_REPLY[:start] + COMPLETE_REPLY[end:], "words_for_a_number")


def test_an_unknown_kind_is_named_with_its_neighbour() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'bare_ampersand'"):
        corrupt(COMPLETE_REPLY, "bare_ampersant")

"""Whether a text states that nothing ran, or that something else is to run it."""

import re
from collections.abc import Collection, Sequence

from goop_mcp.validation.check_texts import vocabulary
from goop_mcp.validation.check_texts.clauses import Clauses
from goop_mcp.validation.check_texts.counts import ResultCount
from goop_mcp.validation.check_texts.tokens import MARK, NUMBER, WORD, Token
from goop_mcp.validation.check_texts.vocabulary import NOTHING_RAN, POSITIVE, SHOULD, SHOULD_SUCCEED

__all__ = ["says_nothing_ran"]

_NEAR_START = 2
_LOOK_AHEAD = 4
_CLAUSE = 12
_SHORT = 12
_AGENT = re.compile(r"goop-(?!mcp\b)[a-z-]{1,60}|w\d{1,6}\.t\d{1,6}")
_SUBJECTS = vocabulary.NEGATED_RUN_OF | vocabulary.TOOLS | vocabulary.CHECKING
_ABOUT_CHECKS = vocabulary.TEST_NOUNS | vocabulary.TOOLS | vocabulary.CHECKING_AGENTS
_BY_FIRST_WORD = {
    first: tuple(phrase for phrase in NOTHING_RAN if phrase[0] == first)
    for first in {phrase[0] for phrase in NOTHING_RAN}
}


def says_nothing_ran(
    tokens: Sequence[Token],
    current: Sequence[ResultCount],
    sums: dict[str, int],
    clauses: Clauses,
) -> bool:
    """Return whether `tokens` state that nothing ran, and neither they nor `sums` show a run.

    `current` are the counts of the last run that the text describes, `sums` those of each kind.
    """
    passed, skipped, total = (sums.get(kind) for kind in ("passed", "skipped", "total"))
    if passed or any(each.ran for each in current):
        return False
    if passed == 0 or total == 0 or any(each.kind == "none" for each in current):
        return True
    if not any(token.kind != MARK for token in tokens):
        return True

    stated = _is_positive(tokens, ())
    if any(each.text.endswith(("deselected", "collected")) for each in current) and not stated:
        return True
    # "12 Dateien übersprungen, 88 kopiert" is no run of tests.
    if skipped and clauses.may_be_about(vocabulary.TEST_NOUNS):
        left_out = skipped >= total if total is not None else not stated
        if left_out:
            return True

    # Where the text states that nothing ran, or that something should pass.
    spans = _statements(tokens, clauses)
    return (
        bool(spans)
        and not _is_positive(tokens, spans)
        and not any(each.kind == "errors" for each in current)
    )


def _statements(tokens: Sequence[Token], clauses: Clauses) -> list[range]:
    if len(tokens) > _SHORT and not clauses.may_be_about(_ABOUT_CHECKS):
        return []

    found = [
        _phrase_at(tokens, at) or _hope_at(tokens, at) or _hand_over_at(tokens, at)
        for at, token in enumerate(tokens)
        if token.kind in (WORD, NUMBER)
    ]
    spans = [
        span
        for span in found
        if span is not None
        and not clauses.continue_at(span.stop)
        and span.start not in clauses.conditional
        and (span.start not in clauses.unclear or _is_about_tests(tokens, span))
    ]

    # "Skipped" at the beginning of a text, if it is the whole statement.
    begin = next((at for at, token in enumerate(tokens) if token.kind != MARK), 0)
    if _word(tokens, begin) in vocabulary.LEFT_OUT and not clauses.continue_at(begin + 1):
        after = tokens[begin + 1] if begin + 1 < len(tokens) else None
        # "跳过 12 个文件，复制 88 个": a number of what is skipped is no statement of its own.
        counts = after is not None and after.kind == NUMBER
        ends = after is None or after.kind != WORD or after.text in vocabulary.AFTER_LEFT_OUT
        if ends and not (counts and not clauses.may_be_about(vocabulary.TEST_NOUNS)):
            spans.append(range(begin, begin + 1))

    return spans


def _is_about_tests(tokens: Sequence[Token], span: range) -> bool:
    """Return whether a statement is about tests, whatever other words stand before it."""
    if tokens[span.start].text != "untested" and vocabulary.TEST_NOUNS.isdisjoint(
        (_word(tokens, span.start - 1), _word(tokens, span.stop))
    ):
        return False

    # "It is not tested" describes.
    for at in range(span.start - 1, max(span.start - _CLAUSE, -1), -1):
        if tokens[at].kind == MARK:
            break
        if tokens[at].text == "is":
            return False

    return True


def _is_positive(tokens: Sequence[Token], spans: Sequence[range]) -> bool:
    """Return whether a word outside of `spans` states a success."""
    spoken_for = {at for span in spans for at in span}
    return any(
        token.kind == WORD and token.text in POSITIVE and at not in spoken_for
        for at, token in enumerate(tokens)
    )


def _phrase_at(tokens: Sequence[Token], at: int) -> range | None:
    for phrase in _BY_FIRST_WORD.get(tokens[at].text, ()):
        end = at + len(phrase)
        following = _word(tokens, end)
        if tuple(token.text for token in tokens[at:end]) != phrase or (
            following in vocabulary.NOT_RUN_INTO or following in ("needed", "required", "affected")
        ):
            continue

        # In the middle of a text these phrases need a subject that is a test or a tool.
        if phrase[0] in ("not", "timed", "assuming") and at > _NEAR_START:
            before = tokens[at - 1]
            if (
                before.kind != MARK
                and before.text not in vocabulary.NEGATED_RUN_OF
                and before.text not in vocabulary.TOOLS
            ):
                continue

        return range(at, end)

    return None


def _hope_at(tokens: Sequence[Token], at: int) -> range | None:
    if tokens[at].text not in SHOULD or _word(tokens, at - 1) in vocabulary.RELATIVE:
        return None

    end = at + 1
    while _word(tokens, end) in (
        "be",
        "all",
        "now",
        "also",
        "just",
        "still",
        "to",
        "again",
        "then",
        "probably",
    ):
        end += 1

    return range(at, end + 1) if _word(tokens, end) in SHOULD_SUCCEED else None


# Left to somebody else


def _hand_over_at(tokens: Sequence[Token], at: int) -> range | None:
    """Return the span of "left to goop-tester" or "goop-tester will test it" at `at`."""
    text = tokens[at].text
    if text in vocabulary.HAND_OVER:
        return _left_at(tokens, at)
    if not _is_named(tokens, at, vocabulary.CHECKING_AGENTS):
        return None

    # "CI will run it", "goop-tester is going to verify this"
    first = at + 2 if _word(tokens, at + 1) == "else" else at + 1
    verb = _pass_over(tokens, first, vocabulary.SHOULD | {"is", "going", "to"})
    if verb > first:
        return range(at, verb + 1) if _word(tokens, verb) in vocabulary.CHECKS else None

    # "CI runs the tests" is a statement of its own, "the script that CI runs" is not.
    alone = (at == 0 or tokens[at - 1].kind == MARK) and not _word(tokens, at).startswith("some")
    what = vocabulary.CHECKED if _word(tokens, verb) in vocabulary.CHECKS_NOW else ()
    return range(at, verb + 2) if alone and _word(tokens, verb + 1) in what else None


def _left_at(tokens: Sequence[Token], at: int) -> range | None:
    # The statement has to be about the check: "testing is left to CI", not "the theme is left to".
    before = at - 1
    while _word(tokens, before) in vocabulary.AUXILIARIES:
        before -= 1
    if before >= 0 and tokens[before].kind != MARK and _word(tokens, before) not in _SUBJECTS:
        return None

    to = _pass_over(tokens, at + 1, ("over", "off", "on"))
    if _word(tokens, to) not in vocabulary.HAND_OVER[tokens[at].text].split():
        return None

    to = _pass_over(tokens, to + 1, vocabulary.ARTICLES)
    named = _is_named(tokens, to, vocabulary.LATER_AGENTS)
    if not named and tokens[at].text in vocabulary.MAY_BE_LATER:
        unit = _word(tokens, to + 1) in vocabulary.LATER_UNITS
        ends = to + 1 >= len(tokens) or tokens[to + 1].kind == MARK
        word = _word(tokens, to)
        named = (unit and word in ("next", "another", "later")) or (ends and word == "later")
    return range(at, to + 1) if named else None


def _is_named(tokens: Sequence[Token], at: int, agents: frozenset[str]) -> bool:
    """Return whether an agent, or a later task, is named at `at`."""
    if at >= len(tokens):
        return False
    text = tokens[at].text
    return text in agents or _AGENT.fullmatch(text) is not None


def _pass_over(tokens: Sequence[Token], at: int, words: Collection[str]) -> int:
    most = at + _LOOK_AHEAD
    while at < most and _word(tokens, at) in words:
        at += 1
    return at


def _word(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].text if 0 <= at < len(tokens) else ""

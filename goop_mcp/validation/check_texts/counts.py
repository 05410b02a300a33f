"""Counts in a text: "10 passed, 2 failed", "Failures: 1", "11/12 tests passed", "(14)"."""

import itertools
from collections.abc import Iterator, Sequence

from msgspec import Struct

from goop_mcp.structs import DataStruct
from goop_mcp.validation.check_texts import vocabulary
from goop_mcp.validation.check_texts.clauses import Clauses
from goop_mcp.validation.check_texts.tokens import MARK, NAME, NUMBER, RATIO, WORD, Token
from goop_mcp.validation.check_texts.vocabulary import ADJECTIVES, OTHER_NOUNS, STATES, TEST_NOUNS

__all__ = ["ResultCount", "counts_in", "ends_of_lines", "past_flags"]

_FAILING = frozenset({"failed", "errors"})
_SEPARATORS = frozenset({":", "="})
_BETWEEN = frozenset(",;:=|-–—()*#/&[]")
_NAMES_OF_TESTS = ADJECTIVES | TEST_NOUNS | OTHER_NOUNS
_JOINS = {WORD: _NAMES_OF_TESTS, MARK: _BETWEEN}
"""What continues a chain of counts, by the kind of token; every number does."""

_LOOK_AHEAD = 5
_PAIR = 2


class ResultCount(DataStruct, frozen=True):
    """One number and what it counts; `text` is shown when it `fails`. `ran`: something was run.

    `at` and `end` are the positions of its first piece and after its last one.
    """

    kind: str
    number: int
    at: int
    text: str
    fails: bool = False
    ran: bool = False
    end: int = 0


class _Part(Struct):
    """A number or a state in a chain such as `10 passed, 2 failed`."""

    at: int
    state: str | None = None
    number: int = 0
    whole: int | None = None
    whole_at: int | None = None
    separated: bool = False

    @property
    def is_number(self) -> bool:
        return self.state is None


def past_flags(tokens: Sequence[Token]) -> list[bool]:
    """Return for each piece whether it describes an earlier run or an error already fixed."""
    flags: list[bool] = []
    past = fixing = False
    for at, token in enumerate(tokens):
        text = token.text
        if token.kind == MARK and text in (".", ";", "\n", "→"):
            past = fixing = False
        elif token.kind == MARK and text in (",", ":", "(", ")"):
            fixing = False
        elif text in vocabulary.NOW or text in ("but", "still", "remain", "remaining"):
            past = fixing = False
        elif text in vocabulary.FIXING and _text(tokens, at - 1) not in ("the", "this"):
            # "After the fix 18 passed": as a noun, `fix` does not refer to the number.
            fixing = True
        elif text in vocabulary.PAST or (text == "first" and _text(tokens, at + 1) == "run"):
            past = True
        elif text == "from" and at + 1 < len(tokens) and tokens[at + 1].kind == NUMBER:
            # "Failures went down from 12 to 0"
            fixing = True

        flags.append(past or fixing)

    return flags


def ends_of_lines(tokens: Sequence[Token]) -> list[int]:
    """Return the positions of the new lines."""
    return [at for at, token in enumerate(tokens) if token.text == "\n"]


def counts_in(
    tokens: Sequence[Token], past: Sequence[bool], clauses: Clauses
) -> Iterator[ResultCount]:
    """Return what `tokens` count, in order, except counts of earlier runs and of other things."""
    left_out = 0
    short: list[ResultCount] = []
    for chain in _chains(tokens):
        if clauses.unclear_in_sentence and _is_described(chain, tokens, clauses):
            continue

        # The total at the end of a chain, as vitest writes it: `11 passed | 1 skipped (12)`.
        total, last = None, chain[-1]
        if (
            len(chain) >= _PAIR
            and last.is_number
            and last.whole is None
            and not chain[-2].is_number
            and _text(tokens, last.at - 1) == "("
            and _text(tokens, last.at + 1) == ")"
        ):
            total = chain.pop().number

        pairs = list(_pairs(chain, tokens))
        found = [
            count
            for number, state in pairs
            if (count := _count(number, state, chain, tokens, past)) is not None
            and not (count.kind in ("skipped", "errors") and clauses.continue_at(count.end))
        ]
        yield from found
        left_out += sum(each.number for each in found if each.kind in ("skipped", "other"))

        # What is missing where the counts of one chain do not add up to its total.
        passed = [each for each in found if each.kind == "passed"]
        totals = [each for each in found if each.kind == "total"]
        whole = total if total is not None else (totals[-1].number if totals else None)
        kinds = ("passed", "failed", "errors")
        together = sum(each.number for each in found if each.kind in kinds)
        if passed and whole is not None and whole > together:
            text = f"{passed[0].number} passed of {whole}"
            short.append(ResultCount("short", whole - together, passed[0].at, text, fails=True))

        short += list(_parts_of_a_whole(pairs, chain, tokens, past, clauses))

    # Known only at the end: what makes up for missing passes may be counted in a later chain.
    for each in short:
        # "11/12 passed, 1 skipped" adds up.
        if each.number > left_out:
            yield each


# Chains


def _chains(tokens: Sequence[Token]) -> Iterator[list[_Part]]:
    """Return the sequences of numbers and states that no other word interrupts."""
    chain: list[_Part] = []
    for at, token in enumerate(tokens):
        part = _part_at(tokens, at, chain)
        if part is not None:
            if chain and not part.is_number and not chain[-1].is_number:
                yield chain
                chain = []

            chain.append(part)
        elif token.kind != NUMBER and token.text not in _JOINS.get(token.kind, ()):
            if chain:
                yield chain

            chain = []

    if chain:
        yield chain


def _part_at(tokens: Sequence[Token], at: int, chain: Sequence[_Part]) -> _Part | None:
    token = tokens[at]
    if token.kind == NUMBER:
        if chain and chain[-1].whole_at == at:
            return None

        # "11 of 12" and "11 out of 12" are one number with its whole.
        of = at + 2 if _text(tokens, at + 1) == "out" else at + 1
        whole = of + 2 if _text(tokens, of + 1) in ("the", "all") else of + 1
        if _text(tokens, of) == "of" and whole < len(tokens) and tokens[whole].kind == NUMBER:
            return _Part(at, number=token.number, whole=tokens[whole].number, whole_at=whole)
        return _Part(at, number=token.number)

    if token.kind == RATIO:
        return _Part(at, number=token.number, whole=token.whole)
    if token.kind != WORD:
        return None

    named = at + 1 if _text(tokens, at + 1) in TEST_NOUNS else at
    separated = _text(tokens, named + 1) in _SEPARATORS
    if token.text in STATES:
        # Only the word directly before it: "not all passed" is a sentence, not a count.
        negated = STATES[token.text] == "passed" and _text(tokens, at - 1) == "not"
        return _Part(at, "failed" if negated else STATES[token.text], separated=separated)
    if token.text in TEST_NOUNS or token.text in OTHER_NOUNS:
        return _noun_at(tokens, at, chain, separated=separated)
    return None


def _noun_at(
    tokens: Sequence[Token], at: int, chain: Sequence[_Part], *, separated: bool
) -> _Part | None:
    """Return the noun as a total: "12 tests, 2 failures", "Tests run: 12".

    Return None if the noun only names what a number counts.
    """
    kind = "total" if tokens[at].text in TEST_NOUNS else "other total"
    last = chain[-1] if chain else None
    if last is not None and not last.is_number:
        return None
    if last is not None:
        if len(chain) > 1 and chain[-2].separated:
            return _Part(at, kind, separated=True) if separated else None

        after = _pass_over(tokens, at + 1, _NAMES_OF_TESTS)
        return None if _text(tokens, after) in STATES else _Part(at, kind)

    run = at + 1 if _text(tokens, at + 1) in ("run", "ran") else at
    if _text(tokens, run + 1) in _SEPARATORS:
        return _Part(at, kind, separated=True)

    follows = tokens[at + 1] if at + 1 < len(tokens) else None
    return _Part(at, kind) if follows is not None and follows.kind in (NUMBER, RATIO) else None


def _pairs(chain: Sequence[_Part], tokens: Sequence[Token]) -> Iterator[tuple[_Part, _Part]]:
    """Return numbers with their states, which follow their number or precede all numbers."""
    parts = list(chain)
    if parts and not parts[0].is_number:
        if parts[-1].is_number and _is_state_first(parts, tokens):
            yield from zip(parts[1::2], parts[::2], strict=False)
            return

        parts = parts[1:]

    for first, second in itertools.pairwise(parts):
        if first.is_number and not second.is_number:
            yield first, second


def _is_state_first(parts: Sequence[_Part], tokens: Sequence[Token]) -> bool:
    """Return whether states precede their numbers: `Failures: 2`, or a line `# fail 2`."""
    if any(first.is_number == second.is_number for first, second in itertools.pairwise(parts)):
        return False
    if parts[0].separated or len(parts) > _PAIR:
        return True

    start, end = parts[0].at, parts[1].at + 1
    while start > 0 and tokens[start - 1].text in ("#", "*", "-"):
        start -= 1

    alone = (start == 0 or tokens[start - 1].text == "\n") and (
        end == len(tokens) or tokens[end].text == "\n"
    )
    return alone or parts[1].whole is not None


def _is_described(chain: Sequence[_Part], tokens: Sequence[Token], clauses: Clauses) -> bool:
    """Return whether words that nothing is known of make a description of `chain`."""
    # What the tests are called is no description: "Regressionstests: 4 failed".
    named = (chain[0].state or "").endswith("total") and len(chain) > 1
    # A form that was left empty has 3 errors, too.
    only_errors = all(
        part.is_number or part.state == "errors" or tokens[part.at].text in ("failure", "failures")
        for part in chain
    )
    unclear = clauses.unclear_in_sentence if only_errors else clauses.unclear
    return chain[1 if named else 0].at in unclear


# From pairs to counts


def _count(
    number: _Part,
    state: _Part,
    chain: Sequence[_Part],
    tokens: Sequence[Token],
    past: Sequence[bool],
) -> ResultCount | None:
    kind = state.state or ""
    first, last = min(number.at, state.at), max(number.at, state.at)
    if past[first] or number.whole is not None:
        return None
    if state.at > number.at and _text(tokens, number.at + 1) == ":":
        # "a.py:13:72: error" is a place in a file.
        return None
    if state.at > number.at and _is_put_right(tokens, last + 1, number.number):
        return None
    if kind in _FAILING and not _counts_failures(number, state, chain, tokens):
        return None
    if kind in ("total", "passed") and number.number == 0:
        # "0 tests" is a result where the statement ends; any other word goes on about the tests.
        following = tokens[last + 1] if last + 1 < len(tokens) else None
        if (
            following is not None
            and following.kind == WORD
            and following.text not in vocabulary.AFTER_NONE
        ):
            return None

    shown = (
        f"{number.number} {tokens[state.at].text}"
        if state.at > number.at
        else f"{tokens[state.at].text} {number.number}"
    )
    fails = kind in _FAILING and number.number > 0

    return ResultCount(
        kind,
        number.number,
        first,
        shown,
        fails=fails,
        ran=tokens[state.at].text in ("xfailed", "xfail"),
        end=last + 1,
    )


def _is_put_right(tokens: Sequence[Token], at: int, number: int) -> bool:
    """Return whether a count is over by what follows: "2 failed before", "3 errors fixed"."""
    for ahead in range(at, min(at + _LOOK_AHEAD, len(tokens))):
        token = tokens[ahead]
        if token.kind == NUMBER:
            return _text(tokens, ahead + 1) == "fixed" and token.number >= number
        if token.kind == MARK and token.text in (",", ";", ".", "\n", ":"):
            after = _text(tokens, ahead + 1)
            next_texts = [each.text for each in tokens[ahead + 1 : ahead + 1 + _LOOK_AHEAD]]
            fixed = after in ("both", "all", "since") and "fixed" in next_texts
            return fixed or (after == "as" and _text(tokens, ahead + 2) in ("expected", "intended"))

        if token.kind == WORD and token.text in vocabulary.AFTER_PAST:
            return True

    return False


def _counts_failures(
    number: _Part, state: _Part, chain: Sequence[_Part], tokens: Sequence[Token]
) -> bool:
    """Return whether the number counts failed tests or errors of a tool, not failed logins."""
    word = tokens[state.at].text
    if state.at < number.at:
        if word in ("error", "fail", "failure") and not state.separated and len(chain) == _PAIR:
            before_state = tokens[max(state.at - 2, 0) : state.at]
            return all(token.kind == MARK for token in before_state)
        if word == "error":
            return False
        return _may_follow(tokens, number.at + 1)

    if not _may_follow(tokens, state.at + 1):
        return False
    if any(
        part.state in ("passed", "total", "other", "skipped")
        for part in chain
        if part.at != state.at
    ):
        return True

    # The word before the number separates a result from a description of work: "mypy: 3 errors"
    # against "handles 3 errors". What is unclear does not count, because a wrong contradiction
    # rejects a good report.
    before = tokens[number.at - 1] if number.at > 0 else None
    if before is None or before.kind != WORD:
        return before is None or before.kind != NAME or state.state == "failed"
    if before.text in vocabulary.TOOLS or before.text in TEST_NOUNS:
        return True
    if before.text == "with" and _text(tokens, number.at - 2) in vocabulary.ENDED:
        return True
    if before.text == "with" and _text(tokens, number.at - 2) == ",":
        # XCTest: "Executed 20 tests, with 2 failures"
        return (
            _text(tokens, number.at - 3) in TEST_NOUNS
            and _text(tokens, number.at - 5) == "executed"
        )

    if before.text in vocabulary.REPORTING:
        tools = vocabulary.TOOLS - {"test", "tests", "run"}
        near = tokens[max(number.at - 4, 0) : number.at]
        named = before.text == "found" or any(token.text in tools for token in near)
        return named or (state.state == "failed" and _text(tokens, state.at + 1) in TEST_NOUNS)
    if state.state == "errors" or word in ("failure", "failures"):
        return before.text in vocabulary.ERROR_CONTEXT
    return before.text not in vocabulary.DESCRIBING


def _may_follow(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a count can end before the piece at `at`.

    "3 failed logins" and "2 error paths" continue with a noun that is not a test.
    """
    at = _pass_over(tokens, at, TEST_NOUNS | OTHER_NOUNS)
    return at >= len(tokens) or tokens[at].kind != WORD or _text(tokens, at) in _AFTER_COUNT


_AFTER_COUNT = vocabulary.CONNECTIVES | STATES.keys() | vocabulary.NUMBERS.keys()


def _pass_over(tokens: Sequence[Token], at: int, words: frozenset[str]) -> int:
    """Return the position after `words` at `at`; few are examined, to keep the time linear."""
    most = at + _LOOK_AHEAD
    while at < most and _text(tokens, at) in words:
        at += 1
    return at


# Sums


def _parts_of_a_whole(
    pairs: Sequence[tuple[_Part, _Part]],
    chain: Sequence[_Part],
    tokens: Sequence[Token],
    past: Sequence[bool],
    clauses: Clauses,
) -> Iterator[ResultCount]:
    """Return the ratios that count tests: "11/12 tests passed", "2 of 12 failed", "11/12"."""
    states = {number.at: state.state for number, state in pairs}
    for part in chain:
        if part.whole is None or past[part.at] or part.number > part.whole:
            continue
        if _text(tokens, part.at - 1) in vocabulary.PLACES_IN_WORK or (
            part.at >= 1 and tokens[part.at - 1].kind == NAME
        ):
            continue

        state = states.get(part.at)
        # A text of "11/12" and marks is a result.
        if state is None and len(tokens) <= _LOOK_AHEAD and "/" in tokens[part.at].text:
            others = (token for at, token in enumerate(tokens) if at != part.at)
            state = "total" if all(token.kind == MARK for token in others) else None
        # "None of 45 checks" goes on with what is true of none of them.
        if state == "total" and clauses.continue_at((part.whole_at or part.at) + 2):
            continue

        shown = f"{part.number} of {part.whole}"
        if state in ("passed", "total") and _ends_or_counts(tokens, part.at):
            if part.whole == 0:
                yield ResultCount("none", _ALWAYS, part.at, shown)
            elif part.number < part.whole:
                yield ResultCount(
                    "short", part.whole - part.number, part.at, f"{shown} passed", fails=True
                )
            else:
                yield ResultCount("passed", part.number, part.at, shown)
        elif state in _FAILING and part.number:
            yield ResultCount("failed", _ALWAYS, part.at, f"{shown} failed", fails=True)
        elif state == "skipped" and part.number == part.whole:
            yield ResultCount("none", _ALWAYS, part.at, f"{shown} skipped", fails=False)


_ALWAYS = 10**9
"""Greater than any number of tests that were left out."""


def _ends_or_counts(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a ratio counts tests and not positions: no other noun follows it."""
    for after in range(at + 1, min(at + 1 + 2 * _LOOK_AHEAD, len(tokens))):
        token = tokens[after]
        if token.text == "\n":
            break
        if token.kind == WORD and token.text not in ADJECTIVES:
            return token.text in TEST_NOUNS | STATES.keys() | vocabulary.CONNECTIVES

    return True


def _text(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].text if 0 <= at < len(tokens) else ""

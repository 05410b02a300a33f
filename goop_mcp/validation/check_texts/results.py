"""parse_result(): the counts, the exit status, or the absence of a run that a text shows."""

import itertools
from collections.abc import Iterator, Sequence

from goop_mcp.structs import DataStruct
from goop_mcp.validation.check_texts import vocabulary
from goop_mcp.validation.check_texts.clauses import ENGLISH, Clauses
from goop_mcp.validation.check_texts.counts import ResultCount, counts_in, ends_of_lines, past_flags
from goop_mcp.validation.check_texts.not_run import says_nothing_ran
from goop_mcp.validation.check_texts.shares import low_shares
from goop_mcp.validation.check_texts.tokens import (
    NUMBER,
    WORD,
    Token,
    tokens_of,
    without_quotations,
)

__all__ = ["CheckResult", "parse_result"]


class CheckResult(DataStruct, frozen=True, kw_only=True):
    """The result that a text shows. A number is None if the text does not give it.

    `failure` is the part of the text that shows a failure, None if there is none. `nothing_ran`:
    the text states it, or counts nothing that ran. `all_passed` marks the claim that every test
    passed.
    """

    passed: int | None = None
    failed: int | None = None
    errors: int | None = None
    skipped: int | None = None
    total: int | None = None
    exit_status: int | None = None
    failure: str | None = None
    nothing_ran: bool = False
    all_passed: bool = False


_NAMES_OF_RUNS = vocabulary.TOOLS | {
    word for word, kind in vocabulary.STATES.items() if kind in ("passed", "failed", "skipped")
}
_EXIT_WORDS = frozenset({"exit", "exited"}) | vocabulary.CODE_WORDS
_HEAD, _TAIL = 4 * 1024, 60 * 1024
_PARTS_OF_TESTS = frozenset({"subtest", "subtests"})
_RESULTS = frozenset({"passed", "failed", "errors", "exit"})


def parse_result(text: str) -> CheckResult:
    """Return the result that `text` shows of tests, a linter, a compiler or a build.

    Only counts and fixed forms decide, never a bare word such as "failed". Names, paths, quotations
    and earlier runs are left out. Linear in the text; of more than 64 Ki characters the first 4 Ki
    and the last 60 Ki count, because runners end with a summary.
    """
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"

    tokens, translated = tokens_of(text)
    clauses = Clauses(tokens, translated=True) if translated else ENGLISH
    past = past_flags(tokens)
    exits = [
        status
        for at, token in enumerate(tokens)
        if token.kind == WORD
        and not past[at]
        and (
            token.text in _EXIT_WORDS or (token.text == "code" and _word(tokens, at - 1) == "with")
        )
        and (status := _exit_at(tokens, at)) is not None
    ]
    counts = [
        *counts_in(tokens, past, clauses),
        *exits,
        *low_shares(tokens, past),
        *_failing_lines(text, tokens, past),
    ]

    # Only the last run that the text describes counts.
    turns = [
        at
        for at, token in enumerate(tokens)
        if token.text == "→"
        or (token.kind == WORD and token.text in vocabulary.NOW)
        or (token.text in ("second", "final", "last") and _word(tokens, at + 1) == "run")
    ]
    newest = max((each.at for each in counts if each.kind in _RESULTS), default=0)
    turn = max((at for at in turns if at < newest), default=-1)
    current = [each for each in counts if each.at > turn]

    sums = {
        kind: sum(each.number for each in _without_parts(found, tokens))
        for kind in ("passed", "failed", "errors", "skipped", "total")
        if (found := [each for each in current if each.kind == kind])
    }
    statuses = [each.number for each in current if each.kind == "exit"]
    failing = next((each for each in current if each.fails), None)

    return CheckResult(
        **sums,
        exit_status=statuses[-1] if statuses else None,
        failure=None if failing is None else failing.text,
        nothing_ran=failing is None and says_nothing_ran(tokens, current, sums, clauses),
        all_passed=failing is None and _says_all_passed(tokens),
    )


def _without_parts(counts: Sequence[ResultCount], tokens: Sequence[Token]) -> Sequence[ResultCount]:
    """Return the counts without those of parts of tests: "12 passed, 3 subtests passed"."""
    whole = [
        each
        for each in counts
        if not any(token.text in _PARTS_OF_TESTS for token in tokens[each.at : each.end])
    ]
    return whole or counts


# Exit codes


def _exit_at(tokens: Sequence[Token], at: int) -> ResultCount | None:
    """Return the exit status at `at`, None if the text describes the behaviour of a program."""
    if not _describes_run(tokens, at):
        return None

    before, number = _word(tokens, at - 1), at + 1
    if before in ("non-zero", "nonzero"):
        return ResultCount("exit", 1, at, "a non-zero exit", fails=True)

    while number < min(len(tokens), at + 5) and tokens[number].text in vocabulary.EXIT_FILLERS:
        number += 1

    if number >= len(tokens) or not tokens[number].text.isdecimal():
        return None

    after = number + 2 if _word(tokens, number + 1) in ("(", ",") else number + 1
    if _word(tokens, after) in vocabulary.AFTER_DESCRIBED_EXIT or (
        after < len(tokens) and tokens[after].foreign
    ):
        return None

    status = tokens[number].number
    return ResultCount("exit", status, at, f"exit status {status}", fails=status != 0)


def _describes_run(tokens: Sequence[Token], at: int) -> bool:
    """Return whether an exit is a result: "failed with exit code 1", not "handles exit code 1"."""
    if tokens[at].text == "exited":
        return True

    begin = at - 1
    while begin >= 0 and _word(tokens, begin) in ("a", "an", "non-zero", "nonzero", "with"):
        begin -= 1

    before = _word(tokens, begin)
    if (
        not any(token.kind == WORD for token in tokens[max(begin - 3, 0) : begin + 1])
        or before == "\n"
        or before in vocabulary.RUN_BEFORE_EXIT
    ):
        return True

    # "pytest: exit code 1" is a result, "a missing file is refused, exit code 2" is not.
    return any(token.text in _NAMES_OF_RUNS for token in tokens[max(begin - 3, 0) : begin + 1])


# Lines and texts that runners print


def _failing_lines(
    text: str, tokens: Sequence[Token], past: Sequence[bool]
) -> Iterator[ResultCount]:
    if not any(form.strip() in text for form in _FORMS):
        return

    ends = ends_of_lines(tokens)
    for number, line in enumerate(without_quotations(text).split("\n")):
        start = ends[number - 1] if 0 < number <= len(ends) else 0
        begins = line.lstrip("> \t")
        form = next((each for each in vocabulary.FAILURE_LINES if begins.startswith(each)), None)
        form = form or next((each for each in vocabulary.FAILURE_TEXTS if each in line), None)
        if form is None and "FAIL" in line:
            # "FAIL github.com/acme/auth" or "FAILED tests/test_x.py::test_y"
            form = next(
                (
                    f"{piece} {following[:60]}"
                    for piece, following in itertools.pairwise(line.split())
                    if piece in ("FAIL", "FAILED") and ("/" in following or "::" in following)
                ),
                None,
            )

        if form is not None and not any(past[start : ends[number] if number < len(ends) else None]):
            yield ResultCount("failed line", 1, start, form.strip(" :("), fails=True)


_FORMS = ("FAIL", *vocabulary.FAILURE_LINES, *vocabulary.FAILURE_TEXTS)


# All passed


def _says_all_passed(tokens: Sequence[Token]) -> bool:
    """Return whether the text claims that all tests pass, as in "All 14 tests pass"."""
    for at, token in enumerate(tokens):
        if token.text not in ("all", "every"):
            continue

        end, seen = at + 1, False
        while end < len(tokens) and (word := tokens[end].text) and end < at + 6:
            if word in ("pass", "passes", "passed", "passing", "green", "succeed", "succeeded"):
                if seen:
                    return True

                break

            seen = seen or word in vocabulary.TEST_NOUNS
            if (
                tokens[end].kind != NUMBER
                and word not in vocabulary.TEST_NOUNS | vocabulary.ADJECTIVES
            ):
                break

            end += 1

    return False


def _word(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].text if 0 <= at < len(tokens) else ""

"""What a passed check or a summary claims, compared with what its own text shows."""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from goop_mcp.validation.check_texts.languages import may_be_foreign
from goop_mcp.validation.check_texts.results import parse_result

__all__ = ["TextFlaw", "judge_claim", "judge_summary", "shows_no_result", "summary_failure"]

# Every text that contradicts a success contains one of these; other texts need no further parsing.
_SUSPECTS = (
    *(
        "fail",
        "err",
        "exit",
        "code",
        "skip",
        "pending",
        "defer",
        "omit",
        "not",
        "n't",
        "n’t",
        "no ",
    ),
    *("none", "zero", " of ", "total", "tests", "collected", "should", "would", "will", "must"),
    *("ought", "assum", "presum", "expect", "probab", "likely", "believe", "unable", "cannot"),
    *(
        "untest",
        "unverif",
        "n/a",
        "to be ",
        "to run",
        "crash",
        "broke",
        "abort",
        "timed",
        "nothing",
    ),
    *(
        "never",
        "rc=",
        "rc:",
        "rc ",
        "(",
        "✗",
        "✘",
        "panic",
        "traceback",
        "segm",
        "sigsegv",
        "elif",
        "core dump",
    ),
    *("bail", "memory", "threshold", "make:", "theory", "***", "waiting", "deselected"),
    *("left ", "delegated", "postponed", "handed", "assigned", "reserved", "waits", "up to"),
    *("cover", "required", "minimum"),
    *("runs ", "tests ", "checks ", "going to", "later", "inconclusive"),
)
# Up to this length one search for all of them is faster than one for each; then `in`, which skips
# ahead in a text, is.
_SHORT = 40
_SUSPECT = re.compile("|".join(map(re.escape, _SUSPECTS)))
_SUSPECT_NUMBER = re.compile(r"[0-9][/%]|(?<![0-9.,])0(?![0-9.,])")
_CLEAR = frozenset({"no errors", "no errors found", "no issues", "no errors.", "0 errors"})
_ELLIPSES = frozenset({"...", "…"})
"""Template text, which is a finding of its own."""


class TextFlaw(NamedTuple):
    """Evidence against a check that is reported as passed; `shown` is the part of its text."""

    kind: Literal["contradicts", "without result"]
    shown: str


def judge_claim(text: str) -> TextFlaw | None:
    """Return what contradicts a passed check in its text, None if nothing does."""
    lower = text.lower()
    if lower in _CLEAR or text in _ELLIPSES:
        return None

    # Substrings and not words: a word with a suspect inside only costs a closer look.
    is_suspected = (
        _SUSPECT.search(lower) is not None
        if len(lower) <= _SHORT
        else any(map(lower.__contains__, _SUSPECTS))
    )
    if (
        not is_suspected
        and _SUSPECT_NUMBER.search(text) is None
        and any(map(str.isalnum, text))
        and not may_be_foreign(lower)
    ):
        return None

    result = parse_result(text)
    if result.failure is not None:
        return TextFlaw("contradicts", result.failure)
    return TextFlaw("without result", "nothing ran") if result.nothing_ran else None


def shows_no_result(text: str) -> bool:
    """Return whether nothing ran by the text of a check that is reported as passed."""
    flaw = judge_claim(text)
    return flaw is not None and flaw.kind == "without result"


def judge_summary(summary: str, checks: Iterable[str]) -> str | None:
    """Return the failure that `checks` show while `summary` claims that every test passed."""
    # The words are searched before the text is parsed, which takes a hundred times as long.
    lower = summary.lower()
    if "all" not in lower and not may_be_foreign(lower):
        return None
    if not parse_result(summary).all_passed:
        return None
    results = (parse_result(text) for text in checks if text)
    return next((result.failure for result in results if result.failed), None)


def summary_failure(summary: str) -> str | None:
    """Return the failed tests that `summary` counts: both passed and failed ones, or n of m.

    Stricter than for a check, as a summary also describes what the work is about.
    """
    lower = summary.lower()
    if "fail" not in lower and not may_be_foreign(lower):
        return None

    result = parse_result(summary)

    return result.failure if result.failed and result.passed is not None else None

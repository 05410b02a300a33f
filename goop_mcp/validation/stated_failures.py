"""Recognize a text that says that the work failed: "Could not add the endpoint", "❌ build broken".

Reports speak of failures for good reasons: a page shows an error, a test covers a failed login,
a failure was fixed. Only fixed forms at the beginning of a text count, and none where the text goes
on about a message, an earlier state or another way that was found.
"""

import re
from importlib import import_module
from typing import Any, Final

from goop_mcp.validation.check_texts import TextFlaw, admitted_in, judge_claim, parse_result
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.template_phrases import words

__all__ = ["judge_check", "reviews", "stated_failure", "stated_in_summary"]

_LONGEST: Final = 200
_SHOWN: Final = 60
_MARK: Final = re.compile(r"[❌✗✘✖⛔🔴🚫]\ufe0f?\s*+")
_ABOUT_THE_MARK: Final = re.compile(
    r"(?:is|are|and|or|icon|icons|marks?|symbols?|emojis?|replaced|shown|for|in|appears|next"
    r"|as|becomes|means|instead|button)\b|[^\w\s]"
)
_OVER: Final = re.compile(
    r"\b(?:now|so|then|instead|any ?more|no longer|(?<!not )(?<!be )(?:fixed|fixes|reverted|solved)"
    r"|passes|(?<!not )(?<!be )resolved|on purpose"
    r"|out of scope|(?<!time )before|earlier|already|exist(?:s|ed)|unnecessary|no need"
    r"|not (?:needed|necessary|required)|nothing to do|(?<!not )green|by design|deliberately"
    r"|intentionally|obsolete|previously|without the fix|as (?:expected|specified|intended"
    r"|required|designed|planned|agreed))\b|→"
)
_WORKED: Final = re.compile(
    r"[.;:,–—\n]\s(?:(?:i|we|and|but|therefore|hence) ){0,2}(?:added|changed|corrected|created"
    r"|deleted|disabled|documented|implemented|made|migrated|moved|pinned|refactored|removed|renamed"
    r"|replaced|rewrote|switched|updated|used|worked around|wrote)\b"
)
_MESSAGE: Final = re.compile(
    r"\b(?:messages?|banners?|toasts?|dialogs?|errors?|alerts?|pages?|cases?|warnings?|hints?"
    r"|labels?|strings?|texts?|handling|states?|responses?|exceptions?|button|icon|view|screen)\b"
)
_OWN: Final = re.compile(
    r"\b(?:i|we|finish(?:ed)?|complet(?:e|ed)|continue|proceed|out of|gave up|blocked)\b"
)
_TASK_NUMBER: Final = re.compile(r"[Ww]\d{1,4}\.[Tt]\d{1,4} (?:is|was|not|could|did|remains)\b")
_REVIEWERS: Final = words(
    "verifier reviewer debugger explorer researcher critic auditor analyst analyzer librarian"
    " investigator inspector tester"
)

_FIRST_WORDS: Final = words("""
    i i'm we it this the all some most its my could couldn't cannot can't was wasn't were weren't am
    are unable not failed did didn't still currently only partially partly incomplete unfinished
    half half-finished half-done half-implemented broken failing hanging red wip work job ticket
    skipped stub stubbed just fails fail hangs hang crashes crashed crash timed do does doesn't
    don't nothing ran hit gave had blocked todo fixme build test tests unit e2e integration login
    new suite ci pipeline compilation task implementation code file files migration endpoint feature
    phase lint type typecheck server app
    konnte konnten noch nicht unfertig unvollständig nur teilweise der die kompiliert funktioniert
    läuft startet ist sind kompilierung impossible échec je on n'ai pas inachevé inachevée incomplet
    la le les ne el il no aún todavía sin incompleto incompleta las los não ainda a o os
    impossibile non i ancora
""")
"""The words with which the forms of `failure_forms` begin."""


def reviews(agent: str | None) -> bool:
    """Return whether `agent` reports on the work of others, by the last word of its name."""
    return agent is not None and agent.lower().rpartition("-")[2] in _REVIEWERS


def _may_begin(line: str) -> bool:
    """Return whether a form may begin `line`, by its first word.

    Every file and check of every report passes here, and the word decides about most of them.
    """
    first = line.partition(" ")[0].lower()
    if not first.isalpha():
        first = first.partition("(")[0].rstrip(".,:;!\n").replace("’", "'")
    initial = line[:1]
    return (
        first in _FIRST_WORDS
        or not initial.isascii()
        or " konnt" in line
        or (initial in "Ww" and _TASK_NUMBER.match(line) is not None)
    )


def stated_failure(
    text: str, *, ahead: bool = False, of_others: bool = False, check: bool = False
) -> str | None:
    """Return the beginning of `text` if it says that the work failed or is not done, else None.

    Only the first line counts, and at most 200 characters of it. `ahead`: the text is about what
    comes next, so that it may name what is to do. `of_others`: a broken build is what the speaker
    found, and only what the speaker was unable to do counts. `check`: the text is that of a check.
    """
    line = text.lstrip()
    if not _may_begin(line):
        return None

    line = line[:_LONGEST].partition("\n")[0].rstrip()
    lower = line.lower().replace("’", "'")
    # Most replies have no such line, and the forms take long to compile.
    known: Any = import_module("goop_mcp.validation.failure_forms")
    forms = [known.UNABLE] if of_others else [known.UNABLE, known.STATES]
    if check or not ahead:
        forms.append(known.UNCHECKED if check else known.LEFT_TO_DO)

    mark = _MARK.match(lower)
    if mark is not None:
        about = _ABOUT_THE_MARK.match(lower, mark.end()) is not None or mark.end() == len(lower)
        failed = not about and not of_others
    else:
        stated = next(filter(None, (form.match(lower) for form in forms)), None)
        if stated is not None and of_others and _OWN.search(stated[0]) is None:
            stated = None
        failed = (stated is not None and _MESSAGE.search(lower.partition(":")[0]) is None) or (
            known.ELSEWHERE.fullmatch(lower.rstrip(".!。 ")) is not None
        )

    return excerpt(line, _SHOWN) if failed and _OVER.search(lower) is None else None


def stated_in_summary(summary: str, *, of_others: bool = False) -> str | None:
    """Return the beginning of `summary` if it says that the task failed or is not done, else None.

    A summary may begin with the failure that the work was about, and go on with what was done.
    """
    stated = stated_failure(summary, of_others=of_others)
    if stated is None or _WORKED.search(summary[:_LONGEST].lower()):
        return None
    # That a thing still fails is a finding of its own, about the whole summary.
    own = of_others or stated_failure(summary, of_others=True) is not None
    return stated if own or admitted_in(summary) is None else None


def judge_check(text: str) -> TextFlaw | None:
    """Return what contradicts a passed check in its text: what it shows, or what it says."""
    claim = judge_claim(text)
    if claim is not None:
        return claim

    stated = stated_failure(text, check=True)
    if stated is None:
        return None

    # `✖ 3 problems (0 errors, 3 warnings)` is what a linter prints that found nothing wrong.
    result = parse_result(text)
    counted = 0 in (result.failed, result.errors, result.exit_status)
    return None if counted else TextFlaw("contradicts", stated)

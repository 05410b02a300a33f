"""Compare the claims of one last message with what its agent ran."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from goop_mcp import redaction
from goop_mcp.evidence.activity import AgentActivity
from goop_mcp.evidence.attribution import Run
from goop_mcp.evidence.history import TaskHistory, file_name
from goop_mcp.evidence.judging import Judgement, judge_evidence
from goop_mcp.evidence.prose_claims import ProseClaim, claims_in_prose
from goop_mcp.evidence.rules import (
    CHECK_FAILED,
    CHECK_HIDES_FAILURE,
    CHECK_STALE,
    COUNTS_DIFFER,
    NOTHING_EXECUTED,
    WRITE_REFUSED,
)
from goop_mcp.messages.quoting import line
from goop_mcp.protocols import FAMILIES, examine
from goop_mcp.services.audit.results import Judged
from goop_mcp.validation.claims import CheckClaim, Claims, FileClaim
from goop_mcp.validation.rules import Problem

__all__ = ["judge_message"]

# What the result of a command or of a write contradicts, the worst first. All other rules are about
# what is missing.
_CONTRADICTING: Final = (
    CHECK_FAILED,
    CHECK_HIDES_FAILURE,
    NOTHING_EXECUTED,
    WRITE_REFUSED,
    COUNTS_DIFFER,
)
_WRITTEN: Final = frozenset({"created", "modified", "touched"})
_SHOWN: Final = 300
_REDACTED: Final = 4_000


def judge_message(text: str, activity_of: Callable[[], AgentActivity]) -> list[Judged]:
    """Return the claims about checks and files in the last message `text`, each judged.

    `activity_of` is called once if there are any. The claims of an envelope count where it makes
    some, else those in prose.
    """
    claims, prose = _claims_of(text)
    if not (claims.checks or claims.files):
        return []

    activity = activity_of()
    made: Sequence[CheckClaim | FileClaim] = (*claims.checks, *claims.files)
    if not activity.complete:
        why = line(activity.why_incomplete or "it is not known completely", longest=_SHOWN)
        return [Judged("unreadable", _words(each, prose), why) for each in made]

    judgement = judge_evidence(claims, activity)
    return [_judged(each, prose.get(each.where), judgement, activity) for each in made]


def _claims_of(text: str) -> tuple[Claims, dict[str, ProseClaim]]:
    """Return the claims of the message, and those in prose by their `where`."""
    if any(mark in text for family in FAMILIES for mark in family.marks):
        found = examine(text).claims()
        checks = tuple(check for check in found.checks if check.passed)
        files = tuple(file for file in found.files if file.kind in _WRITTEN)
        if checks or files:
            return replace(found, files=files, checks=found.checks, memories=(), commits=()), {}

    prose = {f"prose {at}": each for at, each in enumerate(claims_in_prose(text))}
    placed = [replace(each.claim, where=where) for where, each in prose.items()]
    claims = Claims(
        checks=tuple(each for each in placed if isinstance(each, CheckClaim)),
        files=tuple(each for each in placed if isinstance(each, FileClaim)),
        complete=True,
    )
    return claims, prose


def _judged(
    claim: CheckClaim | FileClaim,
    spoken: ProseClaim | None,
    judgement: Judgement,
    activity: AgentActivity,
) -> Judged:
    words = _clean(spoken.words if spoken is not None else _stated(claim))
    item = next((each for each in judgement.items if each.path == claim.where), None)
    problems = [each for each in judgement.problems if each.hit.path == claim.where]
    contradiction = next(
        (
            (rank, each)
            for rank, rule in enumerate(_CONTRADICTING)
            for each in problems
            if each.rule is rule
        ),
        None,
    )
    if contradiction is not None:
        rank, problem = contradiction
        doubt = _doubt(spoken, problem, activity) if spoken is not None else ""
        if doubt:
            return Judged("unsupported", words, doubt)
        source = item.source if item is not None else ""
        return Judged(
            "contradicted",
            words,
            _clean(_result(problem)),
            problem.rule.id,
            rank,
            *_shown_by(claim, source, activity),
        )

    why = _clean(problems[0].hit.message) if problems and problems[0].hit.message else ""
    stale = any(each.rule.id == CHECK_STALE.id for each in problems)
    if item is not None and item.tier != "claimed" and not stale:
        return Judged("supported", words, _clean(item.detail))
    return Judged("unsupported", words, why or (item.detail if item is not None else ""))


def _shown_by(
    claim: CheckClaim | FileClaim, source: str, activity: AgentActivity
) -> tuple[str, str]:
    """Return where the transcript shows the result, and the command that had it."""
    if isinstance(claim, FileClaim):
        name = file_name(claim.path)
        sources = (each.source for each in activity.files if file_name(each.path) == name)
        return next(sources, source), ""

    command = next((each.line for each in activity.commands if source == each.source), "")
    return source, _clean(command) if command else ""


def _result(problem: Problem) -> str:
    """Return the result in the message of a finding, without the words for the claim."""
    message = problem.hit.message or ""
    _, found, result = message.partition(" is reported as passed; ")
    return result if found else message


# What holds back an accusation by prose, which says less than a check with a name and a result


def _doubt(spoken: ProseClaim, problem: Problem, activity: AgentActivity) -> str:
    """Return why the result need not contradict what was spoken in prose, "" if it does."""
    if spoken.reserved:
        return "the message itself speaks of failures"
    if problem.rule is WRITE_REFUSED:
        return ""

    history = TaskHistory(activity, everything=True)
    if problem.rule is COUNTS_DIFFER:
        number = re.compile(rf"(?<![\d.]){spoken.number}(?![\d.])")
        printed = any(number.search(each.output) for each in activity.commands)
        return "a command printed this number" if printed else ""

    runs = [each for each in history.of_kind(spoken.kind, current=True) if not each.vacuous]
    last = next((each for each in reversed(runs) if each.outcome != "passed"), None)
    if last is None:
        return "which run is meant is not known"
    # A type checker may also build: what it fails at is first of all its own.
    own = [run for run in history.runs if run.command is last.command]
    first = next(run for run in own if run.program == last.program)
    if spoken.kind not in first.kinds:
        return f"{last.program} is another check as well"
    return _doubt_of_runs(spoken, runs, last, activity)


def _doubt_of_runs(
    spoken: ProseClaim, runs: Sequence[Run], last: Run, activity: AgentActivity
) -> str:
    counts = set(_counts(runs, last, whole=spoken.whole))
    if spoken.number is not None and spoken.number in counts:
        return "another run printed this number"

    passed = [each for each in runs if each.outcome == "passed"]
    if not spoken.whole and any(each.command.line != last.command.line for each in passed):
        return "another run of such a check passed"
    # An agent may break the code to see its tests fail, and put it back.
    changed = any(file.position > last.position and file.ok is not False for file in activity.files)
    if changed and any(each.position < last.position for each in passed):
        return "it passed before, and files were changed after it failed"

    return ""


def _counts(runs: Sequence[Run], last: Run, *, whole: bool) -> Iterator[int]:
    """Yield how many tests the runs say passed that a claim may be about."""
    for run in runs:
        result = run.summary.result if run.summary is not None else None
        other = run.outcome == "passed" and run.command.line != last.command.line
        if result is not None and (other or not whole):
            yield from (each for each in (result.passed, result.total) if each is not None)


# Words


def _words(claim: CheckClaim | FileClaim, prose: dict[str, ProseClaim]) -> str:
    spoken = prose.get(claim.where)
    return _clean(spoken.words if spoken is not None else _stated(claim))


def _stated(claim: CheckClaim | FileClaim) -> str:
    if isinstance(claim, FileClaim):
        return f"{claim.path} {claim.kind}"
    return f"{claim.name}: {claim.text}" if claim.text else f"{claim.name} passed"


def _clean(text: str) -> str:
    """Return a part of a transcript as it may be shown: one line, no secrets, no controls."""
    return line(redaction.redact(text[:_REDACTED]).text, longest=_SHOWN)

"""Rules about contradictory replies (D-93): success with an error, questions or failed checks."""

from collections.abc import Iterator
from typing import NamedTuple

from goop_mcp.protocols.factory.claims import (
    CHECK_TEXTS,
    COUNTING_METRICS,
    PASSED,
    added_checks,
)
from goop_mcp.protocols.factory.model import CriticVerdict, Reply, Status
from goop_mcp.validation.check_texts import TextFlaw, admitted_in, summary_failure
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, counted_noun, excerpt
from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.rules import Example, Problem, RuleList
from goop_mcp.validation.stated_failures import judge_check, stated_failure, stated_in_summary

__all__ = ["CONTRADICTION_RULES", "checks_without_result"]

_SUMMARY = '"summary": "Designed a data pipeline with four agents",'
_METRICS = COUNTING_METRICS["failed"]
_FAILURES = frozenset(_METRICS)
_ANSWERED = ("answer", "answered", "resolution", "resolved")


def _contradiction(what: str, path: str, found: str) -> Hit:
    # What agrees with what is left open: an agent would learn which number to delete.
    return Hit(
        message=f"status is success, but {what}; expected what a run shows", path=path, found=found
    )


class _JudgedText(NamedTuple):
    """A text of the passed check `name`, its pointer, and what speaks against it."""

    name: str
    path: str
    text: str
    flaw: TextFlaw | None


def _passed_checks(reply: Reply) -> Iterator[list[_JudgedText]]:
    """Yield the texts of each additional check that agents report as passed."""
    for name, pointer, check in added_checks(reply):
        status = check.get("status")
        if check.get("passed") is True or (isinstance(status, str) and status.lower() in PASSED):
            yield [
                _JudgedText(name, f"{pointer}/{field}", text, judge_check(text))
                for field in CHECK_TEXTS
                if isinstance(text := check.get(field), str)
            ]


def _without_result(texts: list[_JudgedText]) -> _JudgedText | None:
    """Return the first text of a check that shows no result, None where one text shows it."""
    kinds = {None if each.flaw is None else each.flaw.kind for each in texts}
    return texts[0] if kinds == {"without result"} else None


def checks_without_result(reply: Reply) -> list[tuple[str, str]]:
    """Return the passed checks of a success that show no result, each with a text of it."""
    if reply.status is not Status.SUCCESS:
        return []
    found = [_without_result(texts) for texts in _passed_checks(reply)]
    return [(each.name, each.text) for each in found if each is not None]


CONTRADICTION_RULES = RuleList()


@CONTRADICTION_RULES.rule(
    id="factory/success-with-error",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="success with an `error` object",
    why=(
        "Either the work is done or it failed; the orchestrator would go on and never look at the"
        " error."
    ),
    fix='Report "status": "failure" with the error, or put right what failed and run it again.',
    requirements=("F-10",),
    example=Example(
        good=_SUMMARY,
        bad=f'{_SUMMARY} "error": {{"type": "technical_error", "message": "the disk is full"}},',
        reply=FACTORY_REPLY,
    ),
)
def _success_with_error(reply: Reply, _expected: Expectations) -> Hit | None:
    error = reply.error
    if reply.status is not Status.SUCCESS or error is None:
        return None
    if error.type is None and error.message is None and not error.extensions:
        return None

    found = excerpt(error.message or error.type or "") or None

    return Hit(
        message="status is success, and there is an error; expected none",
        path="/error",
        found=found,
    )


@CONTRADICTION_RULES.rule(
    id="factory/success-with-questions",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="success with open `questions`",
    why="The questions would never reach the user.",
    fix='Report "status": "questions", or leave the questions out once they are answered.',
    requirements=("F-10",),
    example=Example(
        good=_SUMMARY,
        bad=f'{_SUMMARY} "questions": [{{"id": "q1", "question": "Which store?"}}],',
        reply=FACTORY_REPLY,
    ),
)
def _success_with_questions(reply: Reply, _expected: Expectations) -> Hit | None:
    if reply.status is not Status.SUCCESS or not reply.questions:
        return None

    questions = [
        each for each in reply.questions if not any(each.extensions.get(name) for name in _ANSWERED)
    ]
    if not questions:
        return None

    message = (
        f"status is success, and {counted_noun(len(questions), 'question')} open; expected none"
    )
    return Hit(
        message=message, path="/questions", found=excerpt(questions[0].question or "") or None
    )


@CONTRADICTION_RULES.rule(
    id="factory/issues-without-verdict",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="success with `blocking_issues` and no verdict",
    why="Without the verdict the reply counts as a plain success, and what blocks is passed over.",
    fix='Add "verdict": "BLOCKING", or move the issues to concerns.',
    requirements=("F-10",),
    example=Example(
        good=_SUMMARY,
        bad=f'{_SUMMARY} "blocking_issues": [{{"id": "B1", "title": "No memory defined"}}],',
        reply=FACTORY_REPLY,
    ),
)
def _issues_without_verdict(reply: Reply, _expected: Expectations) -> Hit | None:
    if (
        reply.status is not Status.SUCCESS
        or reply.verdict is not None
        or "verdict" in reply.unreadable
    ):
        return None

    if not reply.blocking_issues:
        return None

    message = f"{len(reply.blocking_issues)} blocking_issues and no verdict; expected BLOCKING"

    return Hit(message=message, path="/blocking_issues")


@CONTRADICTION_RULES.rule(
    id="factory/check-contradicts-itself",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="success, and the summary, the metrics or a passed check count failures",
    why=(
        "The orchestrator goes on with a success. Only counts and fixed forms of test runners"
        " decide."
    ),
    fix='Run the check again and report its result; as long as something fails, report "failure".',
    requirements=("F-10",),
    example=Example(
        good=_SUMMARY,
        bad='"summary": "Designed a data pipeline; 10 tests passed, 2 failed",',
        reply=FACTORY_REPLY,
    ),
)
def _contradicting_texts(reply: Reply, _expected: Expectations) -> list[Hit | Problem] | None:
    """Report failures that a success counts, and passed checks whose text shows no result."""
    if reply.status is not Status.SUCCESS:
        return None

    contradictions: list[Hit | Problem] = []
    metrics = reply.metrics
    # Most metrics count no failures, which one comparison of the names shows.
    if metrics and not _FAILURES.isdisjoint(metrics):
        contradictions = [
            _contradiction(f"metrics count {name} {count:g}", f"/metrics/{name}", f"{count:g}")
            for name in _METRICS
            if isinstance(count := metrics.get(name), int | float) and count > 0
        ]

    shown = summary_failure(reply.summary) if reply.summary else None
    if shown is not None:
        contradictions.append(
            _contradiction(
                f"the summary counts {shown!r}", "/summary", excerpt(reply.summary or "")
            )
        )

    without_result = []
    for texts in _passed_checks(reply):
        contradictions += [
            _contradiction(f"a passed check shows {flaw.shown!r}", path, excerpt(text))
            for _, path, text, flaw in texts
            if flaw is not None and flaw.kind == "contradicts"
        ]
        empty = _without_result(texts)
        if empty is not None:
            message = (
                "a check is reported as passed, but its text shows no result; "
                "expected what was run and what came of it"
            )
            found = excerpt(empty.text) or None
            without_result.append(
                CHECK_WITHOUT_RESULT.problem(message, path=empty.path, found=found)
            )

    # A review that blocks succeeded as a review, and failures are what it has to report.
    if reply.verdict is CriticVerdict.BLOCKING:
        contradictions = []

    return [*contradictions, *without_result]


@CONTRADICTION_RULES.rule(
    id="factory/summary-contradicts-status",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches=(
        "success, and the summary says that tests still fail or that something is only a stub or"
        " not yet implemented"
    ),
    why="The next agent builds on a success. Only whole clauses in fixed forms count.",
    fix='Report "failure" with what is left, or say why it belongs to another task.',
    requirements=("F-10",),
    example=Example(
        good=_SUMMARY,
        bad='"summary": "Designed a data pipeline; two tests still fail",',
        reply=FACTORY_REPLY,
    ),
)
def _summary_contradicts_status(reply: Reply, _expected: Expectations) -> Hit | None:
    # A review that blocks succeeded as a review, and what is not done is what it has to report.
    if (
        reply.status is not Status.SUCCESS
        or reply.verdict is CriticVerdict.BLOCKING
        or not reply.summary
        or stated_in_summary(reply.summary) is not None
        or (admitted := admitted_in(reply.summary)) is None
    ):
        return None
    return _contradiction(
        f"the summary says {excerpt(admitted, 60)!r}", "/summary", excerpt(reply.summary)
    )


@CONTRADICTION_RULES.rule(
    id="factory/text-contradicts-status",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "success, and the summary or the description of a deliverable begins with the statement"
        " that the work failed or is not done"
    ),
    why=(
        "The orchestrator goes on with a success. Only fixed forms decide, such as `Could not"
        " create …`, `Not implemented yet`, `❌ …`."
    ),
    fix='Report "status": "failure", or describe what the deliverable holds.',
    requirements=("F-10",),
    example=Example(
        good='"description": "Complete system architecture with 4 agents"',
        bad='"description": "Could not create the architecture"',
        reply=FACTORY_REPLY,
    ),
)
def _text_contradicts_status(reply: Reply, _expected: Expectations) -> list[Hit] | None:
    if reply.status is not Status.SUCCESS or reply.verdict is CriticVerdict.BLOCKING:
        return None

    stated = [
        (f"/deliverables/{at}/description", each.description, stated_failure(each.description))
        for at, each in enumerate(reply.deliverables or ())
        if each.description
    ]
    summary = reply.summary or ""
    stated.insert(0, ("/summary", summary, stated_in_summary(summary)))
    return [
        _contradiction(f"the text says {failure!r}", path, excerpt(text))
        for path, text, failure in stated
        if failure is not None
    ]


CHECK_WITHOUT_RESULT = CONTRADICTION_RULES.add(
    id="factory/check-without-result",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches=(
        'a check that is reported as passed, and nothing ran: 0 tests, "not run", "should pass", no'
        " text"
    ),
    why="What did not run did not pass.",
    fix=(
        "Run the check and write what it printed. If it cannot be run, report it as not run:"
        ' "passed": false with the reason.'
    ),
    requirements=("F-10",),
    example=Example(
        good=_SUMMARY,
        bad=f'{_SUMMARY} "checks": [{{"name": "tests", "passed": true, "evidence": "not run"}}],',
        reply=FACTORY_REPLY,
    ),
)

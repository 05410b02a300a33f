"""Factory replies in the common model."""

from goop_mcp.protocols.factory.model import CriticVerdict, FactoryQuestion, Reply, Status
from goop_mcp.protocols.factory.rules.contradictions import checks_without_result
from goop_mcp.routing.adapters.adapter import Adapter, OutcomeRow, first_outcome
from goop_mcp.routing.views import (
    NOTHING,
    CheckView,
    ErrorView,
    FileView,
    Issue,
    NextStep,
    Option,
    OutcomeKind,
    Question,
    ReportView,
)
from goop_mcp.validation.verdict import Verdict

__all__ = ["ADAPTER"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

# The verdict outranks the status (D-56).
OUTCOMES = (
    OutcomeRow("questions", lambda reply: reply.status is Status.QUESTIONS, OutcomeKind.QUESTIONS),
    OutcomeRow("failure", lambda reply: reply.status is Status.FAILURE, OutcomeKind.FAILED),
    OutcomeRow("no status", lambda reply: reply.status is not Status.SUCCESS, OutcomeKind.UNKNOWN),
    OutcomeRow(
        "success, verdict BLOCKING",
        lambda reply: reply.verdict is CriticVerdict.BLOCKING,
        OutcomeKind.GATE_FAILED,
    ),
    OutcomeRow(
        "success, a passed check that shows no result",
        lambda reply: bool(checks_without_result(reply)),
        OutcomeKind.WITHOUT_RESULT,
    ),
    OutcomeRow("success", lambda _reply: True, OutcomeKind.DONE),
)


def _read(verdict: Verdict) -> ReportView:
    reply = verdict.envelope
    if not isinstance(reply, Reply):
        return ReportView(outcome=OutcomeKind.INVALID)

    rejected = not verdict.accepted or reply.partial
    outcome = OutcomeKind.INVALID if rejected else first_outcome(OUTCOMES, reply)
    error = reply.error

    return ReportView(
        outcome=outcome,
        native_status=reply.status.value if reply.status else None,
        summary=reply.summary,
        checks_without_result=tuple(
            [CheckView(name, True, text) for name, text in checks_without_result(reply)]
            if outcome is OutcomeKind.WITHOUT_RESULT
            else ()
        ),
        files=tuple(
            [
                FileView(each.path, None, each.description or "")
                for each in reply.deliverables or ()
                if each.path
            ]
        ),
        next=(NextStep(None, reply.next_action),) if reply.next_action else (),
        questions=tuple(
            [_question(number, each) for number, each in enumerate(reply.questions or (), 1)]
        ),
        error=None
        if error is None
        else ErrorView(
            type=error.type,
            message=error.message or "",
            recoverable=error.recoverable,
            attempted=reply.attempted,
        ),
        issues=tuple(
            [
                Issue(
                    id=each.id,
                    severity="BLOCKING",
                    type=each.category or "issue",
                    message=": ".join(filter(None, (each.title, each.description)))
                    or "no description",
                    fix=each.resolution,
                )
                for each in reply.blocking_issues or ()
            ]
        ),
        confidence=reply.confidence,
        confidence_notes=reply.confidence_notes,
        recommendation=reply.recommendation,
        metrics=reply.metrics or NOTHING,
        result={"verdict": reply.verdict.value} if reply.verdict else NOTHING,
        extensions=reply.extensions,
    )


def _question(number: int, question: FactoryQuestion) -> Question:
    options = [
        Option(
            _LETTERS[place] if place < len(_LETTERS) else str(place + 1),
            text,
            recommended=text == question.default,
        )
        for place, text in enumerate(question.options)
    ]
    return Question(
        id=question.id or f"q{number}",
        text=question.question or "a question without text",
        context=question.context,
        default=question.default,
        options=tuple(options),
    )


ADAPTER = Adapter(
    protocol="factory",
    outcomes=OUTCOMES,
    read=_read,
    asks_for_repair=lambda _verdict: True,
    routed_by_content=frozenset({"factory/low-confidence"}),
)

"""`<agent_request>` in the common model."""

from goop_mcp.protocols.agent_request.model import Request
from goop_mcp.routing.adapters.adapter import Adapter, OutcomeRow
from goop_mcp.routing.views import DeliverableView, OutcomeKind, RequestView
from goop_mcp.validation.findings import Severity
from goop_mcp.validation.verdict import Verdict

__all__ = ["ADAPTER"]

_NO_ENVELOPE = "agent_request/no-envelope"


def _asks_for_repair(verdict: Verdict) -> bool:
    """Return whether the request itself is wrong: missing deliverables concern the session (H6)."""
    errors = {finding.rule for finding in verdict.of_severity(Severity.ERROR)}
    return (
        any(not rule.startswith("evidence/") and rule != _NO_ENVELOPE for rule in errors)
        or not errors
    )


OUTCOMES = (
    OutcomeRow(
        "rejected",
        lambda verdict: not verdict.accepted and _asks_for_repair(verdict),
        OutcomeKind.INVALID,
    ),
    OutcomeRow(
        "no block",
        lambda verdict: any(finding.rule == _NO_ENVELOPE for finding in verdict.findings),
        OutcomeKind.FREEFORM,
    ),
    OutcomeRow(
        "accepted",
        lambda verdict: isinstance(verdict.envelope, Request) and not verdict.envelope.partial,
        OutcomeKind.REQUEST,
    ),
)


def _read(verdict: Verdict) -> RequestView:
    outcome = next((row.outcome for row in OUTCOMES if row.fits(verdict)), OutcomeKind.UNKNOWN)
    request = verdict.envelope
    if not isinstance(request, Request):
        return RequestView(outcome=outcome, text=verdict.read_text)

    # What may be handed on is the repaired text, or else the original.
    text = verdict.repaired_text
    if text is None:
        start, end = verdict.span or (0, len(verdict.read_text))
        text = verdict.read_text[start:end]

    return RequestView(
        outcome=outcome,
        mode=request.mode.value if request.mode else None,
        intent=request.original_intent,
        task_summary=request.current_task_summary,
        workflow=request.workflow.value if request.workflow else None,
        details=request.task_details,
        constraints=request.constraints or (),
        deliverables=tuple(
            [
                DeliverableView(each.kind, each.path, each.required is not False, each.text)
                for each in request.deliverables or ()
            ]
        ),
        backlog=request.backlog_notes,
        session_id=request.session_id,
        parent=request.parent_agent,
        target=request.target_agent,
        priority=request.priority.value if request.priority else None,
        estimated_duration=request.estimated_duration.text if request.estimated_duration else None,
        timeout=request.timeout.text if request.timeout else None,
        timeout_seconds=request.timeout.seconds if request.timeout else None,
        max_retries=request.max_retries,
        depends_on=request.depends_on,
        notify=request.notify_on_completion,
        extensions={each.name: each.text for each in request.extensions},
        text=text,
    )


ADAPTER = Adapter(
    protocol="agent_request",
    outcomes=OUTCOMES,
    read=_read,
    asks_for_repair=_asks_for_repair,
    routed_by_content=frozenset({_NO_ENVELOPE}),
)

"""route(): read the verdict into the common model and decide by the first row that fits."""

from collections.abc import Mapping
from typing import Any

from goop_mcp.routing.adapters import ADAPTERS, protocol_of
from goop_mcp.routing.context import RoutingContext
from goop_mcp.routing.decision import Decision
from goop_mcp.routing.reading_order import reading_steps
from goop_mcp.routing.row import RoutingInput
from goop_mcp.routing.table import rows_for
from goop_mcp.routing.views import NO_REPORT, NO_REQUEST, OutcomeKind, RequestView
from goop_mcp.validation.findings import Severity
from goop_mcp.validation.verdict import Verdict

__all__ = ["decide", "read_case", "route"]

_NOTHING_KNOWN = RoutingContext()


def route(verdict: Verdict, context: RoutingContext | Mapping[str, Any] | None = None) -> Decision:
    """Return what happens next after `verdict`: the first row of docs/routing.md that fits.

    `context` is what the caller knows, as a RoutingContext or as the JSON values of one. The same
    arguments give the same decision: no clock, no file, no memory of earlier calls (D-86). What no
    row can place ends in ask_user, never in continue_next (D-87). Raises ContextError for a context
    of a wrong shape, and nothing else.
    """
    return decide(read_case(verdict, context))


def read_case(
    verdict: Verdict, context: RoutingContext | Mapping[str, Any] | None = None
) -> RoutingInput:
    """Return what the rows are compared with. Raises ContextError as `route` does."""
    if context is None:
        context = _NOTHING_KNOWN
    elif not isinstance(context, RoutingContext):
        context = RoutingContext.from_dict(context)

    protocol = protocol_of(verdict)
    adapter = ADAPTERS.get(protocol) if protocol else None
    # A reply in a protocol that nobody routes says nothing.
    view = NO_REPORT if adapter is None else adapter.read(verdict)
    sent_back = not verdict.accepted and (adapter is None or adapter.asks_for_repair(verdict))
    answered = frozenset[str]() if adapter is None else adapter.routed_by_content

    # Why the reply is not accepted: errors, the caller's evidence, by policy warnings. Errors that
    # a row answers by content are not errors of the reply, so that G2 and the like are reached;
    # evidence and warnings are added on top because only the caller can judge them.
    errors = verdict.of_severity(Severity.ERROR) if sent_back else ()
    if context.evidence:
        errors += tuple(
            [finding for finding in context.evidence if finding.severity is Severity.ERROR]
        )

    if context.policy.fail_on_warning:
        errors += tuple(
            [each for each in verdict.of_severity(Severity.WARNING) if each.rule not in answered]
        )

    # Rows read attributes of both views without a test: the one that does not apply is empty.
    report, request = (NO_REPORT, view) if isinstance(view, RequestView) else (view, NO_REQUEST)

    return RoutingInput(
        verdict=verdict,
        context=context,
        protocol=protocol,
        outcome=view.outcome,
        report=report,
        request=request,
        rejected=sent_back or bool(errors),
        errors=errors,
    )


def decide(case: RoutingInput, *, with_message: bool = True) -> Decision:
    """Return the decision of the first row that fits.

    Its message, which is for people, takes most of the time; without it, it is empty.
    """
    # R9 is the last row of every protocol and always fits, so that this never raises StopIteration.
    row = next(row for row in rows_for(case.protocol) if row.fits(case))
    fields = row.build(case)
    blocker = case.report.blockers
    if (
        blocker
        and case.outcome is not OutcomeKind.INVALID
        and blocker not in (listed := fields.get("blockers", ()))
    ):
        # A blocker reaches the caller whatever the row, or work would continue without it (D-90).
        fields = {**fields, "blockers": (*listed, blocker)}

    return Decision(
        actions=row.actions,
        rule=row.rule,
        reason=f"{row.reason(case)} ({row.rule}).",
        message=row.message(case, fields) if with_message else "",
        verdict=case.verdict,
        steps=() if case.report is NO_REPORT else reading_steps(case.report),
        **fields,
    )

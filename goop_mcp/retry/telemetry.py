"""One span and two counters for each attempt. They cost next to nothing where nobody has set up an exporter."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from opentelemetry import metrics, trace

from goop_mcp.retry.attempts import Attempt, Outcome
from goop_mcp.retry.replies import Message
from goop_mcp.validation.findings import Severity

__all__ = ["attempt_span", "count_outcome"]

_NAME = "goop_mcp.retry"

_tracer = trace.get_tracer(_NAME)
_meter = metrics.get_meter(_NAME)
_attempts = _meter.create_counter("goop.ask.attempts", unit="{attempt}", description="Messages sent to agents.")
_outcomes = _meter.create_counter("goop.ask.outcomes", unit="{call}", description="How calls ended.")


@contextmanager
def attempt_span(message: Message, attempts: Sequence[Attempt]) -> Iterator[None]:
    """Open a span for the attempt that is added to `attempts` within. No text of the agent goes into it."""
    number = len(attempts)
    attributes = {"goop.attempt.number": number + 1, "goop.attempt.way": message.way}
    span = _tracer.start_span("goop.ask.attempt", kind=trace.SpanKind.CLIENT, attributes=attributes)
    # Where nobody traces there is no span to hand on, and handing on takes longer than all else here.
    with nullcontext() if span is trace.INVALID_SPAN else trace.use_span(span, end_on_exit=True):
        try:
            yield
        finally:
            if len(attempts) > number:
                _describe(span, attempts[number])


def _describe(span: trace.Span, attempt: Attempt) -> None:
    verdict = attempt.verdict
    protocol = (verdict.protocol if verdict is not None else None) or "none"
    result = verdict.verdict if verdict is not None else "cancelled" if attempt.failure is None else "failed"
    _attempts.add(1, {"goop.attempt.result": result, "goop.attempt.way": attempt.way, "goop.protocol": protocol})
    if not span.is_recording():
        return
    span.set_attributes({"goop.attempt.result": result, "goop.protocol": protocol})
    if verdict is not None:
        rules = sorted({finding.rule for finding in verdict.of_severity(Severity.ERROR)})
        span.set_attributes({"goop.attempt.rules": rules, "goop.attempt.repairs": len(verdict.repairs)})
    elif attempt.failure is not None:
        span.set_status(trace.Status(trace.StatusCode.ERROR, type(attempt.failure).__name__))


def count_outcome(outcome: Outcome) -> None:
    """Count how a call ended."""
    _outcomes.add(1, {"goop.outcome": outcome.stopped_because})

"""One span and two counters for each attempt. They cost next to nothing where nobody has set up an exporter."""

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import metrics, trace

from goop_mcp.retry.attempts import Attempt, Outcome
from goop_mcp.retry.replies import Message
from goop_mcp.validation.findings import Severity

__all__ = ["attempt_span", "count_outcome", "describe"]

_NAME = "goop_mcp.retry"

_tracer = trace.get_tracer(_NAME)
_meter = metrics.get_meter(_NAME)
_attempts = _meter.create_counter("goop.ask.attempts", unit="{attempt}", description="Messages sent to agents.")
_outcomes = _meter.create_counter("goop.ask.outcomes", unit="{call}", description="How calls ended.")


@contextmanager
def attempt_span(message: Message, number: int) -> Iterator[trace.Span]:
    """Open a span for the attempt with `number`, counting from 1. No text of the agent goes into it."""
    with _tracer.start_as_current_span(
        "goop.ask.attempt",
        kind=trace.SpanKind.CLIENT,
        attributes={"goop.attempt.number": number, "goop.attempt.way": message.way},
    ) as span:
        yield span


def describe(span: trace.Span, attempt: Attempt) -> None:
    """Put on the span how the attempt ended, and count it."""
    result = "failed" if attempt.verdict is None else attempt.verdict.verdict
    protocol = (attempt.verdict.protocol if attempt.verdict is not None else None) or "none"
    _attempts.add(1, {"goop.attempt.result": result, "goop.attempt.way": attempt.way, "goop.protocol": protocol})
    if not span.is_recording():
        return
    span.set_attribute("goop.attempt.result", result)
    span.set_attribute("goop.protocol", protocol)
    if attempt.verdict is not None:
        errors = attempt.verdict.of_severity(Severity.ERROR)
        span.set_attribute("goop.attempt.rules", sorted({finding.rule for finding in errors}))
        span.set_attribute("goop.attempt.repairs", len(attempt.repairs))
    else:
        span.set_status(trace.Status(trace.StatusCode.ERROR, type(attempt.failure).__name__))


def count_outcome(outcome: Outcome) -> None:
    """Count how a call ended."""
    _outcomes.add(1, {"goop.outcome": outcome.stopped_because})

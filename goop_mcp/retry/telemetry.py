"""Spans of calls and their attempts, and counters.

They cost next to nothing where nobody has set up an exporter.

A call is one tree: `invoke_agent NAME` with a span for each attempt in it, by the conventions of
OpenTelemetry for generative AI. `follow` and `ask_many` put theirs into one `invoke_workflow`. No
text of an agent goes into any of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Final

from opentelemetry import metrics, trace

from goop_mcp.retry.attempts import Attempt, Outcome
from goop_mcp.retry.replies import Agent, Message, Usage
from goop_mcp.validation.findings import Severity, excerpt

__all__ = [
    "attempt_span",
    "count_outcome",
    "describe_call",
    "name_of",
    "start_call_span",
    "within",
    "workflow_span",
]

_NAME = "goop_mcp.retry"
_LONGEST_NAME: Final = 100
# Required by the conventions; who serves the model is known to the agent only.
_PROVIDER: Final = {"gen_ai.provider.name": "goop_mcp"}

_tracer = trace.get_tracer(_NAME)
_meter = metrics.get_meter(_NAME)
_attempts = _meter.create_counter(
    "goop.ask.attempts", unit="{attempt}", description="Messages sent to agents."
)
_outcomes = _meter.create_counter(
    "goop.ask.outcomes", unit="{call}", description="How calls ended."
)


def name_of(agent: Agent) -> str | None:
    """Return the name of an agent: its `name`, or that of the function or class.

    Return None for a lambda.
    """
    name = getattr(agent, "name", None) or getattr(agent, "__name__", None)
    if isinstance(name, str):
        return None if name == "<lambda>" else name
    return type(agent).__name__ if callable(getattr(agent, "ask", None)) else None


def workflow_span(name: str) -> AbstractContextManager[object]:
    """Open a span for several calls that belong together."""
    attributes = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": name}
    return within(_tracer.start_span(f"invoke_workflow {name}", attributes=attributes))


def start_call_span(agent: str | None, more: Mapping[str, str | int] | None = None) -> trace.Span:
    """Return a new span for a call with all its attempts; `agent` is the name.

    `more` are attributes in addition: what the call is for.
    """
    name, attributes = _named(agent)
    return _tracer.start_span(name, attributes={**attributes, **more} if more else attributes)


# The same few agents are asked again and again.
@lru_cache(maxsize=64)
def _named(agent: str | None) -> tuple[str, Mapping[str, str]]:
    shown = {"gen_ai.agent.name": excerpt(agent, _LONGEST_NAME)} if agent else {}
    attributes = {"gen_ai.operation.name": "invoke_agent", **_PROVIDER, **shown}
    return " ".join(("invoke_agent", *shown.values())), attributes


def describe_call(span: trace.Span, outcome: Outcome) -> None:
    """Say in the span of a call how it ended and what it used."""
    if not span.is_recording():
        return

    span.set_attributes(
        {"goop.outcome": outcome.stopped_because, "goop.attempts": len(outcome.attempts)}
    )
    span.set_attributes(_usage_attributes(outcome.usage))
    conversation = next(
        (each.conversation_id for each in reversed(outcome.attempts) if each.conversation_id), None
    )
    if conversation is not None:
        span.set_attribute("gen_ai.conversation.id", excerpt(conversation))
    if not outcome.accepted:
        kind = (
            outcome.stopped_because if outcome.failure is None else type(outcome.failure).__name__
        )
        span.set_attribute("error.type", kind)
        span.set_status(trace.Status(trace.StatusCode.ERROR, outcome.stopped_because))


@contextmanager
def attempt_span(
    message: Message, attempts: Sequence[Attempt], agent: str | None = None
) -> Iterator[None]:
    """Open a span for the attempt that is added to `attempts` within.

    `agent` is the name of the agent that is asked.
    """
    number = len(attempts)
    attributes = {"goop.attempt.number": number + 1, "goop.attempt.way": message.way}
    span = _tracer.start_span("goop.ask.attempt", kind=trace.SpanKind.CLIENT, attributes=attributes)

    with within(span):
        try:
            yield
        finally:
            if len(attempts) > number:
                _describe(span, attempts[number], agent)


def count_outcome(outcome: Outcome) -> None:
    """Count how a call ended."""
    _outcomes.add(1, {"goop.outcome": outcome.stopped_because})


def within(span: trace.Span) -> AbstractContextManager[object]:
    """Make `span` the parent of spans that begin within, and end it.

    Where nobody traces there is no span to hand on, and handing on takes longer than all else here.
    """
    if span is trace.INVALID_SPAN:
        return nullcontext()
    return trace.use_span(
        span, end_on_exit=True, record_exception=False, set_status_on_exception=False
    )


def _describe(span: trace.Span, attempt: Attempt, agent: str | None) -> None:
    verdict = attempt.verdict
    protocol = (verdict.protocol if verdict is not None else None) or "none"
    result = (
        verdict.verdict
        if verdict is not None
        else "cancelled"
        if attempt.failure is None
        else "failed"
    )
    _attempts.add(
        1,
        {"goop.attempt.result": result, "goop.attempt.way": attempt.way, "goop.protocol": protocol},
    )
    if not span.is_recording():
        return

    span.set_attributes({"goop.attempt.result": result, "goop.protocol": protocol})
    if agent:
        span.set_attribute("gen_ai.agent.name", excerpt(agent, _LONGEST_NAME))

    span.set_attributes(_usage_attributes(attempt.usage or Usage()))
    if attempt.conversation_id is not None:
        span.set_attribute("gen_ai.conversation.id", excerpt(attempt.conversation_id))
    if verdict is not None:
        rules = sorted({finding.rule for finding in verdict.of_severity(Severity.ERROR)})
        span.set_attributes(
            {"goop.attempt.rules": rules, "goop.attempt.repairs": len(verdict.repairs)}
        )
    elif attempt.failure is not None:
        span.set_attribute("error.type", type(attempt.failure).__name__)
        span.set_status(trace.Status(trace.StatusCode.ERROR, type(attempt.failure).__name__))


def _usage_attributes(usage: Usage) -> Mapping[str, float]:
    """Return the known attributes of a usage.

    The conventions have no name for all tokens together, nor for cost.
    """
    known = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "goop.usage.tokens": usage.tokens,
        "goop.usage.cost": usage.cost,
    }
    return {name: value for name, value in known.items() if value is not None}

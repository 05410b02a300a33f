"""Spans, metrics and ids of requests.

They hold names from this package only, and nothing that a client or an agent wrote.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.types import CallToolResult
from mcp.types.methods import SPEC_CLIENT_METHODS, SPEC_CLIENT_NOTIFICATION_METHODS
from opentelemetry import metrics, propagate, trace
from opentelemetry.context import Context

from goop_mcp.current_request import ClientMessage, answering, current_request, request_id
from goop_mcp.server.permissions import name_of_caller
from goop_mcp.validation.findings import Severity
from goop_mcp.workflow.agents import KNOWN_AGENTS, SPECIAL_NEXT_AGENTS

if TYPE_CHECKING:
    from goop_mcp.validation.verdict import Verdict

__all__ = ["OTHER", "REQUEST_ID_KEY", "count_verdict", "identifying", "measuring"]

IsKnown = Callable[[str, str], bool]
"""Whether a server has a tool or prompt: called with the method that names it, and the name."""

REQUEST_ID_KEY: Final = "goop_mcp.request_id"
"""Key of the ASGI scope for the id of the request."""

OTHER: Final = "_OTHER"
"""Stands for a name that is not known here."""

_NAME = "goop_mcp.server"
# Bounds in seconds, from the OpenTelemetry conventions for the operations of MCP servers.
_SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
_METHODS = frozenset(SPEC_CLIENT_METHODS) | frozenset(SPEC_CLIENT_NOTIFICATION_METHODS)
_AGENTS = KNOWN_AGENTS | SPECIAL_NEXT_AGENTS
_TARGETS = {"tools/call": "gen_ai.tool.name", "prompts/get": "gen_ai.prompt.name"}
_FAILED_ANSWER = "tool_error"

_tracer = trace.get_tracer(_NAME)
_meter = metrics.get_meter(_NAME)
_durations = _meter.create_histogram(
    "mcp.server.operation.duration",
    unit="s",
    description="Time from a message of a client to its answer.",
    explicit_bucket_boundaries_advisory=_SECONDS,
)
_verdicts = _meter.create_counter(
    "goop.verdicts", unit="{verdict}", description="Replies validated by tools."
)
_broken = _meter.create_counter(
    "goop.broken_rules", unit="{rule}", description="Rules that replies broke."
)


def identifying(is_known: IsKnown) -> ServerMiddleware[Any]:
    """Return a middleware that gives each message an id, that of its HTTP request if it has one."""

    async def identify(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        scope = getattr(ctx.request, "scope", None)
        given = scope.get(REQUEST_ID_KEY) if isinstance(scope, Mapping) else None
        tool = _target(ctx, is_known) if ctx.method == "tools/call" else None
        with answering(ClientMessage(request_id(given), tool, name_of_caller())):
            return await call_next(ctx)

    return identify


def measuring(is_known: IsKnown) -> ServerMiddleware[Any]:
    """Return a middleware that opens a span for each message and records duration and outcome."""

    async def measure(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        method = ctx.method if ctx.method in _METHODS else OTHER
        target = _target(ctx, is_known)
        attributes = {
            "mcp.method.name": method,
            "mcp.protocol.version": ctx.protocol_version,
            "network.transport": "pipe" if ctx.request is None else "tcp",
        }
        if target is not None:
            attributes[_TARGETS[method]] = target
        if method == "tools/call":
            attributes["gen_ai.operation.name"] = "execute_tool"

        failure: str | None = None
        started = perf_counter()

        with _span(f"{method} {target}" if target else method, attributes, ctx) as span:
            try:
                result = await call_next(ctx)
                match result:
                    case CallToolResult(is_error=True) | {"isError": True}:
                        failure = _FAILED_ANSWER
                    case _:
                        pass

                return result
            except BaseException as error:
                failure = (
                    str(error.error.code) if isinstance(error, MCPError) else type(error).__name__
                )
                raise
            finally:
                if failure is not None:
                    attributes["error.type"] = failure
                    span.set_attribute("error.type", failure)
                    span.set_status(trace.StatusCode.ERROR)

                _durations.record(perf_counter() - started, attributes)

    return measure


def count_verdict(verdict: "Verdict", *, expected_agent: str | None = None) -> "Verdict":
    """Count `verdict` by protocol, agent and the rules that rejected the reply, and return it."""
    # Only names of known agents become attributes: any other name is text that an agent wrote.
    named = getattr(verdict.envelope, "agent", None)
    agent = named if isinstance(named, str) and named else expected_agent
    if agent:
        agent = agent if agent in _AGENTS else "other"

    about = {"goop.protocol": verdict.protocol or "none", "goop.agent": agent or "none"}
    _verdicts.add(1, {**about, "goop.verdict": verdict.verdict})
    for rule in {finding.rule for finding in verdict.of_severity(Severity.ERROR)}:
        _broken.add(1, {**about, "goop.rule": rule})

    return verdict


def _target(ctx: ServerRequestContext[Any, Any], is_known: IsKnown) -> str | None:
    name = (ctx.params or {}).get("name")
    if ctx.method not in _TARGETS or not isinstance(name, str):
        return None
    return name if is_known(ctx.method, name) else OTHER


@contextmanager
def _span(
    name: str, attributes: Mapping[str, str], ctx: ServerRequestContext[Any, Any]
) -> Iterator[trace.Span]:
    # A client may name its trace in the message itself.
    parent: Context | None = None
    traceparent = dict(ctx.meta or {}).get("traceparent")
    if isinstance(traceparent, str):
        named = propagate.extract({"traceparent": traceparent})
        parent = named if trace.get_current_span(named).get_span_context().is_valid else None

    span = _tracer.start_span(
        name, context=parent, kind=trace.SpanKind.SERVER, attributes=attributes
    )
    if not span.is_recording():
        # Without tracing there is no span to propagate, and setting the current span would take
        # longer than everything else here.
        with (
            nullcontext() if span is trace.INVALID_SPAN else trace.use_span(span, end_on_exit=True)
        ):
            yield span

        return

    request = current_request()
    if request is not None:
        span.set_attribute("goop.request.id", request.id)
    if isinstance(ctx.request_id, int):
        span.set_attribute("jsonrpc.request.id", str(ctx.request_id))

    # Exceptions are not recorded: their text may hold what a client or an agent wrote.
    with trace.use_span(
        span, end_on_exit=True, record_exception=False, set_status_on_exception=False
    ):
        yield span

"""One trace for each run, in whatever processes and however often it is worked on.

A run is `invoke_workflow NAME`, its calls are `invoke_agent` with a span for each attempt. Who
works on a run later, after a crash or on another machine, puts its spans into the same trace: all
of them have one parent, the span in which the run was created, or one made of the run's id.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from opentelemetry import trace

from goop_mcp.store.graph_rows import GraphRunRow, GraphTaskRow

__all__ = ["attributes_of", "caller_trace", "in_trace_of", "run_span"]

_NAME: Final = "goop_mcp.delegation"
_HEX: Final = 16

_tracer = trace.get_tracer(_NAME)


def caller_trace() -> str | None:
    """Return the trace and span in which a run is created, as `TRACE-SPAN` in hexadecimal.

    None where nobody traces.
    """
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return f"{trace.format_trace_id(context.trace_id)}-{trace.format_span_id(context.span_id)}"


@contextmanager
def run_span(run: GraphRunRow) -> Iterator[None]:
    """Open the span of a process that works on `run`, in the trace of the run."""
    if not _is_traced():
        yield
        return
    attributes = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": run.name,
        "goop.run.id": run.id,
    }
    with _tracer.start_as_current_span(
        f"invoke_workflow {run.name}",
        context=trace.set_span_in_context(_parent_of(run)),
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ):
        yield


@contextmanager
def in_trace_of(run: GraphRunRow) -> Iterator[None]:
    """Put spans into the trace of `run`; those of a program that traces stay in its own."""
    if not _is_traced() or trace.get_current_span().get_span_context().is_valid:
        yield
    else:
        with trace.use_span(_parent_of(run)):
            yield


def attributes_of(row: GraphTaskRow) -> dict[str, str | int]:
    """Return what the span of a call says about the task that it is for."""
    return {"goop.run.id": row.run, "goop.task.id": row.id, "goop.task.round": row.round}


def _is_traced() -> bool:
    # A parent costs each call below it something, also where its spans go nowhere.
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def _parent_of(run: GraphRunRow) -> trace.Span:
    if run.trace_id is not None:
        trace_id, _, span_id = run.trace_id.partition("-")
    else:
        # Every process comes to the same without asking another one, or writing anything.
        digest = hashlib.sha256(run.id.encode()).hexdigest()
        trace_id, span_id = digest[: 2 * _HEX], digest[2 * _HEX : 3 * _HEX]
    context = trace.SpanContext(
        trace_id=int(trace_id, _HEX),
        span_id=int(span_id, _HEX),
        is_remote=True,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
    )
    return trace.NonRecordingSpan(context)

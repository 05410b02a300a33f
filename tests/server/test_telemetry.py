"""Spans, metrics and ids of the server, recorded by the OpenTelemetry SDK in memory."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from mcp import MCPError
from mcp.types import RequestParamsMeta
from opentelemetry import propagate, trace
from opentelemetry.sdk.trace import ReadableSpan

from goop_mcp.current_request import ClientMessage, current_request
from goop_mcp.server import GoopServer, create_server
from goop_mcp.server.middleware import log_timing
from goop_mcp.settings import Settings
from tests.retry.agents import BAD_STATUS, GOOD
from tests.server.connections import PROTOCOL_MODES, Connection, connect, text_of
from tests.telemetry import EXPORTER, points, set_up

SECRET = "ghp_" + "a1B2" * 9
DURATION = "mcp.server.operation.duration"
STORE = "db.client.operation.duration"


@pytest.fixture(autouse=True)
def telemetry() -> Iterator[None]:
    set_up()
    EXPORTER.clear()
    yield
    EXPORTER.clear()


@pytest.fixture(params=PROTOCOL_MODES)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connection]:
    with connect(create_server(Settings(project=tmp_path)), request.param) as opened:
        yield opened


def spans(name: str) -> list[ReadableSpan]:
    """Return the finished spans of the server with this name, without those of the SDK's client."""
    return [
        span
        for span in EXPORTER.get_finished_spans()
        if span.name == name and span.kind is not trace.SpanKind.INTERNAL
    ]


def served(name: str) -> dict[str, object]:
    (span,) = [span for span in spans(name) if span.kind is trace.SpanKind.SERVER]
    return dict(span.attributes or {})


def counted(metric: str, **attributes: str) -> int:
    """Return the count under attributes that include these; `__` stands for a dot."""
    wanted = {(name.replace("__", "."), value) for name, value in attributes.items()}
    return sum(amount for found, amount in points(metric).items() if wanted <= found)


def test_a_call_of_a_tool_is_a_span_and_a_duration(server: Connection) -> None:
    about = {"gen_ai__tool__name": "validate_report", "mcp__method__name": "tools/call"}
    before = counted(DURATION, **about)
    server.tool("validate_report", text=GOOD)
    facts = served("tools/call validate_report")
    assert facts["gen_ai.operation.name"] == "execute_tool"
    assert facts["mcp.protocol.version"] == server.client.protocol_version
    assert "error.type" not in facts
    assert counted(DURATION, **about) == before + 1


def test_a_call_that_failed_is_counted_as_failed(server: Connection) -> None:
    about = {"gen_ai__tool__name": "explain_rule", "error__type": "tool_error"}
    before = counted(DURATION, **about)
    server.tool("explain_rule", rule="nothing/like-it")
    assert served("tools/call explain_rule")["error.type"] == "tool_error"
    assert counted(DURATION, **about) == before + 1


def test_names_that_a_client_made_up_stay_out(server: Connection) -> None:
    server.tool(f"steal-{SECRET}", text="my own words")
    with pytest.raises(MCPError):
        server.prompt(f"leak-{SECRET}")

    assert served("tools/call _OTHER")["gen_ai.tool.name"] == "_OTHER"
    assert served("prompts/get _OTHER")["error.type"] == "-32602"
    ours = [span for span in EXPORTER.get_finished_spans() if span.kind is trace.SpanKind.SERVER]
    assert SECRET not in "".join(span.to_json() for span in ours)
    assert SECRET not in str(points(DURATION))


def test_verdicts_are_counted_by_protocol_and_agent_and_rejections_by_rule(
    server: Connection,
) -> None:
    verdicts = {"goop__protocol": "goop_report", "goop__agent": "goop-executor"}
    before = (
        counted("goop.verdicts", **verdicts),
        counted("goop.broken_rules", goop__rule="goop_report/unknown-status"),
    )
    server.tool("validate_report", text=GOOD)
    server.tool("route_next_action", text=BAD_STATUS)
    server.tool("record_report", text=BAD_STATUS)
    after = (
        counted("goop.verdicts", **verdicts),
        counted("goop.broken_rules", goop__rule="goop_report/unknown-status"),
    )
    assert (after[0] - before[0], after[1] - before[1]) == (3, 2)


def test_an_agent_that_nobody_knows_is_counted_as_another_one(server: Connection) -> None:
    before = counted("goop.verdicts", goop__agent="other")
    server.tool(
        "validate_report",
        text=GOOD.replace("goop-executor", f"goop-{SECRET.lower().replace('_', '')}"),
    )
    server.tool("validate_report", text="no envelope", expected_agent="somebody")
    assert counted("goop.verdicts", goop__agent="other") == before + 2
    assert SECRET.lower().replace("_", "") not in str(points("goop.verdicts"))


def test_the_database_is_measured_and_belongs_to_the_call_that_needs_it(
    server: Connection, tmp_path: Path
) -> None:
    before = counted(STORE, db__system__name="sqlite", db__operation__name="write")
    server.tool("save_memory", title="A title", content="Some content.")
    assert counted(STORE, db__system__name="sqlite", db__operation__name="write") > before
    (call,) = [
        span for span in spans("tools/call save_memory") if span.kind is trace.SpanKind.SERVER
    ]
    writes = spans("write")
    assert call.context is not None
    assert writes
    assert {span.parent.span_id for span in writes if span.parent} == {call.context.span_id}
    assert str(tmp_path) not in "".join(span.to_json() for span in (call, *writes))


def test_a_database_that_fails_is_counted_as_failed_without_its_place(
    server: Connection, tmp_path: Path
) -> None:
    (tmp_path / ".goopspec").write_text("a file in the way", encoding="utf-8")
    result = server.tool("save_memory", title="A title", content="Some content.")
    assert result.is_error
    failed = [span for span in spans("write") if (span.attributes or {}).get("error.type")]
    assert failed
    assert all(span.status.description is None and not span.events for span in failed)


def test_the_trace_of_a_client_goes_on_in_the_server(server: Connection) -> None:
    async def call() -> int:
        with trace.get_tracer("a client").start_as_current_span("outer") as outer:
            meta: dict[str, str] = {}
            propagate.inject(meta)
            await server.client.call_tool(
                "validate_report", {"text": GOOD}, meta=cast("RequestParamsMeta", meta)
            )

        return outer.get_span_context().trace_id

    trace_id = server.call(call)
    (span,) = [
        span for span in spans("tools/call validate_report") if span.kind is trace.SpanKind.SERVER
    ]
    assert span.parent is not None
    assert span.parent.is_remote
    assert span.parent.trace_id == trace_id


@pytest.fixture(params=PROTOCOL_MODES)
def faulty(request: pytest.FixtureRequest) -> Iterator[Connection]:
    async def crash() -> str:
        raise RuntimeError(f"private {SECRET}")

    def whose() -> str:
        """Run on a worker thread."""
        return str(current_request())

    built = GoopServer("faulty", middleware=[log_timing])
    built.observe()
    built.tool()(crash)
    built.tool()(whose)
    with connect(built, request.param) as connection:
        yield connection


def test_one_id_is_in_the_span_in_the_log_and_in_the_answer(
    faulty: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        message = text_of(faulty.tool("crash"))

    id = served("tools/call crash")["goop.request.id"]
    assert f"incident {id}," in message
    assert f"incident {id} in the tool crash" in caplog.text
    ours = [span for span in EXPORTER.get_finished_spans() if span.kind is trace.SpanKind.SERVER]
    assert SECRET not in "".join(span.to_json() for span in ours)


def test_a_worker_thread_knows_the_request_and_the_next_one_has_another(faulty: Connection) -> None:
    first, second = text_of(faulty.tool("whose")), text_of(faulty.tool("whose"))
    ids = [
        dict(span.attributes or {})["goop.request.id"]
        for span in spans("tools/call whose")
        if span.kind is trace.SpanKind.SERVER
    ]
    assert [first, second] == [str(ClientMessage(str(id), "whose")) for id in ids]
    assert first != second
    assert current_request() is None

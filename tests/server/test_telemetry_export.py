"""A collector named by the standard variables gets traces and metrics of a server over HTTP."""

import json
import logging
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest
from mcp.client.stdio import StdioServerParameters
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from goop_mcp.delegation import Graph
from goop_mcp.server.telemetry_export import start_exporting
from tests.cli.running import run
from tests.delegation.reports import report
from tests.repository import ROOT
from tests.retry.agents import BAD_STATUS
from tests.server.connections import PROTOCOL_MODES, connect
from tests.server.http.serving import environment

PATIENCE = 60.0
NOBODY = "http://127.0.0.1:9"
Message = ExportTraceServiceRequest | ExportMetricsServiceRequest
MESSAGES: Mapping[str, type[Message]] = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
}


class Receiver(ThreadingHTTPServer):
    """An OTLP receiver on loopback that keeps what it gets."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Keep)
        self.got: SimpleQueue[tuple[str, Message, Mapping[str, str]]] = SimpleQueue()
        self.errors: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def wait_for(self, *parts: str) -> str:
        """Return all messages as text once each of `parts` stands in them."""
        text = ""
        while not all(part in text for part in parts):
            try:
                _, message, _ = self.got.get(timeout=PATIENCE)
            except Empty:
                missing = [part for part in parts if part not in text]
                raise AssertionError(f"{missing} did not come; errors: {self.errors}") from None

            text += str(message)

        return text


class _Keep(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = MESSAGES[self.path]()
        message.ParseFromString(body)
        self.server.got.put((self.path, message, dict(self.headers)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        if "200" not in map(str, args):
            self.server.errors.append(format % args)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(PATIENCE)


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_a_server_sends_traces_and_metrics_to_the_collector_that_is_named(
    receiver: Receiver, protocol_mode: str, tmp_path: Path
) -> None:
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
        "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
        "OTEL_METRIC_EXPORT_INTERVAL": "200",
        "PYTHONPATH": str(ROOT),
    }
    command = ["-m", "goop_mcp", "serve", "--project", str(tmp_path)]
    server = StdioServerParameters(
        command=sys.executable, args=command, env=environment(**variables)
    )

    with connect(server, protocol_mode) as connection:
        connection.tool("validate_report", text=BAD_STATUS)
        connection.tool("save_memory", title="A title", content="Some content.")
        text = receiver.wait_for(
            '"goop-mcp"',
            "tools/call validate_report",
            "goop.request.id",
            "mcp.server.operation.duration",
            "goop.verdicts",
            "goop_report/unknown-status",
            "db.client.operation.duration",
        )

    assert str(tmp_path) not in text
    assert "Some content" not in text


def test_what_is_left_is_sent_at_the_end(receiver: Receiver, tmp_path: Path) -> None:
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_METRICS_EXPORTER": "none"}
    call = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    assert run("serve", "--project", tmp_path, stdin=call, env=variables).code == 0
    receiver.wait_for('name: "ping"')


def test_a_collector_that_does_not_answer_keeps_nobody_from_ending(tmp_path: Path) -> None:
    call = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    ended = run(
        "serve", "--project", tmp_path, stdin=call, env={"OTEL_EXPORTER_OTLP_ENDPOINT": NOBODY}
    )
    assert ended.code == 0
    assert '"id":1' in ended.out.replace(" ", "")


def test_without_the_extra_one_warning_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delitem(sys.modules, "goop_mcp.server.otlp", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    assert start_exporting({"OTEL_EXPORTER_OTLP_ENDPOINT": NOBODY}).signals == ()
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert (
        record.getMessage()
        == "OTEL_EXPORTER_OTLP_ENDPOINT is set, but nothing is exported: the exporter is missing;"
        " install goop-mcp[otel]"
    )


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": NOBODY, "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": NOBODY, "OTEL_TRACES_EXPORTER": "none"},
    ],
    ids=["nothing", "empty", "disabled", "none"],
)
def test_nothing_is_exported_unless_it_is_wanted(
    variables: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    assert start_exporting(variables).signals == ()
    assert caplog.records == []


def test_a_protocol_that_is_not_spoken_is_named(caplog: pytest.LogCaptureFixture) -> None:
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": NOBODY, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    assert start_exporting(variables).signals == ()
    assert caplog.messages == [
        "nothing is exported: the protocol is 'grpc'; expected http/protobuf"
    ]


def test_a_run_of_a_graph_on_the_command_line_is_sent_to_the_collector(
    receiver: Receiver, tmp_path: Path
) -> None:
    reply = tmp_path / "reply.txt"
    # It names no file: what a reply names has to be there.
    reply.write_text(report(), encoding="utf-8")
    words = [sys.executable, "-c", f"print(open({str(reply)!r}).read())"]
    (tmp_path / "trip.toml").write_text(
        'graph = 1\nname = "trip"\nprotocol = "goop_report"\n'
        f'[agents.worker]\nrun = "command"\non_stdin = true\ncommand = {json.dumps(words)}\n'
        '[tasks.a]\nagent = "worker"\nprompt = "Do it."\n',
        encoding="utf-8",
    )
    digest = Graph.load(tmp_path / "trip.toml", project=tmp_path).digest
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
        "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
        "OTEL_METRICS_EXPORTER": "none",
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    ended = run("delegate", "trip.toml", "--trust", digest, cwd=tmp_path, env=variables)
    assert ended.code == 0, ended
    receiver.wait_for("invoke_workflow trip", "invoke_agent worker", "goop.task.id")

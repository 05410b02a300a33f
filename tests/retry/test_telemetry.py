"""Spans and counters, seen by the SDK's exporters in memory."""

from collections.abc import Iterator

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, NumberDataPoint
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from goop_mcp import ask_until_accepted_sync
from tests.retry.agents import BAD_STATUS, GOOD, Scripted

EXPORTER = InMemorySpanExporter()
READER = InMemoryMetricReader()


@pytest.fixture(scope="module", autouse=True)
def providers() -> None:
    """Set up the process as an application would; OpenTelemetry allows it once."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider(metric_readers=[READER]))


@pytest.fixture(autouse=True)
def empty_exporter() -> Iterator[None]:
    EXPORTER.clear()
    yield
    EXPORTER.clear()


def test_every_attempt_is_a_span_without_a_word_of_the_agent() -> None:
    ask_until_accepted_sync(Scripted(BAD_STATUS, ConnectionError("secret words"), GOOD), "Do it.")
    spans = EXPORTER.get_finished_spans()
    assert [span.name for span in spans] == ["goop.ask.attempt"] * 3
    facts = [dict(span.attributes or {}) for span in spans]
    assert [each["goop.attempt.number"] for each in facts] == [1, 2, 3]
    assert [each["goop.attempt.result"] for each in facts] == ["rejected", "failed", "accepted"]
    assert facts[0]["goop.attempt.rules"] == ("goop_report/unknown-status",)
    assert spans[1].status.status_code is trace.StatusCode.ERROR
    assert spans[1].status.description == "ConnectionError"
    said = " ".join(span.to_json() for span in spans)
    assert "secret words" not in said
    assert "DONE-ISH" not in said


def test_attempts_and_endings_are_counted() -> None:
    before = counts()
    ask_until_accepted_sync(Scripted(BAD_STATUS, GOOD), "Do it.")
    after = counts()
    assert after["goop.ask.attempts"] - before.get("goop.ask.attempts", 0) == 2
    assert after["goop.ask.outcomes"] - before.get("goop.ask.outcomes", 0) == 1


def counts() -> dict[str, int]:
    """Return the sum of each counter."""
    data = READER.get_metrics_data()
    found: dict[str, int] = {}
    for resource in data.resource_metrics if data is not None else ():
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                points = metric.data.data_points
                found[metric.name] = sum(int(point.value) for point in points if isinstance(point, NumberDataPoint))
    return found

"""Spans and metrics of this process in memory.

OpenTelemetry is set up once a process, so all tests share this.
"""

from collections.abc import Mapping
from functools import cache

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    HistogramDataPoint,
    InMemoryMetricReader,
    NumberDataPoint,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

__all__ = ["EXPORTER", "READER", "points", "seconds", "set_up", "sums"]

EXPORTER = InMemorySpanExporter()
READER = InMemoryMetricReader()


@cache
def set_up() -> None:
    """Set up the process as an application would."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider(metric_readers=[READER]))


def points(name: str) -> dict[frozenset[tuple[str, object]], int]:
    """Return how much was counted in the metric `name` under each set of attributes."""
    data = READER.get_metrics_data()
    found: dict[frozenset[tuple[str, object]], int] = {}

    for resource in data.resource_metrics if data is not None else ():
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.data.data_points if metric.name == name else ():
                    amount = point.count if isinstance(point, HistogramDataPoint) else 0
                    amount = int(point.value) if isinstance(point, NumberDataPoint) else amount
                    found[frozenset((point.attributes or {}).items())] = amount

    return found


def seconds(name: str) -> float:
    """Return the sum of all that was measured in the histogram `name`."""
    data = READER.get_metrics_data()
    return sum(
        point.sum
        for resource in (data.resource_metrics if data is not None else ())
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
        if metric.name == name and isinstance(point, HistogramDataPoint)
    )


def sums(*names: str) -> Mapping[str, int]:
    """Return the sum of each metric over all attributes."""
    return {name: sum(points(name).values()) for name in names}

"""The SDK of OpenTelemetry with its exporter over HTTP: what the extra `otel` installs."""

from collections.abc import Callable, Mapping

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

__all__ = ["set_up"]


def set_up(signal: str, *, version: str, environment: Mapping[str, str]) -> Callable[[], object]:
    """Export TRACES or METRICS of this process from now on, and return what sends the rest and ends it."""
    resource = _resource(version, environment)
    # Their own way at the end of the process waits for a collector that does not answer.
    if signal == "TRACES":
        traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(traces)

        return traces.shutdown

    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    meters = MeterProvider(metric_readers=[reader], resource=resource, shutdown_on_exit=False)
    metrics.set_meter_provider(meters)

    return meters.shutdown


def _resource(version: str, environment: Mapping[str, str]) -> Resource:
    """Return what describes this process; what the variables say of it goes before."""
    resource = Resource.create({"service.version": version})
    named = environment.get("OTEL_SERVICE_NAME") or "service.name=" in environment.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    return resource if named else resource.merge(Resource({"service.name": "goop-mcp"}))

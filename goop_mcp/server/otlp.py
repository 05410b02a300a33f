"""Set up the OpenTelemetry SDK with its HTTP exporter, which the extra `otel` installs."""

from collections.abc import Callable, Mapping

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from goop_mcp.server.otlp_resource import resource_of

__all__ = ["set_up"]


def set_up(signal: str, *, version: str, environment: Mapping[str, str]) -> Callable[[], object]:
    """Start exporting TRACES or METRICS of this process; return the function that ends it."""
    resource = resource_of(version=version, environment=environment)

    # Without shutdown_on_exit: at the end of the process the SDK would wait for a collector that
    # does not answer.
    if signal == "TRACES":
        traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(traces)

        return traces.shutdown

    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    meters = MeterProvider(metric_readers=[reader], resource=resource, shutdown_on_exit=False)
    metrics.set_meter_provider(meters)

    return meters.shutdown

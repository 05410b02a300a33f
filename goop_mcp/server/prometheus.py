"""Keep the metrics of the process for Prometheus, which the extra `prometheus` installs."""

from collections.abc import Callable, Mapping

from opentelemetry import metrics
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import REGISTRY, generate_latest

from goop_mcp.server.otlp_resource import resource_of

__all__ = ["keep_metrics"]


def keep_metrics(*, version: str, environment: Mapping[str, str]) -> Callable[[], bytes]:
    """Keep metrics from now on, and return what writes them in the text format of Prometheus.

    Processor time and memory of the process come in addition, from the client of Prometheus.
    """
    meters = MeterProvider(
        metric_readers=[PrometheusMetricReader()],
        resource=resource_of(version=version, environment=environment),
        shutdown_on_exit=False,
    )
    metrics.set_meter_provider(meters)

    return lambda: generate_latest(REGISTRY)

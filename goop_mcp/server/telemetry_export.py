"""Export traces and metrics as the standard OpenTelemetry variables ask for it.

Traces and metrics go to a collector; metrics can also be fetched by Prometheus.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from goop_mcp import __version__

__all__ = ["TelemetryExport", "start_exporting"]

_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_SIGNALS: Final = ("TRACES", "METRICS")
_PROTOCOL: Final = "http/protobuf"
_PAGE: Final = "prometheus"
# Seconds. A host that closes the server does not wait for a slow collector.
_LAST_MOMENTS: Final = 2.0

_log = logging.getLogger(__name__)


class TelemetryExport:
    """The signals that are exported, until `finish`."""

    def __init__(
        self,
        shutdowns: Mapping[str, Callable[[], object]] | None = None,
        *,
        page: Callable[[], bytes] | None = None,
    ) -> None:
        """Take the shutdown function of each signal, none if nothing is exported.

        `page` returns the metrics as Prometheus reads them, None if nobody asked for it.
        """
        self._shutdowns = dict(shutdowns or {})
        self.page = page

    @property
    def signals(self) -> tuple[str, ...]:
        """The exported signals: TRACES, METRICS, both or none."""
        return tuple(self._shutdowns)

    def finish(self) -> None:
        """Send what is left, within two seconds; a second call does nothing."""
        # In daemon threads, as a shutdown waits without limit for a collector that hangs.
        ending = [threading.Thread(target=each, daemon=True) for each in self._shutdowns.values()]
        self._shutdowns = {}
        for thread in ending:
            thread.start()

        for thread in ending:
            thread.join(_LAST_MOMENTS / len(ending))


def start_exporting(environment: Mapping[str, str], *, with_page: bool = False) -> TelemetryExport:
    """Set up OpenTelemetry for the process if `environment` names a collector; warn if it cannot.

    Supported are OTEL_EXPORTER_OTLP_ENDPOINT and the endpoints of single signals, which override
    it, OTEL_TRACES_EXPORTER (otlp or none), OTEL_METRICS_EXPORTER (otlp, prometheus, or none),
    OTEL_EXPORTER_OTLP_PROTOCOL (http/protobuf), OTEL_SDK_DISABLED, and everything that the SDK and
    its exporters read. `with_page` states that the caller serves the page for Prometheus.
    """
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return TelemetryExport()

    exporters = {
        signal: (environment.get(f"OTEL_{signal}_EXPORTER") or "otlp").split(",")
        for signal in _SIGNALS
    }
    page = _page(environment, is_served=with_page) if _PAGE in exporters["METRICS"] else None
    # Metrics are kept once: for whoever fetches them, or for the collector.
    wanted = [
        signal
        for signal, named in exporters.items()
        if "otlp" in named
        and any(environment.get(name) for name in _endpoints(signal))
        and not (signal == "METRICS" and page is not None)
    ]
    return TelemetryExport(_shutdowns(wanted, environment), page=page)


def _page(environment: Mapping[str, str], *, is_served: bool) -> Callable[[], bytes] | None:
    """Keep the metrics of this process for a page; warn and return None if that is impossible."""
    if not is_served:
        _log.warning(
            "OTEL_METRICS_EXPORTER names prometheus, which fetches /metrics from a server on a"
            " network; use otlp here"
        )
        return None

    try:
        # Loaded only if it is named: it is an extra, and takes long to load.
        from goop_mcp.server.prometheus import keep_metrics  # noqa: PLC0415
    except ImportError:
        _log.warning(
            "OTEL_METRICS_EXPORTER names prometheus, but there is no /metrics: the exporter is"
            " missing; install goop-mcp[prometheus]"
        )
        return None

    return keep_metrics(version=__version__, environment=environment)


def _shutdowns(
    wanted: Sequence[str], environment: Mapping[str, str]
) -> dict[str, Callable[[], object]]:
    """Export the signals to the collector; warn and return nothing if that is impossible."""
    for signal in wanted:
        own, shared = f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
        protocol = environment.get(own) or environment.get(shared) or _PROTOCOL
        if protocol != _PROTOCOL:
            _log.warning(
                "nothing is exported: the protocol is %r; expected %s", protocol[:50], _PROTOCOL
            )
            return {}

    if not wanted:
        return {}
    try:
        # Loaded only if a collector is named: it is an extra, and takes long to load.
        from goop_mcp.server.otlp import set_up  # noqa: PLC0415
    except ImportError:
        _log.warning(
            "%s is set, but nothing is exported: the exporter is missing; install goop-mcp[otel]",
            next(name for signal in wanted for name in _endpoints(signal) if environment.get(name)),
        )
        return {}

    return {
        signal: set_up(signal, version=__version__, environment=environment) for signal in wanted
    }


def _endpoints(signal: str) -> tuple[str, str]:
    return f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT", _ENDPOINT

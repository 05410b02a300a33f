"""Export traces and metrics to a collector if the standard OpenTelemetry variables name one."""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Final

from goop_mcp import __version__

__all__ = ["TelemetryExport", "start_exporting"]

_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_SIGNALS: Final = ("TRACES", "METRICS")
_PROTOCOL: Final = "http/protobuf"
# Seconds. A host that closes the server does not wait for a slow collector.
_LAST_MOMENTS: Final = 2.0

_log = logging.getLogger(__name__)


class TelemetryExport:
    """The signals that are exported, until `finish`."""

    def __init__(self, shutdowns: Mapping[str, Callable[[], object]] | None = None) -> None:
        """Take the shutdown function of each signal, none if nothing is exported."""
        self._shutdowns = dict(shutdowns or {})

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


def start_exporting(environment: Mapping[str, str]) -> TelemetryExport:
    """Set up OpenTelemetry for the process if `environment` names a collector; warn if it cannot.

    Supported are OTEL_EXPORTER_OTLP_ENDPOINT and the endpoints of single signals, which override
    it, OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER (otlp or none), OTEL_EXPORTER_OTLP_PROTOCOL
    (http/protobuf), OTEL_SDK_DISABLED, and everything that the SDK and its exporters read.
    """
    is_disabled = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    wanted = [
        signal
        for signal in _SIGNALS
        if "otlp" in (environment.get(f"OTEL_{signal}_EXPORTER") or "otlp").split(",")
        and any(environment.get(name) for name in _endpoints(signal))
    ]
    if is_disabled or not wanted:
        return TelemetryExport()

    for signal in wanted:
        own, shared = f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
        protocol = environment.get(own) or environment.get(shared) or _PROTOCOL
        if protocol != _PROTOCOL:
            _log.warning(
                "nothing is exported: the protocol is %r; expected %s", protocol[:50], _PROTOCOL
            )
            return TelemetryExport()

    try:
        # Loaded only if a collector is named: it is an extra, and takes long to load.
        from goop_mcp.server.otlp import set_up  # noqa: PLC0415
    except ImportError:
        _log.warning(
            "%s is set, but nothing is exported: the exporter is missing; install goop-mcp[otel]",
            next(name for signal in wanted for name in _endpoints(signal) if environment.get(name)),
        )
        return TelemetryExport()

    return TelemetryExport(
        {signal: set_up(signal, version=__version__, environment=environment) for signal in wanted}
    )


def _endpoints(signal: str) -> tuple[str, str]:
    return f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT", _ENDPOINT

"""Send spans and figures to a collector, where the standard variables of OpenTelemetry name one."""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Final

from goop_mcp import __version__

__all__ = ["Exporting", "start_exporting"]

_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_SIGNALS: Final = ("TRACES", "METRICS")
_PROTOCOL: Final = "http/protobuf"
_LAST_MOMENTS: Final = 2.0  # seconds; a host that closes the server does not wait for a collector

_log = logging.getLogger(__name__)


class Exporting:
    """What is exported, until `finish`."""

    def __init__(self, shutdowns: Mapping[str, Callable[[], object]] | None = None) -> None:
        """Take what ends each signal; none where nothing is exported."""
        self._shutdowns = dict(shutdowns or {})

    @property
    def signals(self) -> tuple[str, ...]:
        """What is exported: traces, metrics, both or nothing."""
        return tuple(self._shutdowns)

    def finish(self) -> None:
        """Send what is left, within two seconds; may be called twice."""
        ending = [threading.Thread(target=each, daemon=True) for each in self._shutdowns.values()]
        self._shutdowns = {}
        for thread in ending:
            thread.start()

        for thread in ending:
            thread.join(_LAST_MOMENTS / len(ending))


def start_exporting(environment: Mapping[str, str]) -> Exporting:
    """Set up OpenTelemetry for the process if `environment` names a collector; one warning where that cannot be.

    Understood are OTEL_EXPORTER_OTLP_ENDPOINT and the variables of traces and metrics that go before it,
    OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER with otlp or none, OTEL_EXPORTER_OTLP_PROTOCOL with http/protobuf,
    OTEL_SDK_DISABLED, and all that the SDK and its exporters read by themselves.
    """
    wanted = [signal for signal in _SIGNALS if _is_wanted(signal, environment)]
    if not wanted:
        return Exporting()

    for signal in wanted:
        if (protocol := _protocol(signal, environment)) != _PROTOCOL:
            _log.warning(
                "nothing is exported: the protocol is %r; expected %s", protocol[:50], _PROTOCOL
            )
            return Exporting()

    try:
        # An extra, loaded where a collector is named
        from goop_mcp.server.otlp import set_up  # noqa: PLC0415
    except ImportError:
        _log.warning(
            "%s is set, but nothing is exported: the exporter is missing; install goop-mcp[otel]",
            next(name for signal in wanted for name in _endpoints(signal) if environment.get(name)),
        )
        return Exporting()

    return Exporting(
        {signal: set_up(signal, version=__version__, environment=environment) for signal in wanted}
    )


def _is_wanted(signal: str, environment: Mapping[str, str]) -> bool:
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False

    exporter = environment.get(f"OTEL_{signal}_EXPORTER") or "otlp"
    return "otlp" in exporter.split(",") and any(
        environment.get(name) for name in _endpoints(signal)
    )


def _endpoints(signal: str) -> tuple[str, str]:
    return f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT", _ENDPOINT


def _protocol(signal: str, environment: Mapping[str, str]) -> str:
    own, shared = f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
    return environment.get(own) or environment.get(shared) or _PROTOCOL

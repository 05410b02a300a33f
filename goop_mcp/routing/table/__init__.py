"""The routing table: every row in the order in which it is tried."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from goop_mcp.routing.row import Row
from goop_mcp.routing.table import (
    agent_request,
    any_protocol,
    factory_failures,
    factory_success,
    goop_report,
    speckit_errors,
    speckit_success,
)

__all__ = ["ROWS", "rows_for"]

_OF_PROTOCOL: Mapping[str, Sequence[Row]] = MappingProxyType(
    {
        "goop_report": goop_report.ROWS,
        "speckit": (*speckit_errors.ROWS, *speckit_success.ROWS),
        "factory": (*factory_failures.ROWS, *factory_success.ROWS),
        "agent_request": agent_request.ROWS,
    }
)

ROWS = (
    *any_protocol.FIRST_ROWS,
    *(row for rows in _OF_PROTOCOL.values() for row in rows),
    any_protocol.LAST_ROW,
)
"""Every row once, in the order of the documentation."""

_IN_ORDER: Mapping[str | None, tuple[Row, ...]] = MappingProxyType(
    {
        name: (*any_protocol.FIRST_ROWS, *_OF_PROTOCOL.get(name, ()), any_protocol.LAST_ROW)
        for name in _OF_PROTOCOL
    }
)
_WITHOUT_PROTOCOL = (*any_protocol.FIRST_ROWS, any_protocol.LAST_ROW)


def rows_for(protocol: str | None) -> tuple[Row, ...]:
    """Return the rows to try for `protocol`: common rows first, R9, which always fits, last."""
    return _IN_ORDER.get(protocol, _WITHOUT_PROTOCOL)

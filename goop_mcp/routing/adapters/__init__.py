"""Adapters from the envelope of each protocol to the common model, listed by hand."""

from collections.abc import Mapping
from types import MappingProxyType

from goop_mcp.routing.adapters import agent_request, factory, goop_report, speckit
from goop_mcp.routing.adapters.adapter import Adapter, OutcomeRow
from goop_mcp.validation.verdict import Verdict

__all__ = ["ADAPTERS", "Adapter", "OutcomeRow", "protocol_of"]

# A reply without an envelope has no protocol; these findings name the one that was asked for.
_NO_ENVELOPE_RULES = ("no-envelope", "result-without-envelope")

ADAPTERS: Mapping[str, Adapter] = MappingProxyType(
    {
        adapter.protocol: adapter
        for adapter in (
            goop_report.ADAPTER,
            speckit.ADAPTER,
            factory.ADAPTER,
            agent_request.ADAPTER,
        )
    }
)
"""The adapter of each protocol by its name."""


def protocol_of(verdict: Verdict) -> str | None:
    """Return the protocol of `verdict`, or the one that was asked for and not found.

    None when neither is known.
    """
    if verdict.protocol is not None:
        return verdict.protocol

    for finding in verdict.findings:
        family, _, name = finding.rule.partition("/")
        if name in _NO_ENVELOPE_RULES and family in ADAPTERS:
            return family

    return None

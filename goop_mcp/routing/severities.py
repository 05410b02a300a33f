"""How issues are ordered: the worst first (S-07)."""

from collections.abc import Iterable

from goop_mcp.protocols.speckit.model import SEVERITIES
from goop_mcp.routing.views import Issue

__all__ = ["known_severity", "worst_first"]

_RANKS = {name: rank for rank, name in enumerate(("BLOCKING", *SEVERITIES))}


def worst_first(issues: Iterable[Issue]) -> tuple[Issue, ...]:
    """Return `issues` by severity, stable within each; unknown severities come last."""
    return tuple(sorted(issues, key=lambda issue: _RANKS.get(issue.severity.upper(), len(_RANKS))))


def known_severity(text: str) -> str:
    """Return a listed severity for `text`; HIGH for any other, so that it is not overlooked."""
    return text.upper() if text.upper() in SEVERITIES else "HIGH"

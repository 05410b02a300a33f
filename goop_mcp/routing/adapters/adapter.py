"""The adapter of one protocol: its native outcomes as a table, and a reader of envelopes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from goop_mcp.routing.views import OutcomeKind, ReportView, RequestView
from goop_mcp.validation.verdict import Verdict

__all__ = ["Adapter", "OutcomeRow", "first_outcome"]


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """One native state as text, how the native model shows it, and its outcome."""

    native: str
    fits: Callable[[Any], bool]
    outcome: OutcomeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One protocol's way into the common model.

    `read` never raises, whatever is missing in the envelope.

    `asks_for_repair` returns whether a rejected reply goes back for repair. `routed_by_content` are
    findings about the work and not about the reply: a row of the protocol answers them, also where
    warnings count as errors.
    """

    protocol: str
    outcomes: tuple[OutcomeRow, ...]
    read: Callable[[Verdict], ReportView | RequestView]
    asks_for_repair: Callable[[Verdict], bool]
    routed_by_content: frozenset[str] = frozenset()


def first_outcome(rows: Sequence[OutcomeRow], envelope: object) -> OutcomeKind:
    """Return the outcome of the first row that fits; unknown when none does."""
    for row in rows:
        if row.fits(envelope):
            return row.outcome
    return OutcomeKind.UNKNOWN

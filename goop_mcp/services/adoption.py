"""Measure the adoption of XML handoffs in a project (xml-handoff-protocol, section 9)."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from goop_mcp.protocols.agent_request import AGENT_REQUEST
from goop_mcp.services.gate import Adoption
from goop_mcp.validation import pipeline
from goop_mcp.validation.limits import DEFAULT_LIMITS
from goop_mcp.validation.positions import SourceText

__all__ = ["AdoptionReport", "measure_adoption"]

_MOST_BLOCKED = Fraction(10, 100)
_GOALS = {"pilot": Fraction(50, 100), "expanded": Fraction(80, 100)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionReport:
    """Numbers of sessions: all, those with a request in their prompt, those refused."""

    sessions: int
    with_request: int
    blocked: int
    phase: Adoption

    @property
    def rate(self) -> Fraction:
        """The exact share of sessions with a request, from 0 to 1; 0 without sessions."""
        return _share(self.with_request, self.sessions)

    @property
    def line(self) -> str:
        """The rate as section 9.2 prints it, with two decimals."""
        percent = (Decimal(self.rate.numerator * 100) / self.rate.denominator).quantize(
            Decimal("0.01"), ROUND_HALF_UP
        )
        return f"XML handoff adoption: {percent}% ({self.with_request} / {self.sessions})"

    @property
    def reached(self) -> bool:
        """Whether the goal of the phase is reached (H-55).

        The goals are over 50 % for pilot, over 80 % for expanded and 100 % for mandatory.
        """
        if self.phase == "mandatory":
            return self.sessions > 0 and self.with_request == self.sessions
        return self.phase == "optional" or self.rate > _GOALS[self.phase]

    @property
    def too_many_blocked(self) -> bool:
        """Whether over 10 % of the sessions are refused, which calls for "optional" (H-56)."""
        return _share(self.blocked, self.sessions) > _MOST_BLOCKED


def measure_adoption(prompts: Iterable[str], *, phase: Adoption = "optional") -> AdoptionReport:
    """Return the adoption in `prompts`, one for each session; for a pilot those of pilot agents."""
    sessions = with_request = blocked = 0
    for prompt in prompts:
        sessions += 1
        # A broken request counts as adoption too, and additionally as blocked.
        with_request += AGENT_REQUEST.find(SourceText(prompt), DEFAULT_LIMITS).chosen is not None
        blocked += not pipeline.validate(
            prompt, (AGENT_REQUEST,), protocol="agent_request"
        ).accepted

    return AdoptionReport(
        sessions=sessions, with_request=with_request, blocked=blocked, phase=phase
    )


def _share(part: int, whole: int) -> Fraction:
    return Fraction(part, whole) if whole else Fraction(0)

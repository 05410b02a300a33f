"""A row of the routing table, and the case it looks at."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from goop_mcp.routing.context import RoutingContext
from goop_mcp.routing.decision import Action, Filling
from goop_mcp.routing.views import NO_REPORT, NO_REQUEST, Outcome, ReportView, RequestView
from goop_mcp.validation.findings import Finding
from goop_mcp.validation.verdict import Verdict

__all__ = ["ANY", "Case", "Row", "no_filling"]

_AGENT_NAME = re.compile(r"\w[\w.:/-]{0,99}")

ANY = "any"
"""The protocol of the rows that stand before those of every protocol."""


@dataclass(slots=True, kw_only=True)
class Case:
    """One verdict in its context, read once.

    `protocol` is None when nobody knows. `report` and `request` are the normalised envelope; the
    one that does not apply is empty. `rejected` tells that the reply has to be mended before it
    counts, `faults` are the findings that say why: the verdict's errors, those of the caller's
    workspace check and, by policy, warnings.
    """

    verdict: Verdict
    context: RoutingContext
    protocol: str | None
    outcome: Outcome
    report: ReportView = NO_REPORT
    request: RequestView = NO_REQUEST
    rejected: bool = False
    faults: tuple[Finding, ...] = ()

    @property
    def same_agent(self) -> str | None:
        """The agent that was asked, or else the one that the reply names; template text is no name."""
        if self.context.expected_agent:
            return self.context.expected_agent
        named = self.report.agent
        return named if named and _AGENT_NAME.fullmatch(named) else None


def no_filling(_case: Case) -> Filling:
    """Return a filling with nothing in it."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: when it fits, what is to be done, what it carries, and how it is told.

    `when` says the condition in words, `carries` names the fields that `fill` may set beside
    `state_changes`. `reason` returns a clause with the native words; the router adds the id.
    `message` gets the filling too.
    """

    rule: str
    protocol: str
    when: str
    fits: Callable[[Case], bool]
    actions: tuple[Action, ...]
    carries: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    fill: Callable[[Case], Filling] = no_filling
    reason: Callable[[Case], str]
    message: Callable[[Case, Filling], str]

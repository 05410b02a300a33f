"""A row of the routing table, and the case it matches."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Concatenate, ParamSpec

from goop_mcp.routing.context import RoutingContext
from goop_mcp.routing.decision import Action, Filling
from goop_mcp.routing.views import NO_REPORT, NO_REQUEST, Outcome, ReportView, RequestView
from goop_mcp.validation.findings import Finding
from goop_mcp.validation.verdict import Verdict

__all__ = ["ANY", "Case", "Row", "RowList", "no_filling"]

_AGENT_NAME = re.compile(r"\w[\w.:/-]{0,99}")

ANY = "any"
"""The protocol of the rows that are tried before those of every protocol."""


@dataclass(slots=True, kw_only=True)
class Case:
    """One verdict in its context, read once.

    `protocol` is None when it is unknown. `report` and `request` are the normalised envelope; the
    one that does not apply is empty. `rejected` is true when the reply must be repaired before it
    counts, `errors` are the findings that require it: the verdict's errors, those of the caller's
    workspace check and, by policy, warnings.
    """

    verdict: Verdict
    context: RoutingContext
    protocol: str | None
    outcome: Outcome
    report: ReportView = NO_REPORT
    request: RequestView = NO_REQUEST
    rejected: bool = False
    errors: tuple[Finding, ...] = ()

    @property
    def same_agent(self) -> str | None:
        """The agent that was asked, else the one that the reply names (not template text)."""
        if self.context.expected_agent:
            return self.context.expected_agent
        named = self.report.agent
        return named if named and _AGENT_NAME.fullmatch(named) else None


def no_filling(_case: Case) -> Filling:
    """Return a filling with nothing in it."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: a condition, and the decision when it is true.

    `fits` is the condition; `when` only describes it on docs/routing.md. `fill` returns the fields
    of the decision, and `carries` must name each of them except `state_changes`. `reason` returns a
    clause with the native terms; the router adds the id. `message` also receives what `fill`
    returned. Earlier rows win, so that a special case stands before the general one.
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


P = ParamSpec("P")
Fill = Callable[[Case], Filling]


# Both are typed by the constructor of Row: its fields are listed once, and calls are still checked.
def _decorator(
    make: Callable[P, Row],
) -> Callable[Concatenate["RowList", P], Callable[[Fill], Fill]]:
    def row(rows: "RowList", /, *args: P.args, **data: P.kwargs) -> Callable[[Fill], Fill]:
        def declare(fill: Fill) -> Fill:
            rows.append(replace(make(*args, **data), fill=fill))
            return fill

        return declare

    return row


def _adder(make: Callable[P, Row]) -> Callable[Concatenate["RowList", P], None]:
    def add(rows: "RowList", /, *args: P.args, **data: P.kwargs) -> None:
        rows.append(make(*args, **data))

    return add


class RowList(list[Row]):
    """The rows of one table in the order in which they are tried.

    `@ROWS.row(rule=…, …)` declares a row on the function that fills its decision; `ROWS.add(…)`
    declares one whose filling is a single expression or empty.
    """

    row = _decorator(Row)
    add = _adder(Row)

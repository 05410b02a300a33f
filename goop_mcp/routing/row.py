"""A row of the routing table, and what it is compared with."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Concatenate, ParamSpec

from goop_mcp.routing.context import RoutingContext
from goop_mcp.routing.decision import Action, DecisionFields
from goop_mcp.routing.views import NO_REPORT, NO_REQUEST, OutcomeKind, ReportView, RequestView
from goop_mcp.validation.findings import Finding
from goop_mcp.validation.verdict import Verdict

__all__ = ["ANY", "RoutingInput", "Row", "RowList", "no_fields"]

_AGENT_NAME = re.compile(r"\w[\w.:/-]{0,99}")

ANY = "any"
"""The protocol of the rows that are tried before those of every protocol."""


@dataclass(slots=True, kw_only=True)
class RoutingInput:
    """One verdict in its context, read once.

    `protocol` is None when it is unknown. `report` and `request` are the normalised envelope; the
    one that does not apply is empty. `rejected` is true when the reply must be repaired before it
    counts, `errors` are the findings that require it: the verdict's errors, those of the caller's
    workspace check and, by policy, warnings.
    """

    verdict: Verdict
    context: RoutingContext
    protocol: str | None
    outcome: OutcomeKind
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


def no_fields(_case: RoutingInput) -> DecisionFields:
    """Return no fields."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: a condition, and the decision when it is true.

    `fits` is the condition; `when` only describes it on docs/routing.md. `build` returns the fields
    of the decision, and `sets` must name each of them except `state_changes`. `reason` returns a
    clause with the native terms; the router adds the id. `message` also receives what `build`
    returned. Earlier rows win, so that a special case stands before the general one.
    """

    rule: str
    protocol: str
    when: str
    fits: Callable[[RoutingInput], bool]
    actions: tuple[Action, ...]
    sets: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    build: Callable[[RoutingInput], DecisionFields] = no_fields
    reason: Callable[[RoutingInput], str]
    message: Callable[[RoutingInput, DecisionFields], str]


P = ParamSpec("P")
Build = Callable[[RoutingInput], DecisionFields]


# `P` is the signature of `Row(…)`: mypy checks the calls of both by it, without a second list of
# the fields.
def _decorator(
    make: Callable[P, Row],
) -> Callable[Concatenate["RowList", P], Callable[[Build], Build]]:
    def row(rows: "RowList", /, *args: P.args, **data: P.kwargs) -> Callable[[Build], Build]:
        def declare(build: Build) -> Build:
            rows.append(replace(make(*args, **data), build=build))
            return build

        return declare

    return row


def _adder(make: Callable[P, Row]) -> Callable[Concatenate["RowList", P], None]:
    def add(rows: "RowList", /, *args: P.args, **data: P.kwargs) -> None:
        rows.append(make(*args, **data))

    return add


class RowList(list[Row]):
    """The rows of one table in the order in which they are tried.

    `@ROWS.row(rule=…, …)` declares a row on the function that builds its fields; `ROWS.add(…)`
    declares one whose fields are a single expression or none.
    """

    row = _decorator(Row)
    add = _adder(Row)

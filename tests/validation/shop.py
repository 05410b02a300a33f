"""A rule of somebody else's, as a user would write it, and ways to change it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from goop_mcp import Example, Expectations, Hit, Rule, Severity
from goop_mcp.protocols.goop_report import Report
from tests.validation.replies import EXECUTOR, SUMMARY, changed, fenced

GOOD_LINE = f"<summary>SHOP-17: {SUMMARY}</summary>"
BAD_LINE = f"<summary>{SUMMARY}</summary>"
WITH_TICKET = fenced(changed(EXECUTOR, (BAD_LINE, GOOD_LINE)))
WITHOUT_TICKET = fenced(EXECUTOR)
MESSAGE = "summary names no ticket; expected one, such as SHOP-17"
FIX = "Begin the summary with the ticket: SHOP-17: …"


def names_no_ticket(report: Report, _expected: Expectations) -> Hit | None:
    if report.summary is None or "SHOP-" in report.summary:
        return None
    return Hit(message=MESSAGE, path="/goop_report/summary")


TICKET = Rule(
    id="shop/ticket-missing",
    model=Report,
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="a summary without a ticket",
    why="Release notes are made of summaries and tickets.",
    fix=FIX,
    example=Example(good=GOOD_LINE, bad=BAD_LINE, reply=WITH_TICKET),
    check=names_no_ticket,
)


def ticket_checked_by(check: Callable[..., Any]) -> Rule:
    """Return the rule with another check, whatever that returns."""
    return replace(TICKET, check=check)


def fails_on_everything(report: Report, _expected: Expectations) -> Hit | None:
    raise LookupError(f"no tracker for {report.agent}")


BROKEN = ticket_checked_by(fails_on_everything)

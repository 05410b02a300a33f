"""The pages of reports: the list with filters, and each report next to what proves it."""

from typing import Final
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.responses import Response

from goop_mcp import services
from goop_mcp.services.recorded_reports import ReportNotFoundError
from goop_mcp.services.report_details import ReportFilter
from goop_mcp.validation.tiers import CLAIM_TIERS
from goop_mcp.workbench.visits import RouteList, Visit, whole_number

__all__ = ["ROUTES"]

ROUTES: Final = RouteList()

_FIELDS: Final = ("agent", "task", "status", "verdict", "tier", "text")
_STATUSES: Final = ("COMPLETE", "PARTIAL", "BLOCKED", "CHECKPOINT")
_LONGEST_FIELD: Final = 200


@ROUTES.page("/reports", label="Reports", part="reports")
def _list(visit: Visit) -> Response:
    given = {name: visit.query.text(name).strip()[:_LONGEST_FIELD] for name in _FIELDS}
    wanted = ReportFilter(**given)
    round, before = visit.query.number("round"), visit.query.number("before")
    found, last = services.report_details.filter_reports(
        visit.application.store, wanted, round=round or None, before=before or None
    )
    kept = {name: value for name, value in given.items() if value}
    if round:
        kept["round"] = str(round)
    older = f"/reports?{urlencode({**kept, 'before': last})}" if last is not None else None
    rounds = visit.application.store.read(lambda reading: reading.round().number)

    return visit.show(
        "reports.html",
        found=found,
        wanted=wanted,
        statuses=_STATUSES,
        tiers=CLAIM_TIERS,
        rounds=rounds,
        older=older,
        first=f"/reports?{urlencode(kept)}" if before else None,
    )


@ROUTES.page("/reports/{id}", of="/reports")
def _report(visit: Visit) -> Response:
    details = services.report_details.report_details(visit.application.store, _number(visit))
    return visit.show("report.html", details=details, about=details.shown.about)


@ROUTES.action("/reports/{id}/withdraw")
def _withdraw(visit: Visit) -> Response:
    number = _number(visit)
    address = f"/reports/{number}"
    reason = visit.form.text("reason").strip()
    if not reason:
        return visit.go(address, "Write why the report does not count.", kind="refused")

    done = services.recorded_reports.withdraw_report(
        visit.application.writing_context(),
        number,
        reason=reason,
        by=visit.login.via,
        now=visit.now,
    )
    note = {
        "withdrawn": f"Report {number} counts no more; it is kept, marked as withdrawn.",
        "unchanged": f"Report {number} already did not count.",
        "refused": f"Report {number} belongs to a closed round; nothing was changed.",
    }[done.status]

    return visit.go(
        address,
        note,
        kind="refused" if done.status == "refused" else "done",
        clears=visit.form.text("keep"),
    )


def _number(visit: Visit) -> int:
    """Return the number in the address. Raises HTTPException if no report has it."""
    number = whole_number(visit.params["id"])
    if number is None:
        raise HTTPException(404)

    try:
        services.recorded_reports.show_report(visit.application.store, number)
    except ReportNotFoundError:
        raise HTTPException(404) from None

    return number

"""The page Check: judge a reply as agents' hosts do, while it is pasted or typed."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from goop_mcp import services
from goop_mcp.errors import GoopError
from goop_mcp.protocols import FAMILIES
from goop_mcp.routing import RoutingContext, route
from goop_mcp.validation.findings import Mode
from goop_mcp.workbench.visits import RouteList, Visit

__all__ = ["ROUTES"]

ROUTES: Final = RouteList()

_MODES: Final[Mapping[str, Mode]] = {"lenient": "lenient", "strict": "strict"}


@ROUTES.page("/check", label="Check")
def _show(visit: Visit) -> Response:
    return visit.show("check.html", **_choices(visit), text="", result=None)


@ROUTES.action("/check")
def _check(visit: Visit) -> Response:
    """Show the whole page with the result, for browsers without script."""
    text = visit.form.text("text")
    return visit.show("check.html", **_choices(visit), text=text, result=_result(visit))


@ROUTES.action("/check/preview")
def _preview(visit: Visit) -> Response:
    return visit.part("check_result.html", result=_result(visit))


def _choices(visit: Visit) -> dict[str, Any]:
    return {
        "protocols": ["auto", *(family.name for family in FAMILIES)],
        "protocol": visit.form.text("protocol") or "auto",
        "modes": list(_MODES),
        "mode": visit.form.text("mode") or "lenient",
        "in_project": bool(visit.form.text("in_project")),
    }


def _result(visit: Visit) -> Mapping[str, object] | None:
    """Return verdict and decision for the form, None for an empty one."""
    form, here = visit.form, visit.application
    text = form.text("text").replace("\r\n", "\n")
    if not text.strip():
        return None

    in_project = bool(form.text("in_project"))
    context = RoutingContext()
    try:
        if in_project:
            here.require_folder()
        judged = services.route_reply.judge_reply(
            text,
            context,
            protocol=form.text("protocol") or "auto",
            mode=_MODES.get(form.text("mode"), "lenient"),
            home=here.settings.project if in_project else None,
            project=here.settings.project if in_project else None,
            store=here.store if in_project else None,
            rules=here.rules,
        )
        why_not = "" if in_project else services.unverified.NOT_ASKED
        verdict = services.unverified.with_unverified(judged, why_not)
    except GoopError as error:
        return {"error": str(error)}

    decision = services.shareable_verdicts.shareable_decision(route(verdict, context), text)
    return {"error": None, "verdict": decision.verdict, "decision": decision}

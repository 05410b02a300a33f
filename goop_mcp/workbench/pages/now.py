"""The page Now: where the project stands, and what waits for a person."""

from typing import Final

from starlette.responses import Response

from goop_mcp import services
from goop_mcp.workbench.visits import Visit, WorkbenchAction, WorkbenchPage
from goop_mcp.workflow.phases import PHASES

__all__ = ["ROUTES"]


def _show(visit: Visit) -> Response:
    status = services.project_status.project_status(visit.application.project_context)
    phases = next((each for name, each in PHASES.items() if name == status.profile), ())
    return visit.show("now.html", now=status, phases=phases)


ROUTES: Final[tuple[WorkbenchPage | WorkbenchAction, ...]] = (
    WorkbenchPage(path="/", show=_show, label="Now"),
)

"""An audit as one HTML file, which loads nothing and needs no script."""

from functools import cache
from pathlib import Path
from typing import Final

from goop_mcp.services.audit.page import counts, nothing_found, rate_line
from goop_mcp.services.audit.results import Audit
from goop_mcp.workbench.charts import meter
from goop_mcp.workbench.rendering import Templates

__all__ = ["audit_report"]

_STYLE: Final = Path(__file__).parent / "static" / "workbench.css"


def audit_report(audit: Audit, *, now: str) -> str:
    """Return `audit` as one HTML file; `now` is its time."""
    percent = audit.percent
    chart = meter(
        "Share of the claims with a readable history that a result contradicts",
        None if percent is None else percent / 100,
        [],
    )
    return _templates().render(
        "audit_report.html",
        {
            "audit": audit,
            "chart": chart,
            "counts": list(counts(audit)),
            "hosts": sorted(audit.transcripts.items()),
            "left_out": sorted(audit.left_out.items()),
            "nothing": "" if audit.transcripts else nothing_found(audit),
            "now": now,
            "rate": rate_line(audit),
            "style": _STYLE.read_text(encoding="utf-8"),
            "unreadable": list(audit.reasons()),
        },
    )


@cache
def _templates() -> Templates:
    return Templates()

"""`goop-mcp doctor`: check installation, project, database and hosts."""

import os

import click

from goop_mcp import __version__
from goop_mcp.cli.options import PROJECT
from goop_mcp.cli.streams import counting, emit_json, show
from goop_mcp.context import AppContext
from goop_mcp.hosts.doctor import CheckOutcome, run_checks
from goop_mcp.settings import read_settings

__all__ = ["doctor"]

UNHEALTHY = 1
_MARKS = {CheckOutcome.OK: "ok", CheckOutcome.WARNING: "warning", CheckOutcome.ERROR: "ERROR"}


@click.command(short_help="Check installation, database and hosts.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@PROJECT
def doctor(form: str, project: str | None) -> int:
    """Check the installation, the project, the database and every host that knows goop-mcp.

    Each server is started as its host would start it. Nothing is changed, and no secret is shown.

    Exit code: 0 no errors, 1 an error keeps goop-mcp from working; each comes with its fix.
    """
    checks = []
    with AppContext(read_settings(os.environ, project=project)) as application:
        # Text is its own progress: each check is printed as soon as it is done.
        found = run_checks(application, os.environ)
        for check in found if form == "text" else counting(found, "checks done"):
            checks.append(check)
            if form == "text":
                fix = "" if check.fix is None else f"         fix: {check.fix}\n"
                show(f"{_MARKS[check.outcome]:8} {check.subject}: {check.message}\n{fix}")

    healthy = all(check.outcome is not CheckOutcome.ERROR for check in checks)
    if form == "json":
        values = {
            "version": __version__,
            "healthy": healthy,
            "checks": [check.to_dict() for check in checks],
        }
        emit_json(values)

    return 0 if healthy else UNHEALTHY

"""`goop-mcp doctor`: check installation, project, database and hosts."""

import os

import click

from goop_mcp import __version__
from goop_mcp.cli.options import PROJECT
from goop_mcp.cli.streams import emit_json, show
from goop_mcp.composition import Application
from goop_mcp.hosts.doctor import Check, Outcome, examine
from goop_mcp.settings import read_settings

__all__ = ["doctor"]

UNWELL = 1
_MARKS = {Outcome.OK: "ok", Outcome.WARNING: "warning", Outcome.FAULT: "FAULT"}


@click.command(short_help="Check installation, database and hosts.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@PROJECT
def doctor(form: str, project: str | None) -> int:
    """Check the installation, the project, the database and every host that knows goop-mcp.

    Each server is started as its host would start it. Nothing is changed, and no secret is shown.

    Exit code: 0 nothing keeps it from working, 1 something does; each fault comes with its cure.
    """
    checks = []
    with Application(read_settings(os.environ, project=project)) as application:
        for check in examine(application, os.environ):
            checks.append(check)
            if form == "text":
                show(_line(check))

    unwell = any(check.outcome is Outcome.FAULT for check in checks)
    if form == "json":
        values = {
            "version": __version__,
            "healthy": not unwell,
            "checks": [check.to_dict() for check in checks],
        }
        emit_json(values)

    return UNWELL if unwell else 0


def _line(check: Check) -> str:
    cure = "" if check.cure is None else f"         cure: {check.cure}\n"
    return f"{_MARKS[check.outcome]:8} {check.subject}: {check.message}\n{cure}"

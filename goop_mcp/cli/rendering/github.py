"""Render verdicts as workflow commands, which GitHub Actions shows as annotations."""

from goop_mcp.cli.rendering.source_line import shown
from goop_mcp.services.check_files import FileVerdicts
from goop_mcp.services.user_files import STDIN
from goop_mcp.validation.findings import Severity

__all__ = ["render_github"]

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render_github(outcome: FileVerdicts) -> str:
    """Return one annotation for each finding, and for each file that could not be read."""
    lines = []
    for checked in outcome.checked:
        for finding in checked.verdict.findings:
            properties = _properties(
                checked.file, line=finding.line, column=finding.column, title=finding.rule
            )
            message = _escape(f"{finding.message}\n{finding.fix}")
            lines.append(f"::{_COMMANDS[finding.severity]} {properties}::{message}\n")

    for unread in outcome.unread:
        properties = _properties(unread.file, title="unreadable file")
        lines.append(f"::error {properties}::{_escape(unread.message)}\n")

    return "".join(lines)


def _properties(
    file: str, *, line: int | None = None, column: int | None = None, title: str
) -> str:
    """Return the properties of an annotation; for stdin the title holds the position."""
    if file == STDIN:
        place = "" if line is None else f":{line}:{column}"
        return f"title={_escape_property(f'<stdin>{place} {title}')}"

    known = {"file": file, "line": line, "col": column, "title": title}

    return ",".join(
        f"{key}={_escape_property(str(value))}" for key, value in known.items() if value is not None
    )


def _escape(text: str) -> str:
    """Return `text` escaped for a workflow command, control characters made visible first."""
    text = "\n".join(map(shown, text.split("\n")))
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")

"""Render verdicts for programs: a JSON list, SARIF 2.1.0, commands of GitHub Actions."""

import os
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from goop_mcp import __version__
from goop_mcp.cli.json_text import json_text
from goop_mcp.cli.rendering.source_line import marked_length, shown
from goop_mcp.protocols import rules_with
from goop_mcp.services.check_files import FileVerdicts
from goop_mcp.services.user_files import STDIN
from goop_mcp.validation.findings import Finding, Severity

__all__ = ["render_github", "render_json", "render_sarif"]

Json: TypeAlias = "str | int | bool | list[Json] | dict[str, Json] | None"

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS: dict[Severity, Json] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "note",
}

_GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render_sarif(outcome: FileVerdicts) -> str:
    """Return one run with every finding, and with the rules that were violated.

    Files that could not be read are notifications of the invocation, which has then failed.
    """
    ids = sorted({f.rule for checked in outcome.checked for f in checked.verdict.findings})
    book = rules_with(outcome.rules)
    driver: Json = {
        "name": "goop-mcp",
        "version": __version__,
        "rules": [
            {
                "id": rule.id,
                "shortDescription": {"text": rule.catches},
                "fullDescription": {"text": rule.why},
                "help": {"text": rule.fix},
                "defaultConfiguration": {"level": _SARIF_LEVELS[rule.lenient]},
            }
            for rule in map(book.__getitem__, ids)
        ],
    }
    unread: list[Json] = [
        {
            "level": "error",
            "message": {"text": each.message},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(each.file)}}}],
        }
        for each in outcome.unread
    ]
    results: list[Json] = []
    for checked in outcome.checked:
        lines = checked.text.split("\n")
        results += [
            {
                "ruleId": finding.rule,
                "ruleIndex": ids.index(finding.rule),
                "level": _SARIF_LEVELS[finding.severity],
                "message": {
                    "text": f"{finding.message[:1].upper()}{finding.message[1:]}. {finding.fix}"
                },
                "locations": [_location(checked.file, finding, lines)],
            }
            for finding in checked.verdict.findings
        ]

    run: Json = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not unread, "toolExecutionNotifications": unread}],
        "results": results,
    }
    document: Json = {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}

    return json_text(document)


def _location(file: str, finding: Finding, lines: list[str]) -> Json:
    physical: dict[str, Json] = {"artifactLocation": {"uri": _uri(file)}}
    if finding.line is not None and finding.column is not None:
        line = lines[finding.line - 1]
        length = marked_length(line, finding.column, finding.found)
        physical["region"] = {
            "startLine": finding.line,
            "startColumn": finding.column,
            "endColumn": min(finding.column + length, len(line) + 1),
        }

    location: dict[str, Json] = {"physicalLocation": physical}
    if finding.path is not None:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.path, "kind": "element"}]
    return location


def _uri(file: str) -> str:
    """Return `file` as a URI, relative to the current folder if it is below it."""
    if file == STDIN:
        return "stdin"

    path = Path(file)
    if path.is_absolute():
        if not path.is_relative_to(Path.cwd()):
            return path.as_uri()

        path = path.relative_to(Path.cwd())

    return quote(os.fsencode(path.as_posix()))


def render_json(outcome: FileVerdicts) -> str:
    """Return the verdicts in the order of the files; files that could not be read are left out."""
    verdicts = [{"file": checked.file, **checked.verdict.to_dict()} for checked in outcome.checked]
    return json_text(verdicts)


def render_github(outcome: FileVerdicts) -> str:
    """Return one annotation for each finding, and for each file that could not be read."""
    lines = []
    for checked in outcome.checked:
        for finding in checked.verdict.findings:
            properties = _properties(
                checked.file, line=finding.line, column=finding.column, title=finding.rule
            )
            message = _escape(f"{finding.message}\n{finding.fix}")
            lines.append(f"::{_GITHUB_COMMANDS[finding.severity]} {properties}::{message}\n")

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

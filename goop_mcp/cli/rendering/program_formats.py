"""Render verdicts for programs: JSON, SARIF 2.1.0, GitHub, GitLab and JUnit."""

import hashlib
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from goop_mcp import __version__
from goop_mcp.cli.json_text import json_text
from goop_mcp.cli.rendering.source_line import shown
from goop_mcp.protocols import RULES, rules_with
from goop_mcp.services.check_files import CheckedFile, FileVerdicts, marked_length
from goop_mcp.services.rule_pages import PAGE_OF_RULES, anchor_of
from goop_mcp.services.user_files import STDIN
from goop_mcp.validation.findings import Finding, Severity
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.verdict import Verdict

__all__ = ["render_github", "render_gitlab", "render_json", "render_junit", "render_sarif"]

Json: TypeAlias = "str | int | bool | list[Json] | dict[str, Json] | None"

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS: dict[Severity, Json] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "note",
}

_GITLAB_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}
_GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render_sarif(outcome: FileVerdicts) -> str:
    """Return one run with every finding, and with the rules that were violated.

    Files that could not be read are notifications of the invocation, which has then failed.
    """
    ids = sorted({f.rule for checked in outcome.checked for f in checked.verdict.findings})
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
                "locations": [_location(checked, number, lines)],
                **_evidence_of(checked.verdict, finding),
            }
            for number, finding in enumerate(checked.verdict.findings)
        ]

    run: dict[str, Json] = {
        "tool": {"driver": _driver(ids, outcome.rules)},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not unread, "toolExecutionNotifications": unread}],
        "results": results,
    }
    evidence: dict[str, Json] = {
        checked.file: [item.to_dict() for item in checked.verdict.evidence]
        for checked in outcome.checked
        if checked.verdict.evidence
    }
    properties: dict[str, Json] = {"evidence": evidence} if evidence else {}
    if notes := _changed_severities(outcome):
        properties["changedSeverities"] = [*notes]
    if properties:
        run = {**run, "properties": properties}

    document: Json = {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}

    return json_text(document)


def _driver(ids: Sequence[str], own: Sequence[Rule]) -> Json:
    """Return this program as SARIF describes it, with the rules of these `ids`."""
    book = rules_with(own)
    return {
        "name": "goop-mcp",
        "version": __version__,
        "rules": [
            {
                "id": rule.id,
                "shortDescription": {"text": rule.catches},
                "fullDescription": {"text": rule.why},
                "help": {"text": rule.fix},
                # Custom rules are on no page of ours.
                **(
                    {"helpUri": f"{PAGE_OF_RULES}#{anchor_of(rule.id)}"} if rule.id in RULES else {}
                ),
                "defaultConfiguration": {"level": _SARIF_LEVELS[rule.lenient]},
            }
            for rule in map(book.__getitem__, ids)
        ],
    }


def _changed_severities(outcome: FileVerdicts) -> list[str]:
    """Return which severities differ from the usual ones, each once for all verdicts."""
    return list(
        dict.fromkeys(
            note for checked in outcome.checked for note in checked.verdict.changed_severities
        )
    )


def _evidence_of(verdict: Verdict, finding: Finding) -> dict[str, Json]:
    """Return what the claim of a finding rests on, as properties; nothing if it is unknown."""
    item = next((each for each in verdict.evidence if each.path == finding.path), None)
    if item is None:
        return {}
    return {
        "properties": {"tier": item.tier, "source": item.source, "detail": item.detail},
    }


def _location(checked: CheckedFile, number: int, lines: list[str]) -> Json:
    """Return the place of the finding `number` of a file."""
    finding = checked.verdict.findings[number]
    physical: dict[str, Json] = {"artifactLocation": {"uri": _uri(checked.file)}}
    if finding.line is not None and finding.column is not None:
        line = lines[finding.line - 1]
        length = (
            marked_length(line, finding.column, finding.found)
            if checked.marked is None
            else checked.marked[number]
        )
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

    if notes := _changed_severities(outcome):
        lines.append(f"::notice title=severities changed here::{_escape('; '.join(notes))}\n")
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
    if not text.isprintable():
        text = "\n".join(map(shown, text.split("\n")))
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


def render_gitlab(outcome: FileVerdicts) -> str:
    """Return the findings as a code quality report of GitLab.

    A fingerprint consists of file, rule, place and value, not of the line: a finding that moves is
    the same one in the comparison of two branches. Equal ones are counted, so that each differs.
    """
    found: list[tuple[str, int, str, str, str, str]] = []
    for checked in outcome.checked:
        for each in checked.verdict.findings:
            identity = "\0".join((checked.file, each.rule, each.path or "", each.found or ""))
            text = f"{each.message}. {each.fix}"
            severity = _GITLAB_SEVERITIES[each.severity]
            found.append((checked.file, each.line or 1, each.rule, text, severity, identity))
    for unread in outcome.unread:
        text = unread.message
        found.append((unread.file, 1, "unreadable-file", text, "blocker", unread.file))

    entries: list[Json] = []
    seen: dict[str, int] = {}
    for file, line, rule, text, severity, identity in found:
        seen[identity] = seen.get(identity, 0) + 1
        digest = hashlib.sha256(f"{identity}\0{seen[identity]}".encode("utf-8", "backslashreplace"))
        entries.append(
            {
                "description": text,
                "check_name": rule,
                "fingerprint": digest.hexdigest(),
                "severity": severity,
                "location": {"path": _uri(file), "lines": {"begin": line}},
            }
        )

    return json_text(entries)


def render_junit(outcome: FileVerdicts) -> str:
    """Return one test suite with a test case for each file, as JUnit writes it.

    A rejected file is a failure, one that could not be read an error.
    """
    rejected = sum(not checked.verdict.accepted for checked in outcome.checked)
    total = len(outcome.checked) + len(outcome.unread)
    counts = f'tests="{total}" failures="{rejected}" errors="{len(outcome.unread)}"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites {counts}>",
        f'  <testsuite name="goop-mcp" {counts}>',
    ]
    if notes := _changed_severities(outcome):
        value = _attribute("; ".join(notes))
        lines.append(
            f'    <properties><property name="changed_severities" value={value}/></properties>'
        )

    for checked in outcome.checked:
        errors = checked.verdict.of_severity(Severity.ERROR)
        case = f"    <testcase classname={_attribute(checked.verdict.protocol or 'none')}"
        case += f" name={_attribute(checked.file)}"
        if checked.verdict.accepted:
            lines.append(f"{case}/>")
            continue

        text = "\n".join(
            f"{checked.file}:{each.line or 1}:{each.column or 1}: {each.message} [{each.rule}]\n"
            f"  fix: {each.fix}"
            for each in errors
        )
        # XML has no form for most control characters, not even an escaped one.
        body = escape("\n".join(map(shown, text.split("\n"))), quote=False)
        first = _attribute(errors[0].message if errors else checked.verdict.verdict)
        lines += [
            f"{case}>",
            f'      <failure type="rejected" message={first}>{body}</failure>',
            "    </testcase>",
        ]
    for unread in outcome.unread:
        lines += [
            f'    <testcase classname="none" name={_attribute(unread.file)}>',
            f'      <error type="unreadable" message={_attribute(unread.message)}/>',
            "    </testcase>",
        ]

    return "\n".join([*lines, "  </testsuite>", "</testsuites>", ""])


def _attribute(text: str) -> str:
    # Not quoteattr of xml.sax, which loads the HTTP client: a tenth of the time that a check takes.
    return f'"{escape(shown(text))}"'

"""The Markdown sections STATUS, SUMMARY, ARTIFACTS, VERIFICATION and NEXT of profile v1."""

import re

from goop_mcp.protocols.goop_report.legacy_forms.conversion import (
    converted,
    expected_agent,
    expected_state,
    reason_to_block,
    template_left,
    unknown_status,
)
from goop_mcp.protocols.goop_report.model import (
    Artifacts,
    Check,
    FileChange,
    Handoff,
    NextAction,
    Report,
    Status,
)
from goop_mcp.protocols.goop_report.rules.legacy_forms import MARKDOWN_SECTIONS
from goop_mcp.protocols.goop_report.values import clean
from goop_mcp.validation.escaping import without_forbidden
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.extraction import Block, spoken_apart
from goop_mcp.validation.families import ParseResult
from goop_mcp.validation.fences import fence_spans
from goop_mcp.validation.rules import Problem
from goop_mcp.workflow.commands import KNOWN_COMMANDS

__all__ = [
    "AGENT_IN_TEXT",
    "COMMAND_IN_TEXT",
    "FORM",
    "find_sections",
    "read_sections",
    "section_headings",
]

FORM = "markdown_sections"

_HEADING = re.compile(r"^(#{1,2})[ \t]++([^\n]*)$", re.MULTILINE)
_SECTION_NAMES = frozenset({"STATUS", "SUMMARY", "ARTIFACTS", "VERIFICATION", "NEXT"})
_WORD = re.compile(r"[A-Za-z]+")
_ITEM = re.compile(r"^[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++(.+)$", re.MULTILINE)
_DASHES = (" - ", " – ", "—")
_PASS = re.compile(r"\b(?:pass|passed|passes|passing|ok)\b|✓|✅", re.IGNORECASE)
_FAIL = re.compile(r"\b(?:fail|failed|fails|failing)\b|✗|❌", re.IGNORECASE)
AGENT_IN_TEXT = re.compile(r"\bgoop-[a-z]+(?:-[a-z]+)*\b|\bmemory-distiller\b")
COMMAND_IN_TEXT = re.compile(r"(?<![\w/])/goop-[a-z]+(?:-[a-z]+)*")
_NOTHING = frozenset({"", "none", "n/a", "-"})


def find_sections(text: str) -> Block | None:
    """Return the span from the first section on, if both STATUS and SUMMARY are present."""
    headings = section_headings(text)
    names = [heading[2].strip() for heading in headings if heading[1] == "##"]
    if "STATUS" not in names or "SUMMARY" not in names:
        return None

    first = next(
        heading
        for heading in headings
        if heading[1] == "##" and heading[2].strip() in _SECTION_NAMES
    )

    return Block(root=FORM, start=first.start(), end=len(text))


def read_sections(text: str, block: Block, expected: Expectations) -> ParseResult:
    """Convert the sections in `block`."""
    source = without_forbidden(text[block.start : block.end])
    report, problems = _from_sections(source, expected)
    # Each section's name with its text, line by line where it has several.
    values = []
    for name, content in _split_sections(source).items():
        lines = [line for line in content.split("\n") if line.strip()]
        values += [
            (f"/{name}/{number}" if len(lines) > 1 else f"/{name}", line.strip().lstrip("-*+ "))
            for number, line in enumerate(lines, 1)
        ]

    left = template_left(values)
    # Template text in the status is reported as such, and not as an unknown status as well.
    if any(problem.hit.path == "/STATUS" for problem in left):
        problems = []

    problems += left

    return converted(
        report,
        problems,
        MARKDOWN_SECTIONS,
        "Markdown sections",
        start=block.start,
        expected=expected,
    )


def section_headings(text: str) -> list[re.Match[str]]:
    """Return the headings of levels one and two outside fences and thinking blocks."""
    fences = fence_spans(text)
    thinking = spoken_apart(text)
    found: list[re.Match[str]] = []
    index = 0

    for heading in _HEADING.finditer(text):
        while index < len(fences) and fences[index][1] <= heading.start():
            index += 1

        outside = index == len(fences) or heading.start() < fences[index][0]
        if outside and not thinking.hold(heading.start(), heading.end()):
            found.append(heading)

    return found


def _from_sections(text: str, expected: Expectations) -> tuple[Report, list[Problem]]:
    sections = _split_sections(text)
    word = _WORD.search(sections["STATUS"])
    status = Status.__members__.get(word[0].upper()) if word else None
    summary = clean(sections["SUMMARY"])
    following = clean(sections.get("NEXT"))
    agent, command = AGENT_IN_TEXT.search(following), COMMAND_IN_TEXT.search(following)
    known_command = command[0] if command and command[0] in KNOWN_COMMANDS else None
    problems = (
        [] if status is not None else [unknown_status(sections["STATUS"], tuple(Status), None)]
    )
    files = []
    for item in _items(sections.get("ARTIFACTS", "")):
        # The first dash separates the path from what was done to it.
        at, dash = min(
            ((item.find(dash), dash) for dash in _DASHES if dash in item), default=(len(item), "")
        )
        path, description = item[:at].strip("`* "), clean(item[at + len(dash) :])
        files.append(FileChange(path=path, action=None, description=description))

    report = Report(
        version=None,
        status=status,
        agent=expected_agent(expected),
        state=expected_state(expected),
        summary=summary,
        artifacts=Artifacts(files=tuple(files)) if "ARTIFACTS" in sections else None,
        verification=(
            _section_checks(sections["VERIFICATION"]) if "VERIFICATION" in sections else None
        ),
        handoff=Handoff(
            next_action=(
                NextAction(agent=agent[0] if agent else None, text=following) if following else None
            ),
            blockers=reason_to_block(status, following, summary),
            next_command=known_command,
        ),
    )

    return report, problems


def _split_sections(text: str) -> dict[str, str]:
    headings = section_headings(text)
    sections: dict[str, str] = {}
    for number, heading in enumerate(headings):
        end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
        if heading[1] == "##" and heading[2].strip() in _SECTION_NAMES:
            sections[heading[2].strip()] = text[heading.end() : end].strip()

    return sections


def _items(text: str) -> list[str]:
    if text.strip().rstrip(".").lower() in _NOTHING:
        return []
    items = [item[1].strip() for item in _ITEM.finditer(text)]
    return [item for item in items if item.rstrip(".").lower() not in _NOTHING]


def _section_checks(text: str) -> tuple[Check, ...]:
    items = _items(text)
    if not items and text.strip().rstrip(".").lower() not in _NOTHING:
        items = [clean(text)]

    checks = []
    for item in items:
        # A line that speaks of both, or of neither, leaves the result open.
        passed, failed = _PASS.search(item) is not None, _FAIL.search(item) is not None
        result = passed if passed != failed else None
        checks.append(Check(name=None, passed=result, evidence=item))

    return tuple(checks)

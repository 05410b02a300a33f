"""Render a finding for people: position, message, source line with carets, repair, fix."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import accumulate

import click

from goop_mcp import services
from goop_mcp.cli.rendering.source_line import point_at, shown
from goop_mcp.services.check_files import CheckedFile
from goop_mcp.services.user_files import STDIN
from goop_mcp.validation.findings import Finding, Repair, Severity

__all__ = ["file_name", "render_findings"]

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_WIDEST = 100


def render_findings(
    checked: CheckedFile, findings: Sequence[Finding], *, width: int | None
) -> list[str]:
    """Return each of the `findings` in `checked` as styled lines.

    `width` is the terminal's width in cells; None puts each sentence on one line, for tools.
    """
    if not findings:
        return []

    name, lines = file_name(checked), _SourceLines(checked)
    repairs = list(checked.verdict.repairs)
    width = None if width is None else min(width, _WIDEST)

    return [
        "".join(
            f"{line}\n"
            for line in _block(finding, _pop_repair(repairs, finding), name, lines, width)
        )
        for finding in findings
    ]


def file_name(checked: CheckedFile) -> str:
    """Return the name of the file for output."""
    return "<stdin>" if checked.file == STDIN else shown(checked.file)


class _SourceLines:
    """The lines of a file as they are shown."""

    def __init__(self, checked: CheckedFile) -> None:
        self._checked, self._lines = checked, checked.text.split("\n")
        # Few files hold secrets, of which each has a place in the whole text.
        lengths = (len(line) + 1 for line in self._lines)
        self._starts = [0, *accumulate(lengths)] if checked.hidden else []

    def at(self, number: int, column: int) -> tuple[str, int]:
        """Return the line `number`, and where `column` of the file is in it."""
        line = self._lines[number - 1]
        if not self._starts:
            return line, column
        start = self._starts[number - 1]
        return services.shareable_verdicts.shown_line(self._checked, line, start, column)


def _pop_repair(repairs: list[Repair], finding: Finding) -> Repair | None:
    """Remove the repair that belongs to `finding` from the list, and return it.

    It is removed because several findings may be equal, each with a separate repair.
    """
    wanted = (finding.rule, finding.message, finding.line)
    for index, repair in enumerate(repairs):
        if (repair.rule, repair.message, repair.line) == wanted:
            return repairs.pop(index)

    return None


def _block(
    finding: Finding, repair: Repair | None, name: str, lines: "_SourceLines", width: int | None
) -> Iterator[str]:
    place = name if finding.line is None else f"{name}:{finding.line}:{finding.column}"
    severity = f"{finding.severity.value}:"
    rule = f"[{finding.rule}]"
    prefix = f"{place}: {severity}"
    # Styles add characters but no width, so the text is wrapped with as many "=" as the prefix has;
    # the styled prefix then replaces them.
    head = _wrap(
        f"{shown(finding.message)} {rule}", width, first="=" * len(prefix) + " ", others="    "
    )
    colour = _COLOURS[finding.severity]
    head[0] = (
        f"{click.style(place, bold=True)}: {click.style(severity, fg=colour, bold=True)}"
        + head[0][len(prefix) :]
    )
    head[-1] = head[-1].removesuffix(rule) + click.style(rule, dim=True)
    yield from head

    if finding.line is not None and finding.column is not None:
        gutter = f"{finding.line:>5} | "
        blank = " " * (len(gutter) - 2) + "| "
        room = max((width or _WIDEST) - len(gutter), 20)
        line, column = lines.at(finding.line, finding.column)
        text, carets = point_at(line.removesuffix("\r"), column, finding.found, room=room)
        yield click.style(gutter, dim=True) + text
        yield click.style(blank, dim=True) + click.style(carets, fg=colour, bold=True)

    if repair is not None:
        yield from _labelled("repaired:", shown(repair.before), width)
        yield from _labelled("      to:", shown(repair.after) or "(removed)", width)

    yield from _labelled("fix:", shown(finding.fix), width)


def _labelled(label: str, text: str, width: int | None) -> Iterator[str]:
    indent = " " * (len(label) + 3)
    lines = _wrap(text, width, first=indent, others=indent) or [indent]
    lines[0] = f"  {click.style(label, bold=True)} " + lines[0][len(indent) :]
    yield from lines


def _wrap(text: str, width: int | None, *, first: str, others: str) -> list[str]:
    if width is None:
        return [first + text.rstrip()] if text.strip() else []
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )

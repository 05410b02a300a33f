"""Verdicts for people: place, what is wrong, the line with carets under it, what to do."""

import textwrap
from collections.abc import Iterator, Sequence

import click

from goop_mcp.cli.rendering.source_line import point_at, shown
from goop_mcp.operations.check_files import STDIN, CheckedFile, FileVerdicts
from goop_mcp.validation.findings import Finding, Repair, Severity
from goop_mcp.validation.verdict import Verdict

__all__ = ["counted", "render_file", "render_text"]

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_ROOM = 100
_UNWRAPPED = 1_000_000


def render_text(outcome: FileVerdicts, *, width: int | None = None) -> str:
    """Return all findings, repairs and a summary, with styles.

    `width` is that of the terminal in cells; None leaves sentences on one line, as tools that read them want it.
    """
    blocks = [render_file(checked, width=width) for checked in outcome.checked]
    if len(outcome.checked) + len(outcome.unread) > 1:
        blocks.append(_total(outcome))
    return "\n".join(blocks)


def render_file(checked: CheckedFile, *, width: int | None = None) -> str:
    """Return what is to be said about one file; the arguments are those of `render_text`."""
    verdict = checked.verdict
    name = "<stdin>" if checked.file == STDIN else shown(checked.file)
    lines = checked.text.split("\n") if verdict.findings else []
    repairs = list(verdict.repairs)
    blocks = [
        "\n".join(_finding(finding, _take(repairs, finding), name, lines, width)) + "\n"
        for finding in verdict.findings
    ]
    if verdict.omitted:
        blocks.append(f"… and {counted(verdict.omitted, 'more finding')}\n")
    if len(verdict.candidates) > 1:
        blocks.append(_candidates(verdict))
    blocks.append(_summary(name, verdict))
    return "\n".join(blocks)


def counted(number: int, noun: str) -> str:
    """Return `number` with `noun` in the singular or plural."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _take(repairs: list[Repair], finding: Finding) -> Repair | None:
    """Return the repair that belongs to `finding`, and take it out of the list."""
    wanted = (finding.rule, finding.message, finding.line)
    for index, repair in enumerate(repairs):
        if (repair.rule, repair.message, repair.line) == wanted:
            return repairs.pop(index)
    return None


def _finding(
    finding: Finding, repair: Repair | None, name: str, lines: Sequence[str], width: int | None
) -> Iterator[str]:
    yield from _headline(finding, name, width)
    if finding.line is not None and finding.column is not None:
        yield from _source(finding, finding.line, finding.column, lines, width)
    if repair is not None:
        yield from _wrapped("mended: ", shown(repair.before), width)
        yield from _wrapped("     to: ", shown(repair.after), width)
    yield from _wrapped("fix: ", shown(finding.fix), width)


def _headline(finding: Finding, name: str, width: int | None) -> Iterator[str]:
    place = name if finding.line is None else f"{name}:{finding.line}:{finding.column}"
    severity = f"{finding.severity.value}:"
    rule = f"[{finding.rule}]"
    prefix = f"{place}: {severity}"
    lines = textwrap.wrap(
        f"{shown(finding.message)} {rule}",
        width or _UNWRAPPED,
        initial_indent="=" * len(prefix) + " ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    styled = f"{click.style(place, bold=True)}: {click.style(severity, fg=_COLOURS[finding.severity], bold=True)}"
    lines[0] = styled + lines[0][len(prefix) :]
    lines[-1] = lines[-1].removesuffix(rule) + click.style(rule, dim=True)
    yield from lines


def _source(
    finding: Finding, line: int, column: int, lines: Sequence[str], width: int | None
) -> Iterator[str]:
    gutter = f"{line:>5} | "
    room = min(width or _ROOM, _ROOM) - len(gutter)
    text, carets = point_at(lines[line - 1].removesuffix("\r"), column, finding.found, room=max(room, 20))
    yield click.style(gutter, dim=True) + text
    yield click.style("      | ", dim=True) + click.style(carets, fg=_COLOURS[finding.severity], bold=True)


def _wrapped(label: str, text: str, width: int | None) -> Iterator[str]:
    indent = " " * (2 + len(label))
    lines = textwrap.wrap(
        text,
        width or _UNWRAPPED,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [indent]
    lines[0] = "  " + click.style(label, bold=True) + lines[0][len(indent) :]
    yield from lines


def _candidates(verdict: Verdict) -> str:
    rows = [
        f"  {'>' if candidate.chosen else ' '} line {candidate.line}: {candidate.why}"
        for candidate in verdict.candidates
    ]
    return "\n".join([f"{len(rows)} envelopes seen:", *rows]) + "\n"


def _summary(name: str, verdict: Verdict) -> str:
    judgement = click.style(verdict.verdict, fg="green" if verdict.accepted else "red", bold=True)
    kind = " ".join(filter(None, (verdict.protocol, verdict.version)))
    about = ", ".join(filter(None, (kind, "strict mode" if verdict.mode == "strict" else "")))
    counts = [
        counted(len(findings), severity.value)
        for severity in Severity
        if (findings := verdict.of_severity(severity))
    ]
    if verdict.repairs:
        counts.append(f"{len(verdict.repairs)} mended")
    sentence = f"{click.style(name, bold=True)}: {judgement}"
    return sentence + (f" ({about})" if about else "") + (f": {', '.join(counts)}" if counts else "") + "\n"


def _total(outcome: FileVerdicts) -> str:
    accepted = sum(checked.verdict.accepted for checked in outcome.checked)
    rejected = len(outcome.checked) - accepted
    unread = len(outcome.unread)
    parts = [
        f"{accepted} accepted" if accepted else "",
        f"{rejected} rejected" if rejected else "",
        f"{unread} not read" if unread else "",
    ]
    total = counted(len(outcome.checked) + unread, "file")
    return f"{total}: {', '.join(filter(None, parts))}\n"

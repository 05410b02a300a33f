"""Render verdicts for people: the findings of each file, then its verdict in one line."""

import click

from goop_mcp.cli.rendering.finding import counted, file_name, render_findings
from goop_mcp.services.check_files import FileVerdicts
from goop_mcp.validation.findings import Severity, excerpt
from goop_mcp.validation.verdict import Verdict

__all__ = ["render_text"]


def render_text(outcome: FileVerdicts, *, width: int | None = None) -> str:
    """Return all findings, repairs and verdicts, styled; `width` as in `render_findings`."""
    blocks = []
    for checked in outcome.checked:
        verdict = checked.verdict
        parts = render_findings(checked, verdict.findings, width=width)
        if verdict.omitted:
            parts.append(f"… and {counted(verdict.omitted, 'more finding')}\n")
        if len(verdict.candidates) > 1:
            rows = [
                f"  {'>' if candidate.chosen else ' '} line {candidate.line}: {candidate.why}\n"
                for candidate in verdict.candidates
            ]
            parts.append(f"{len(rows)} envelopes found, > marks the chosen one:\n{''.join(rows)}")

        parts.append(_summary(file_name(checked), verdict))
        blocks.append("\n".join(parts))

    files = len(outcome.checked) + len(outcome.unread)
    if files > 1:
        accepted = sum(checked.verdict.accepted for checked in outcome.checked)
        numbers = [
            (accepted, "accepted"),
            (len(outcome.checked) - accepted, "rejected"),
            (len(outcome.unread), "not read"),
        ]
        total = ", ".join(f"{number} {what}" for number, what in numbers if number)
        blocks.append(f"{counted(files, 'file')}: {total}\n")

    return "\n".join(blocks)


def _summary(name: str, verdict: Verdict) -> str:
    judgement = click.style(verdict.verdict, fg="green" if verdict.accepted else "red", bold=True)
    kind = " ".join(filter(None, (verdict.protocol, excerpt(verdict.version or "", 40))))
    about = ", ".join(filter(None, (kind, "strict mode" if verdict.mode == "strict" else "")))
    sentence = f"{click.style(name, bold=True)}: {judgement}" + (f" ({about})" if about else "")

    numbers = [(len(verdict.of_severity(severity)), severity.value) for severity in Severity]
    counts = [counted(number, noun) for number, noun in numbers if number]
    if verdict.repairs:
        counts.append(f"{len(verdict.repairs)} repaired")

    return f"{sentence}: {', '.join(counts)}\n" if counts else f"{sentence}\n"

"""Render verdicts for people: the findings of each file, then its verdict in one line."""

from typing import Literal, TypeAlias

import click

from goop_mcp.cli.rendering.finding import file_name, render_findings
from goop_mcp.cli.rendering.source_line import shown
from goop_mcp.services.check_files import FileVerdicts
from goop_mcp.validation.findings import Severity, counted_noun, excerpt
from goop_mcp.validation.tiers import tiers_in_words
from goop_mcp.validation.verdict import Verdict

__all__ = ["SHOWN", "Detail", "render_text"]

Detail: TypeAlias = Literal["quiet", "normal", "verbose"]

SHOWN: dict[Detail, frozenset[Severity]] = {
    "quiet": frozenset({Severity.ERROR}),
    "normal": frozenset({Severity.ERROR, Severity.WARNING}),
    "verbose": frozenset(Severity),
}
"""The findings that are shown."""


def render_text(
    outcome: FileVerdicts, *, width: int | None = None, detail: Detail = "normal"
) -> str:
    """Return findings, repairs and verdicts, styled; `width` as in `render_findings`.

    "quiet" is errors only; "normal" is without infos, and with one line about all of several files
    instead of one about each; "verbose" is everything.
    """
    files = len(outcome.checked) + len(outcome.unread)
    blocks = []
    for checked in outcome.checked:
        verdict = checked.verdict
        findings = [each for each in verdict.findings if each.severity in SHOWN[detail]]
        blocks += render_findings(checked, findings, width=width)
        if verdict.omitted and findings:
            blocks.append(f"… and {counted_noun(verdict.omitted, 'more finding')}\n")
        # Errors may be about another envelope than the reader looks at.
        if len(verdict.candidates) > 1 and detail != "quiet":
            rows = [
                f"  {'>' if candidate.chosen else ' '} line {candidate.line}: {candidate.why}\n"
                for candidate in verdict.candidates
            ]
            blocks.append(f"{len(rows)} envelopes found, > marks the chosen one:\n{''.join(rows)}")

        # Among many files, a line for each would hide those with something to do.
        if detail == "verbose" or (files == 1 and detail == "normal"):
            blocks.append(_summary(file_name(checked), checked.verdict, detail))

    if files > 1 and detail != "quiet":
        accepted = sum(checked.verdict.accepted for checked in outcome.checked)
        numbers = [
            (accepted, "accepted"),
            (len(outcome.checked) - accepted, "rejected"),
            (len(outcome.unread), "not read"),
        ]
        total = ", ".join(f"{number:,} {what}" for number, what in numbers if number)
        found = dict.fromkeys(Severity, 0)
        for checked in outcome.checked:
            for finding in checked.verdict.findings:
                found[finding.severity] += 1

        counts = ", ".join(_counts(found, detail))
        blocks.append(
            f"{counted_noun(files, 'file')}: {total}" + (f"; {counts}\n" if counts else "\n")
        )

    if detail != "quiet":
        # All files are judged by the settings of one project, so that the notes are the same.
        notes = dict.fromkeys(
            note for checked in outcome.checked for note in checked.verdict.changed_severities
        )
        if notes:
            blocks.append(f"Severities changed here: {'; '.join(map(shown, notes))}\n")

    return "\n".join(blocks)


def _summary(name: str, verdict: Verdict, detail: Detail) -> str:
    judgement = click.style(verdict.verdict, fg="green" if verdict.accepted else "red", bold=True)
    kind = " ".join(filter(None, (verdict.protocol, excerpt(verdict.version or "", 40))))
    about = ", ".join(filter(None, (kind, "strict mode" if verdict.mode == "strict" else "")))
    sentence = f"{click.style(name, bold=True)}: {judgement}" + (f" ({about})" if about else "")

    counts = _counts({each: len(verdict.of_severity(each)) for each in Severity}, detail)
    if verdict.repairs:
        counts.append(f"{len(verdict.repairs)} repaired")

    # How many claims rest on what; no line where no evidence was given.
    shares = tiers_in_words(verdict.tiers) if verdict.tiers else ""
    claims = f"Claims: {shares}\n" if shares else ""

    return f"{claims}{sentence}: {', '.join(counts)}\n" if counts else f"{claims}{sentence}\n"


def _counts(numbers: dict[Severity, int], detail: Detail) -> list[str]:
    counts = [counted_noun(number, each.value) for each, number in numbers.items() if number]
    if detail != "verbose" and numbers[Severity.INFO]:
        counts[-1] += " (-v shows them)"
    return counts

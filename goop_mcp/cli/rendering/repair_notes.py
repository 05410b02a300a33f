"""Render the notes of `goop-mcp repair`: the repairs, or why nothing could be repaired."""

from collections.abc import Sequence

from goop_mcp import services
from goop_mcp.cli.rendering.finding import file_name, render_findings
from goop_mcp.services.check_files import RepairedFile
from goop_mcp.validation.findings import Severity, counted_noun

__all__ = ["render_repair_notes", "render_repairs"]

_WHY = "  Only form can be repaired without guessing; send the reply back to the agent."
_KEPT = "accepted and printed unchanged; with its envelope written again it would be rejected"


def render_repair_notes(outcome: RepairedFile, *, width: int | None = None) -> str:
    """Return every repair and their number, or the errors; `width` as in `render_findings`."""
    # The reply is printed as it is, the notes on it without its secrets.
    checked = services.shareable_verdicts.shareable_file(outcome.checked)
    verdict = checked.verdict
    if outcome.repaired is None:
        findings = verdict.of_severity(Severity.ERROR)
        last = f"rejected, nothing is printed: {counted_noun(len(findings), 'error')}\n{_WHY}"
    elif outcome.kept:
        findings, last = (), _KEPT
    else:
        repaired = {(repair.rule, repair.line) for repair in verdict.repairs}
        findings = tuple(
            finding for finding in verdict.findings if (finding.rule, finding.line) in repaired
        )
        count = len(verdict.repairs)
        last = f"{count} repaired" if repaired else "nothing to repair, printed unchanged"

    blocks = render_findings(checked, findings, width=width)

    return "\n".join([*blocks, f"{file_name(checked)}: {last}\n"])


def render_repairs(
    outcomes: Sequence[RepairedFile], *, unread: int, written: bool, width: int | None
) -> str:
    """Return the errors of rejected replies, and one line about all; `width` as above."""
    rejected = [outcome.checked for outcome in outcomes if outcome.repaired is None]
    blocks = []
    for checked in map(services.shareable_verdicts.shareable_file, rejected):
        blocks += render_findings(checked, checked.verdict.of_severity(Severity.ERROR), width=width)

    changed = sum(outcome.repaired not in (None, outcome.whole) for outcome in outcomes)
    numbers = [
        (changed, "repaired" if written else "would be repaired"),
        (len(outcomes) - len(rejected) - changed, "unchanged"),
        (len(rejected), "rejected and unchanged"),
        (unread, "not read or written"),
    ]
    counts = ", ".join(f"{number:,} {what}" for number, what in numbers if number)

    return "\n".join([*blocks, f"{counted_noun(len(outcomes) + unread, 'file')}: {counts}\n"])

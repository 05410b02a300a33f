"""What `goop-mcp repair` tells people: what was mended, or why nothing could be."""

from goop_mcp.cli.rendering.finding import counted, file_name, render_findings
from goop_mcp.operations.check_files import RepairedFile
from goop_mcp.validation.findings import Severity

__all__ = ["render_repair_notes"]

_WHY = "  Only form can be mended without guessing; send the reply back to the agent."
_KEPT = "accepted and printed as it is; with its envelope written again it would be rejected"


def render_repair_notes(outcome: RepairedFile, *, width: int | None = None) -> str:
    """Return every change and their number, or the errors that stand in the way; `width` as in `render_findings`."""
    verdict = outcome.checked.verdict
    if outcome.repaired is None:
        findings = verdict.of_severity(Severity.ERROR)
        last = f"rejected, nothing is printed: {counted(len(findings), 'error')}\n{_WHY}"
    elif outcome.kept:
        findings, last = (), _KEPT
    else:
        mended = {(repair.rule, repair.line) for repair in verdict.repairs}
        findings = tuple(
            finding for finding in verdict.findings if (finding.rule, finding.line) in mended
        )
        last = f"{len(verdict.repairs)} mended" if mended else "nothing to mend, printed as it is"

    blocks = render_findings(outcome.checked, findings, width=width)

    return "\n".join([*blocks, f"{file_name(outcome.checked)}: {last}\n"])

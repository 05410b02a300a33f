"""The entry of CHRONICLE.md that a `<goop_report>` makes (G-49)."""

from goop_mcp.protocols.goop_report.model import Counter, Report
from goop_mcp.workspace.documents.entries import ChronicleEntry

__all__ = ["entry_of_report"]


def entry_of_report(report: Report, *, time: str) -> ChronicleEntry:
    """Return what `report` leaves in the diary: files and commits from its artifacts, the position from its state.

    `time` is ISO 8601, of the recording. The texts are those of the agent; redact them before they are stored.
    """
    state, artifacts = report.state, report.artifacts
    task = " ".join(filter(None, (report.task_id, report.task_name)))
    status = str(report.status) if report.status is not None else "no status"
    files = artifacts.files if artifacts is not None else ()
    commits = artifacts.commits if artifacts is not None else ()
    return ChronicleEntry(
        time=time,
        agent=report.agent or "an agent",
        action=f"{task or 'a task'}: {status}",
        outcome=report.summary or "no summary",
        phase=str(state.phase) if state is not None and state.phase is not None else None,
        wave=_position(state.wave) if state is not None else None,
        task=_position(state.task) if state is not None else None,
        files=[(file.path, str(file.action) if file.action else None) for file in files if file.path],
        commits=[(commit.sha, commit.message or None) for commit in commits if commit.sha],
    )


def _position(counter: Counter | None) -> str | None:
    if counter is None:
        return None
    return "/".join("–" if number is None else str(number) for number in (counter.current, counter.total))

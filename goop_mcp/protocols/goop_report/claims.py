"""What a report says is true of the project (D-88)."""

from collections.abc import Iterator

from goop_mcp.protocols.goop_report.model import (
    Artifacts,
    Counter,
    FileAction,
    Report,
    State,
    Status,
)
from goop_mcp.validation.claims import (
    NO_CLAIMS,
    CheckClaim,
    Claims,
    CommitClaim,
    FileClaim,
    FileClaimKind,
    MemoryClaim,
    StateClaim,
    StatusClaim,
    TaskClaim,
    run_named_in,
)
from goop_mcp.validation.verdict import Envelope

__all__ = ["claims_of"]

_STATE = "/goop_report/state"
_KINDS: dict[FileAction | None, FileClaimKind] = {
    FileAction.CREATED: "created",
    FileAction.MODIFIED: "modified",
    FileAction.DELETED: "gone",
    None: "touched",
}


def claims_of(report: Envelope) -> Claims:
    """Return the claims of `report`; a truncated report (D-16) or another envelope has none."""
    if not isinstance(report, Report) or report.partial:
        return NO_CLAIMS

    artifacts = report.artifacts or Artifacts()

    # The wave says which tasks are meant where the id does not; without an id it stands for all.
    wave = report.state.wave.current if report.state and report.state.wave else None
    tasks: tuple[TaskClaim, ...] = ()
    if report.task_id and report.task_id.strip():
        tasks = (TaskClaim(id=report.task_id, where="/goop_report/task_id", wave=wave),)
    elif wave:
        tasks = (TaskClaim(id=f"W{wave}", where=f"{_STATE}/wave/@current", wave=wave),)

    return Claims(
        files=tuple(
            [
                FileClaim(
                    path=file.path,
                    where=f"/goop_report/artifacts/files/file[{number}]/@path",
                    kind=_KINDS[file.action],
                    reported=True,
                )
                for number, file in enumerate(artifacts.files, 1)
                if file.path and file.path.strip()
            ]
        ),
        commits=tuple(
            [
                CommitClaim(
                    # Agents copy a hash together with its Markdown.
                    sha=commit.sha.strip(" \t\n`"),
                    where=f"/goop_report/artifacts/commits/commit[{number}]",
                    message=commit.message,
                )
                for number, commit in enumerate(artifacts.commits, 1)
                if commit.sha and commit.sha.strip()
            ]
        ),
        memories=tuple(
            [
                MemoryClaim(title=saved.title, where=f"/goop_report/memory/saved[{number}]")
                for number, saved in enumerate(report.memory or (), 1)
                if saved.title.strip()
            ]
        ),
        tasks=tasks,
        state=() if report.state is None else tuple(_state(report.state)),
        checks=tuple(
            [
                CheckClaim(
                    name=check.name or "",
                    passed=check.passed,
                    text=check.evidence,
                    where=f"/goop_report/verification/check[{number}]",
                    run=(check.run or "").strip() or run_named_in(check.evidence),
                )
                for number, check in enumerate(report.verification or (), 1)
                if check.passed is not None
            ]
        ),
        complete=report.status is Status.COMPLETE,
        lists_files=True,
        status=None
        if report.status is None
        else StatusClaim(
            word=report.status.value,
            done=report.status is Status.COMPLETE,
            where="/goop_report/status",
        ),
        blockers=tuple(_blockers(report)),
        texts=(
            ("the summary", report.summary or ""),
            *[
                (check.name or "", check.evidence)
                for check in report.verification or ()
                if check.passed is None
            ],
        ),
    )


def _blockers(report: Report) -> Iterator[str]:
    """Yield each blocker: agents list several, one on each line."""
    text = (report.handoff.blockers if report.handoff is not None else None) or ""
    return (line for each in text.splitlines() if (line := each.strip(" \t-*•")))


def _state(state: State) -> Iterator[StateClaim]:
    if state.phase is not None:
        yield StateClaim(name="phase", value=state.phase.value, where=f"{_STATE}/phase")

    wave = state.wave or Counter(current=None, total=None)
    if wave.current is not None:
        yield StateClaim(name="wave", value=wave.current, where=f"{_STATE}/wave/@current")
    if wave.total is not None:
        yield StateClaim(name="total_waves", value=wave.total, where=f"{_STATE}/wave/@total")
    if state.spec_locked is not None:
        yield StateClaim(name="spec_locked", value=state.spec_locked, where=f"{_STATE}/spec_locked")
    if state.interview_complete is not None:
        where = f"{_STATE}/interview_complete"
        yield StateClaim(name="interview_complete", value=state.interview_complete, where=where)

"""How a project stands: phase, gates, progress, blockers, and where its documents, state and reports disagree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from goop_mcp.errors import StoreError
from goop_mcp.messages import Position, TaskLine, gate_blocked, notice, progress, status_display
from goop_mcp.operations.project_picture import ProjectPicture, take_picture
from goop_mcp.operations.workplace import Workplace
from goop_mcp.redaction import redact_structure
from goop_mcp.routing.messages import counted_noun
from goop_mcp.store.interface import Reading
from goop_mcp.validation.findings import Finding, Severity, excerpt
from goop_mcp.workflow.commands import usual_next
from goop_mcp.workflow.gates import GATES, GateName, GateResult, judge_gate
from goop_mcp.workspace.checkpoints import Checkpoints, read_checkpoints
from goop_mcp.workspace.drift import find_drift
from goop_mcp.workspace.goopspec_database import Verification
from goop_mcp.workspace.history import HistoryEvent, read_history
from goop_mcp.workspace.layout import FOLDER
from goop_mcp.workspace.project import Project, read_project
from goop_mcp.workspace.projections import (
    Conflict,
    NewerDocument,
    is_stale,
    newer_documents,
    open_conflicts,
)

__all__ = ["ProjectStatus", "TaskStanding", "WaveStanding", "project_status"]

_MOST_TOLD = 20
_SHOWN_DETAIL = 120
_ELSEWHERE = (
    f"Phase, gates and plan are not known here: there is no folder {FOLDER}, and many machines"
    " share the database. Ask `goop-mcp status` where the project is checked out; `goop-mcp init`"
    " lays the folder down for a new one. What is recorded is below."
)
_AHEAD: Mapping[str, GateName] = {
    "idle": GateName.DISCOVERY,
    "discuss": GateName.DISCOVERY,
    "plan": GateName.SPEC,
    "research": GateName.SPEC,
    "specify": GateName.SPEC,
    "execute": GateName.EXECUTION,
    "accept": GateName.ACCEPTANCE,
}
# Merging is asked for at a place of its own and says nothing about how far the work is.
_SHOWN_GATES = tuple(name for name in GATES if name is not GateName.MERGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStanding:
    """A task of the plan by the id that we write; `status` is done, failed, open or pending: not reported yet."""

    id: str
    name: str
    status: str

    def to_dict(self) -> dict[str, Any]:
        """Return the task as JSON values."""
        return {"id": self.id, "name": self.name, "status": self.status}


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveStanding:
    """A wave of the plan and its tasks."""

    number: int
    name: str
    tasks: tuple[TaskStanding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the wave as JSON values, with the number of its tasks that are done."""
        done = sum(task.status == "done" for task in self.tasks)
        tasks = [task.to_dict() for task in self.tasks]
        return {"number": self.number, "name": self.name, "done": done, "tasks": tasks}


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPositions:
    """How many checkpoints can be read or were not opened; of the newest one id, time (ISO 8601) and phase, or None."""

    number: int = 0
    newest: str | None = None
    saved_at: str | None = None
    phase: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the positions as JSON values."""
        return {
            "number": self.number,
            "newest": self.newest,
            "saved_at": self.saved_at,
            "phase": self.phase,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectStatus:
    """How a project stands; without secrets. `phase` is None where state.json says nothing.

    `gate_ahead` is the one that the work comes to next. `drift` are findings, `conflicts` documents
    that people changed where they are ours, `unreadable` and `warnings` sentences. `memories`
    counts by type. `database` is its place, `has_database` tells whether it exists. `behind` tells
    that something recorded is not shown in the files yet, `is_readable` False that nobody knows
    what is recorded. `current_wave` is that of state.json. `events` are the newest of the folder
    history, newest first. `reported` are the tasks by what their last reports say, and
    `verifications` the last results of checks in goopspec.db. Where many machines share the
    database, `resources` are the addresses of the documents that it shows, and `is_elsewhere` tells
    that the folder of the project is not on this machine: what it would say is not known then, and
    no gate is judged.
    """

    exists: bool
    project: str | None
    profile: str
    phase: str | None
    spec_locked: bool | None
    interview_complete: bool | None
    accepted: bool | None
    current_wave: int | None
    gates: tuple[GateResult, ...]
    gate_ahead: GateResult | None
    waves: tuple[WaveStanding, ...]
    blockers: tuple[str, ...]
    verifications: tuple[Verification, ...]
    drift: tuple[Finding, ...]
    conflicts: tuple[Conflict, ...]
    unreadable: tuple[str, ...]
    next_command: str | None
    reports: int
    memories: Mapping[str, int]
    revision: int
    database: str
    has_database: bool
    behind: bool
    is_readable: bool
    warnings: tuple[str, ...]
    checkpoints: SavedPositions
    events: tuple[HistoryEvent, ...]
    reported: Mapping[str, tuple[str, ...]]
    resources: tuple[str, ...]
    is_elsewhere: bool

    @property
    def tasks(self) -> tuple[TaskStanding, ...]:
        """All tasks in the order of the plan."""
        return tuple(task for wave in self.waves for task in wave.tasks)

    def to_dict(self) -> dict[str, Any]:
        """Return the status as JSON values."""
        done = sum(task.status == "done" for task in self.tasks)
        return {
            "exists": self.exists,
            "project": self.project,
            "profile": self.profile,
            "phase": self.phase,
            "spec_locked": self.spec_locked,
            "interview_complete": self.interview_complete,
            "acceptance_confirmed": self.accepted,
            "gates": [_gate_values(gate) for gate in self.gates],
            "progress": {
                "current_wave": self.current_wave,
                "total_waves": len(self.waves),
                "done_tasks": done,
                "total_tasks": len(self.tasks),
            },
            "waves": [wave.to_dict() for wave in self.waves],
            "reported": {status: list(tasks) for status, tasks in self.reported.items()},
            "blockers": list(self.blockers),
            "verifications": [
                {"wave": each.wave, "name": each.name, "status": each.status, "detail": each.detail}
                for each in self.verifications
            ],
            "drift": [finding.to_dict() for finding in self.drift],
            "conflicts": [{"path": each.path, "ours": each.ours} for each in self.conflicts],
            "unreadable": list(self.unreadable),
            "gate_ahead": self.gate_ahead.gate.value if self.gate_ahead is not None else None,
            "next_command": self.next_command,
            "reports": self.reports if self.is_readable else None,
            "memories": dict(self.memories) if self.is_readable else None,
            "revision": self.revision if self.is_readable else None,
            "database": _database_values(self),
            "warnings": list(self.warnings),
            "checkpoints": self.checkpoints.to_dict(),
            "events": [
                {"day": each.day, "time": each.time, "text": each.text} for each in self.events
            ],
        }

    def to_markdown(self) -> str:
        """Return the status for people: messages in the visual style, ending with a line feed."""
        return "\n\n".join(_messages(self)) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What the database says beside the reports."""

    reports: int
    memories: Mapping[str, int]
    conflicts: tuple[Conflict, ...]
    behind: bool
    newer: tuple[NewerDocument, ...] = ()
    is_readable: bool = True


_NOTHING_KEPT = _Kept(reports=0, memories={}, conflicts=(), behind=False)


def project_status(workplace: Workplace) -> ProjectStatus:
    """Return how the project stands.

    Changes and creates nothing; a database that cannot be read is a warning.
    """
    picture, kept, has_database, faults = _looked_at(workplace)
    project, facts, state = picture.project, picture.facts, picture.project.state
    checkpoints, history = read_checkpoints(workplace.files), read_history(workplace.files)
    gates = tuple(judge_gate(name, facts) for name in _SHOWN_GATES)
    ahead = _gate_ahead(state.phase if state is not None else None, gates)
    status = ProjectStatus(
        exists=project.exists,
        project=project.name,
        profile=state.profile if state is not None else "0.x",
        phase=state.phase if state is not None else None,
        spec_locked=facts.spec_locked,
        interview_complete=facts.interview_complete,
        accepted=facts.user_accepted,
        current_wave=state.current_wave if state is not None else None,
        gates=gates,
        waves=_waves(picture),
        blockers=picture.records.blockers,
        verifications=project.work.verifications if project.work is not None else (),
        drift=find_drift(project, picture.records),
        conflicts=kept.conflicts,
        unreadable=(*project.unreadable, *checkpoints.errors, *history.errors),
        gate_ahead=ahead,
        next_command=_next_command(project, ahead),
        reports=kept.reports,
        memories=kept.memories,
        revision=picture.ledger.revision,
        database=workplace.store.location,
        has_database=has_database,
        behind=kept.behind,
        is_readable=kept.is_readable,
        warnings=(*workplace.store.warnings, *map(str, kept.newer[:1]), *faults),
        checkpoints=_positions(checkpoints),
        events=history.events,
        reported=_reported(picture),
        resources=tuple(
            path for name, path in project.paths.items() if path in workplace.addresses(name)
        ),
        is_elsewhere=not (workplace.writes_files or project.exists),
    )
    shareable, _ = redact_structure(_as_known_here(status))

    return shareable


def _looked_at(workplace: Workplace) -> tuple[ProjectPicture, _Kept, bool, list[str]]:
    """Return the project, what the database says beside it, whether there is one, and why it cannot be read."""
    try:
        return take_picture(workplace), _kept(workplace), workplace.store.exists(), []
    except StoreError as error:
        picture = ProjectPicture(project=read_project(workplace.files))
        return picture, replace(_NOTHING_KEPT, is_readable=False), True, [str(error)]


def _as_known_here(status: ProjectStatus) -> ProjectStatus:
    """Return the status without what is only a guess where the folder of the project is on another machine."""
    if not status.is_elsewhere:
        return status
    unknown = replace(status, spec_locked=None, interview_complete=None, accepted=None)
    return replace(unknown, gates=(), gate_ahead=None, next_command=None)


def _reported(picture: ProjectPicture) -> Mapping[str, tuple[str, ...]]:
    records = picture.records
    still_open = tuple(task for task in records.open if task not in records.failed)
    return {"done": records.done, "failed": records.failed, "open": still_open}


def _positions(checkpoints: Checkpoints) -> SavedPositions:
    number, newest = len(checkpoints.found) + checkpoints.unopened, checkpoints.newest
    if newest is None:
        return SavedPositions(number=number)
    at = newest.saved_at.isoformat(timespec="seconds")
    return SavedPositions(number=number, newest=newest.id, saved_at=at, phase=newest.phase)


def _kept(workplace: Workplace) -> _Kept:
    def ask(reading: Reading) -> _Kept:
        shows = workplace.writes_files
        newer = newer_documents(workplace.files, known=reading.revision()) if shows else ()
        return _Kept(
            reports=reading.report_count(),
            memories={str(type): number for type, number in reading.memory_counts().items()},
            conflicts=open_conflicts(reading) if shows else (),
            # Files of a later time show more than is recorded, and not less.
            behind=shows and not newer and is_stale(reading, workplace.files),
            newer=newer,
        )

    if not workplace.store.exists():
        return _NOTHING_KEPT
    return workplace.store.read(ask)


def _waves(picture: ProjectPicture) -> tuple[WaveStanding, ...]:
    blueprint, records = picture.project.blueprint, picture.records
    if blueprint is None:
        return ()

    standing = dict.fromkeys(records.open, "open") | dict.fromkeys(records.failed, "failed")
    standing |= dict.fromkeys(records.done, "done")
    numbers = sorted({task.id.wave for task in blueprint.tasks})
    names = {wave.number: wave.name for wave in blueprint.waves}

    return tuple(
        WaveStanding(
            number=number,
            name=names.get(number, ""),
            tasks=tuple(
                TaskStanding(
                    id=str(task.id), name=task.name, status=standing.get(str(task.id), "pending")
                )
                for task in blueprint.tasks
                if task.id.wave == number
            ),
        )
        for number in numbers
    )


def _gate_ahead(phase: str | None, gates: tuple[GateResult, ...]) -> GateResult | None:
    """Return the gate that the work of `phase` comes to next; the first closed one where nobody knows the phase."""
    wanted = _AHEAD.get(phase or "")
    return next(
        (
            gate
            for gate in gates
            if (gate.gate is wanted if wanted is not None else not gate.passed)
        ),
        None,
    )


def _next_command(project: Project, gate: GateResult | None) -> str | None:
    """Return what opens the gate ahead, or what stands behind it; None where state.json cannot be read."""
    if not project.exists:
        return "goop-mcp init"
    if project.state_defect is not None or gate is None:
        return None
    if not gate.passed:
        return gate.command

    profile = project.state.profile if project.state is not None else "0.x"

    return (
        usual_next("/goop-accept", profile=profile)
        if gate.gate is GateName.ACCEPTANCE
        else GATES[gate.gate].before
    )


def _database_values(status: ProjectStatus) -> dict[str, Any]:
    return {
        "place": status.database,
        "exists": status.has_database,
        "files_behind": status.behind,
        "resources": list(status.resources),
    }


def _gate_values(gate: GateResult) -> dict[str, Any]:
    return {
        "gate": gate.gate.value,
        "before": GATES[gate.gate].before,
        "passed": gate.passed,
        "missing": list(gate.missing),
        "sentence": gate.sentence,
        "command": gate.command,
    }


def _messages(status: ProjectStatus) -> list[str]:
    gate = status.gate_ahead
    messages = [notice("Status", _ELSEWHERE) if status.is_elsewhere else _gates_display(status)]
    if status.exists:
        messages.append(_progress(status))
    if gate is not None and not gate.passed and status.exists:
        messages.append(
            gate_blocked(gate.sentence or "", command=gate.command, details=gate.missing)
        )

    for title, lines in (
        ("Reported Tasks", _reported_tasks(status)),
        ("Blockers", status.blockers),
        ("Verifications", _verifications(status.verifications)),
        ("Drift", _drift(status)),
        ("Checkpoints", _checkpoints(status.checkpoints)),
        ("Latest Events", _events(status.events)),
        ("Database", _database(status)),
    ):
        if lines:
            messages.append(notice(title, *_first(lines)))

    return messages


def _first(lines: Sequence[str]) -> list[str]:
    """Return the first twenty of `lines`, and how many there are behind them."""
    more = len(lines) - _MOST_TOLD
    return [*lines[:_MOST_TOLD], *([f"… and {more} more"] if more > 0 else [])]


def _gates_display(status: ProjectStatus) -> str:
    return status_display(
        project=status.project or "unnamed",
        interview_complete=bool(status.interview_complete),
        spec_locked=bool(status.spec_locked),
        accepted=bool(status.accepted),
        next_command=status.next_command,
    )


def _reported_tasks(status: ProjectStatus) -> list[str]:
    """Return the tasks by their reports where no plan says them."""
    if status.waves:
        return []
    return [
        f"{name}: {', '.join(_first(tasks))}" for name, tasks in status.reported.items() if tasks
    ]


def _progress(status: ProjectStatus) -> str:
    tasks = status.tasks
    done = [TaskLine(_number(task), task.name) for task in tasks if task.status == "done"]
    begun = [
        TaskLine(_number(task), f"{task.name} ({task.status})")
        for task in tasks
        if task.status in ("open", "failed")
    ]

    return progress(
        phase=status.phase or "–",
        wave=Position(status.current_wave, len(status.waves) or None),
        task=Position(len(done), len(tasks) or None),
        completed=done,
        in_progress=begun,
    )


def _number(task: TaskStanding) -> str:
    """Return the id as people count: 2.3 for W2.T3."""
    return task.id.removeprefix("W").replace(".T", ".")


def _drift(status: ProjectStatus) -> list[str]:
    words = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.INFO: "ℹ"}
    said = [
        f"{words[finding.severity]} {finding.message} ({finding.rule})" for finding in status.drift
    ]
    said += [
        f"⚠️ {each.path} was changed where it is ours; ours is in {each.ours}"
        for each in status.conflicts
    ]

    return said + [f"⚠️ {sentence}" for sentence in status.unreadable]


def _verifications(checks: Sequence[Verification]) -> list[str]:
    icons = {"passed": "✓", "failed": "❌"}
    return [
        f"{icons.get(each.status, '–')} {each.name}: {each.status}"
        + (f" (wave {each.wave})" if each.wave is not None else "")
        + (f": {excerpt(each.detail, _SHOWN_DETAIL)}" if each.detail else "")
        for each in checks
    ]


def _checkpoints(saved: SavedPositions) -> list[str]:
    if saved.newest is None:
        return []
    phase = f", phase {saved.phase}" if saved.phase is not None else ""
    return [f"{saved.number} saved; the newest is {saved.newest} ({saved.saved_at}{phase})"]


def _events(events: Sequence[HistoryEvent]) -> list[str]:
    return [f"{each.time or each.day}: {each.text}" for each in events]


def _database(status: ProjectStatus) -> list[str]:
    if not status.is_readable:
        return [f"⚠️ {sentence}" for sentence in status.warnings]

    counts = (
        ", ".join(f"{number} {type}" for type, number in sorted(status.memories.items())) or "none"
    )
    said = [
        (
            f"{status.database}: revision {status.revision},"
            f" {counted_noun(status.reports, 'report')}, memories: {counts}"
            if status.has_database
            else f"{status.database} does not exist yet; the first report or memory creates it"
        )
    ]
    if status.resources:
        said.append(
            f"shown at {', '.join(status.resources)}; no file is written, as many machines share"
            " the database"
        )

    if status.behind:
        said.append(
            "⚠️ the files do not show all that is recorded yet; the next change brings them up to it"
        )

    return said + [f"⚠️ {sentence}" for sentence in status.warnings]

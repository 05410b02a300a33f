"""The status of a project: phase, gates, progress, blockers, and contradictions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from goop_mcp.errors import StoreError
from goop_mcp.messages import Position, TaskLine, gate_blocked, notice, progress, status_display
from goop_mcp.redaction import redact_structure
from goop_mcp.services.parts import Parts, parts_in_use
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.project_snapshot import ProjectSnapshot, take_snapshot
from goop_mcp.services.state_block import SHOWN_GATES, gate_ahead, next_command
from goop_mcp.services.waiting import Waiting, waiting_in
from goop_mcp.store.interface import ReadTransaction, Store
from goop_mcp.store.older_copies import OlderCopy
from goop_mcp.store.records import MemoryFilter, Round
from goop_mcp.validation.findings import Finding, Severity, counted_noun, excerpt
from goop_mcp.workflow.gates import GATES, GateName, GateResult, judge_gate
from goop_mcp.workspace.checkpoints import Checkpoints, read_checkpoints
from goop_mcp.workspace.goopspec_database import CheckRecord
from goop_mcp.workspace.history import HistoryEvent, read_history
from goop_mcp.workspace.layout import BLUEPRINT, FOLDER
from goop_mcp.workspace.project import read_project
from goop_mcp.workspace.projections import (
    Conflict,
    lacks_events,
    open_conflicts,
)
from goop_mcp.workspace.report_claims import RoundClaims
from goop_mcp.workspace.used_revisions import older_copy_of
from goop_mcp.workspace.virtual_documents import read_shared_checkpoints

__all__ = ["ProjectStatus", "TaskStanding", "Waiting", "WaveStanding", "project_status"]

# Entries of a list that people read; the structured answer has them all.
_MOST_SHOWN = 20
# Weak: a store that is closed and forgotten must not be kept alive by its counts.
# The numbers of memories as counted last, with the state of each open database.
_counted: WeakKeyDictionary[Store, tuple[tuple[int, str | None], Mapping[str, int]]]
_counted = WeakKeyDictionary()
# Characters of a detail of a check: one line of a terminal with its name.
_SHOWN_DETAIL = 120
_ELSEWHERE = (
    f"Phase, gates and plan are not known here: there is no folder {FOLDER}, and the database that"
    " many machines share has no state of the project yet. Run `goop-mcp status` where the project"
    " is checked out; `goop-mcp init` creates a new one. The records are below."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStanding:
    """A task of the plan, with its id in our spelling.

    `status` is done, failed, open or pending; pending means not reported yet. `waits_for` are the
    tasks that it depends on and that are not done; () for a task that is done.
    """

    id: str
    name: str
    status: str
    waits_for: tuple[str, ...] = ()

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
    """The number of checkpoints, and id, time (ISO 8601) and phase of the newest, or None."""

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
    """The status of a project, without secrets. `phase` is None if state.json does not state it.

    `gate_ahead` is the next gate. `stopped` are the tasks whose last report is BLOCKED. `drift` are
    findings, `conflicts` documents whose entries people changed, `unreadable` and `warnings`
    messages. `memories` are numbers by type. `database` is the location, `has_database` states
    whether it exists. `is_stale` states that the files do not show all records yet, `is_readable`
    False that the database cannot be read. `current_wave` is that of state.json. `events` are those
    of the folder history, newest first. `reported` are the tasks by the status of their last
    reports, `verifications` the last results of checks in goopspec.db. If many machines share the
    database, `resources` are the URIs of the documents that it shows, and `is_elsewhere` states
    that it has no state of the project, and that the project's folder is not on this machine: no
    gate is judged then. `decisions` are the newest on blockers, newest first. `round` is the newest
    round, `waiting` is what waits for a person, oldest first, `claims` what the work of the round
    rests on, `parts` which parts of goop-mcp are in use: without its project there is no gate.
    `plan_note` says why there are no waves, None where there are some.
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
    decisions: tuple[str, ...]
    verifications: tuple[CheckRecord, ...]
    drift: tuple[Finding, ...]
    conflicts: tuple[Conflict, ...]
    unreadable: tuple[str, ...]
    next_command: str | None
    reports: int
    memories: Mapping[str, int]
    revision: int
    database: str
    has_database: bool
    is_stale: bool
    is_readable: bool
    warnings: tuple[str, ...]
    checkpoints: SavedPositions
    events: tuple[HistoryEvent, ...]
    reported: Mapping[str, tuple[str, ...]]
    stopped: frozenset[str]
    resources: tuple[str, ...]
    is_elsewhere: bool
    round: Round
    waiting: tuple[Waiting, ...]
    claims: RoundClaims
    parts: Parts
    plan_note: str | None = None

    @property
    def tasks(self) -> tuple[TaskStanding, ...]:
        """All tasks in the order of the plan."""
        return tuple(task for wave in self.waves for task in wave.tasks)

    def to_dict(self) -> dict[str, Any]:
        """Return the status as JSON values."""
        done = sum(task.status == "done" for task in self.tasks)
        return {
            "exists": self.exists,
            "parts": asdict(self.parts),
            "offers": list(self.parts.beginnings()),
            "project": self.project,
            "profile": self.profile,
            "phase": self.phase,
            "round": {
                "number": self.round.number,
                "name": self.round.name,
                "is_open": self.round.is_open,
                "outcome": self.round.outcome,
            },
            "waiting": [each.to_dict() for each in self.waiting[:_MOST_SHOWN]],
            "waiting_omitted": max(0, len(self.waiting) - _MOST_SHOWN),
            "spec_locked": self.spec_locked,
            "interview_complete": self.interview_complete,
            "acceptance_confirmed": self.accepted,
            "gates": [
                {
                    "gate": gate.gate.value,
                    "before": GATES[gate.gate].before,
                    "passed": gate.passed,
                    "missing": list(gate.missing),
                    "sentence": gate.sentence,
                    "command": gate.command,
                }
                for gate in self.gates
            ],
            "progress": {
                "current_wave": self.current_wave,
                "total_waves": len(self.waves),
                "done_tasks": done,
                "total_tasks": len(self.tasks),
            },
            "waves": [wave.to_dict() for wave in self.waves],
            "reported": {status: list(tasks) for status, tasks in self.reported.items()},
            "blockers": list(self.blockers),
            "decisions": list(self.decisions),
            "verifications": [
                {"wave": each.wave, "name": each.name, "status": each.status, "detail": each.detail}
                for each in self.verifications
            ],
            "drift": [finding.to_dict() for finding in self.drift],
            "conflicts": [{"path": each.path, "ours": each.ours} for each in self.conflicts],
            "unreadable": list(self.unreadable),
            "gate_ahead": self.gate_ahead.gate.value if self.gate_ahead is not None else None,
            "next_command": self.next_command,
            "claims": self.claims.to_dict(),
            "reports": self.reports if self.is_readable else None,
            "memories": dict(self.memories) if self.is_readable else None,
            "revision": self.revision if self.is_readable else None,
            "database": {
                "place": self.database,
                "exists": self.has_database,
                "files_behind": self.is_stale,
                "resources": list(self.resources),
            },
            "warnings": list(self.warnings),
            "checkpoints": self.checkpoints.to_dict(),
            "events": [
                {"day": each.day, "time": each.time, "text": each.text} for each in self.events
            ],
        }

    def to_markdown(self, *, waves: Collection[int] | None = None, for_agent: bool = False) -> str:
        """Return the status: messages in the visual style, with a final line feed.

        `waves` are the numbers of those whose tasks are listed, None for all. `for_agent`: what
        waits names the call by which the agent has the person asked, not a command of a terminal.
        """
        gate = self.gate_ahead
        if self.is_elsewhere:
            messages = [notice("Status", _ELSEWHERE)]
        elif not self.parts.project:
            used = ", ".join(self.parts.used)
            messages = [
                notice("Status", f"In use: {used}" if used else "Nothing is in use here yet.")
            ]
        else:
            messages = [
                status_display(
                    project=self.project or "unnamed",
                    interview_complete=bool(self.interview_complete),
                    interview_skipped=any(
                        each.gate is GateName.DISCOVERY and each.bypass is not None
                        for each in self.gates
                    ),
                    spec_locked=bool(self.spec_locked),
                    accepted=bool(self.accepted),
                    next_command=self.next_command,
                )
            ]

        if self.parts.project:
            messages.append(_progress(self, waves))
        if gate is not None and not gate.passed:
            messages.append(
                gate_blocked(gate.sentence or "", command=gate.command, details=gate.missing)
            )

        # With a plan its waves show the tasks.
        reported: dict[str, list[str]] = {}
        for name, ids in self.reported.items() if not self.waves else ():
            for id in ids:
                reported.setdefault("blocked" if id in self.stopped else name, []).append(id)
        tasks = [f"{name}: {', '.join(_first(ids))}" for name, ids in reported.items()]
        events = [f"{each.time or each.day}: {each.text}" for each in self.events]
        saved, checkpoints = self.checkpoints, list[str]()
        if saved.newest is not None:
            phase = f", phase {saved.phase}" if saved.phase is not None else ""
            checkpoints.append(
                f"{saved.number} saved; the newest is {saved.newest} ({saved.saved_at}{phase})"
            )

        waiting = [each.for_agent if for_agent else each.sentence for each in self.waiting]
        # A blocker that waits for a decision is shown with what answers it.
        shown = " ".join(each.summary for each in self.waiting)

        for title, lines in (
            ("Waiting for a Person" if for_agent else "Waiting for You", waiting),
            ("Reported Tasks", tasks),
            ("Claims", _claims(self.claims)),
            ("Blockers", [each for each in self.blockers if each not in shown]),
            ("Decisions", self.decisions),
            ("Verifications", _verifications(self.verifications)),
            ("Drift", _drift(self)),
            ("Checkpoints", checkpoints),
            ("Latest Events", events),
            ("Not in Use", self.parts.beginnings(for_agent=for_agent)),
            ("Database", _database(self)),
        ):
            if lines:
                messages.append(notice(title, *_first(lines)))

        return "\n\n".join(messages) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """The records of the database other than the reports themselves."""

    reports: int
    memories: Mapping[str, int]
    conflicts: tuple[Conflict, ...]
    is_stale: bool
    parts: Parts
    older_copy: OlderCopy | None = None
    waiting: tuple[Waiting, ...] = ()
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    is_readable: bool = True


_NOTHING_KEPT = _Kept(reports=0, memories={}, conflicts=(), is_stale=False, parts=Parts())


def project_status(
    project_context: ProjectContext,
    *,
    snapshot: ProjectSnapshot | None = None,
    are_judged: bool = False,
) -> ProjectStatus:
    """Return the status of the project, as `snapshot` shows it if a caller has one.

    `are_judged` states that hooks judge reports here. Changes and creates nothing; an unreadable
    database is a warning.
    """
    # Project and database are read in one snapshot, so that a report that is recorded meanwhile is
    # in all of them or in none.
    try:
        snapshot = snapshot or take_snapshot(project_context)
        kept = _kept(project_context, snapshot, are_judged=are_judged)
        has_database, errors = project_context.store.exists(), list[str]()
    except StoreError as error:
        # Without the database, what the files say is still true, and a person who looks for the
        # reason needs it most then.
        snapshot = ProjectSnapshot(project=read_project(project_context.files))
        saved = read_checkpoints(project_context.files)
        parts = Parts(project=snapshot.project.has_begun)
        kept = replace(_NOTHING_KEPT, checkpoints=saved, is_readable=False, parts=parts)
        has_database = True
        errors = [str(error)]

    project, facts, state = snapshot.project, snapshot.facts, snapshot.project.state
    checkpoints, history = kept.checkpoints, read_history(project_context.files)
    gates = tuple(judge_gate(name, facts) for name in SHOWN_GATES)
    ahead = gate_ahead(project, facts)
    records = snapshot.records
    # A failed task is open as well; listed once, it is where it needs attention.
    still_open = tuple(task for task in records.open if task not in records.failed)
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
        waves=_waves(snapshot),
        blockers=records.blockers,
        decisions=tuple(map(str, snapshot.decisions[: -_MOST_SHOWN - 1 : -1])),
        verifications=project.work.verifications if project.work is not None else (),
        drift=snapshot.drift,
        conflicts=kept.conflicts,
        unreadable=(*project.unreadable, *checkpoints.errors, *history.errors),
        gate_ahead=ahead,
        next_command=next_command(project, ahead),
        reports=kept.reports,
        memories=kept.memories,
        revision=snapshot.report_index.revision,
        database=project_context.store.location,
        has_database=has_database,
        is_stale=kept.is_stale,
        is_readable=kept.is_readable,
        warnings=(
            *project_context.store.warnings,
            *([] if kept.older_copy is None else [str(kept.older_copy)]),
            *errors,
        ),
        checkpoints=_saved_positions(checkpoints),
        events=history.events,
        stopped=records.stopped,
        reported={"done": records.done, "failed": records.failed, "open": still_open},
        resources=tuple(
            path for name, path in project.paths.items() if path in project_context.addresses(name)
        ),
        # Where no report and no document was recorded, there is no project anywhere yet.
        is_elsewhere=not (project_context.writes_files or project.exists)
        and (kept.reports > 0 or bool(project.paths)),
        round=snapshot.round,
        waiting=kept.waiting,
        claims=snapshot.claims,
        parts=kept.parts,
        plan_note=_plan_note(snapshot),
    )
    if status.is_elsewhere:
        status = replace(status, parts=replace(status.parts, project=None))
    if not status.parts.project:
        # Without state and documents these values would only be guesses, or ask for a project that
        # nobody wants.
        status = replace(
            status,
            spec_locked=None,
            interview_complete=None,
            accepted=None,
            gates=(),
            gate_ahead=None,
            next_command=None,
            plan_note="No plan is known here.",
        )

    # Last, over the whole: names from documents, reports and paths of this machine are in it.
    shareable, _ = redact_structure(status)

    return shareable


def _saved_positions(checkpoints: Checkpoints) -> SavedPositions:
    positions = SavedPositions(number=len(checkpoints.found) + checkpoints.unopened)
    newest = checkpoints.newest
    if newest is None:
        return positions

    at = newest.saved_at.isoformat(timespec="seconds")
    return replace(positions, newest=newest.id, saved_at=at, phase=newest.phase)


def _kept(project_context: ProjectContext, snapshot: ProjectSnapshot, *, are_judged: bool) -> _Kept:
    def ask(reading: ReadTransaction) -> _Kept:
        shows = project_context.writes_files
        # Documents of a server without the folder are read from the database, and cannot be newer.
        older = older_copy_of(reading, project_context.files if shows else None)
        return _Kept(
            reports=reading.report_count(),
            memories=_memory_counts(project_context.store, reading),
            conflicts=open_conflicts(reading) if shows else (),
            # Files that are newer than the database lack nothing.
            is_stale=shows
            and (older is None or older.used < reading.revision())
            and lacks_events(reading, project_context.files),
            parts=parts_in_use(project_context, reading, are_judged=are_judged),
            older_copy=older,
            waiting=waiting_in(reading, snapshot),
            checkpoints=read_checkpoints(project_context.files)
            if shows
            else read_shared_checkpoints(reading, project_context.files),
        )

    # Asking must not create the database.
    if not project_context.store.exists():
        parts = parts_in_use(project_context, None, are_judged=are_judged)
        saved = read_checkpoints(project_context.files)
        return replace(_NOTHING_KEPT, checkpoints=saved, parts=parts)
    return project_context.store.read(ask)


def _memory_counts(store: Store, reading: ReadTransaction) -> Mapping[str, int]:
    """Return how many memories of each type there are, counted once for each revision.

    Counting reads every row, and pages in a browser ask at each change and each visit.
    """
    newest = reading.memories(MemoryFilter(), limit=1)
    # A restored database may have the same revision as the one before.
    state = (reading.revision(), newest[0].uid if newest else None)
    known = _counted.get(store)
    if known is not None and known[0] == state:
        return known[1]

    counts = {str(type): number for type, number in reading.memory_counts().items()}
    _counted[store] = (state, counts)
    return counts


def _waves(snapshot: ProjectSnapshot) -> tuple[WaveStanding, ...]:
    blueprint, records = snapshot.project.blueprint, snapshot.records
    if blueprint is None:
        return ()

    standing = records.standings
    numbers = sorted({task.id.wave for task in blueprint.tasks})
    names = {wave.number: wave.name for wave in blueprint.waves}

    tasks: dict[int, list[TaskStanding]] = {number: [] for number in numbers}
    for task in blueprint.tasks:
        status = standing.get(str(task.id), "pending")
        # What a done task waited for does not matter any more.
        before = dict.fromkeys(map(str, task.depends_on)) if status != "done" else {}
        tasks[task.id.wave].append(
            TaskStanding(
                id=str(task.id),
                name=task.name,
                status=status,
                waits_for=tuple(each for each in before if standing.get(each) != "done"),
            )
        )

    return tuple(
        WaveStanding(number=number, name=names.get(number, ""), tasks=tuple(tasks[number]))
        for number in numbers
    )


def _plan_note(snapshot: ProjectSnapshot) -> str | None:
    project = snapshot.project
    if project.blueprint is not None and project.blueprint.tasks:
        return None
    if (round := snapshot.facts.left_over.get(BLUEPRINT)) is not None:
        return f"{BLUEPRINT} still is the plan of round {round}; /goop-plan replaces it."
    if BLUEPRINT in project.paths:
        return f"{BLUEPRINT} holds no tasks that can be read; /goop-plan writes them."
    return f"There is no plan yet: /goop-plan writes {BLUEPRINT} with waves and tasks."


def _first(lines: Sequence[str]) -> list[str]:
    """Return the first twenty of `lines`, and the number of those left out."""
    more = len(lines) - _MOST_SHOWN
    return [*lines[:_MOST_SHOWN], *([f"… and {more} more"] if more > 0 else [])]


def _progress(status: ProjectStatus, waves: Collection[int] | None) -> str:
    tasks = status.tasks
    listed = [
        task
        for wave in status.waves
        if waves is None or wave.number in waves
        for task in wave.tasks
    ]
    done = [TaskLine(_number(task), task.name) for task in listed if task.status == "done"]
    begun = [
        TaskLine(
            _number(task),
            f"{task.name} ({'blocked' if task.id in status.stopped else task.status})",
        )
        for task in listed
        if task.status in ("open", "failed")
    ]

    return progress(
        phase=status.phase or "–",
        wave=Position(status.current_wave, len(status.waves) or None),
        task=Position(sum(task.status == "done" for task in tasks), len(tasks) or None),
        completed=done,
        in_progress=begun,
    )


def _number(task: TaskStanding) -> str:
    """Return the id in short form: 2.3 for W2.T3."""
    return task.id.removeprefix("W").replace(".T", ".")


def _drift(status: ProjectStatus) -> list[str]:
    icons = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.INFO: "ℹ"}
    lines = [
        f"{icons[finding.severity]} {finding.message} ({finding.rule})" for finding in status.drift
    ]
    lines += [
        f"⚠️ {each.path} was changed where it is ours; ours is in {each.ours}"
        for each in status.conflicts
    ]

    return lines + [f"⚠️ {sentence}" for sentence in status.unreadable]


def _claims(claims: RoundClaims) -> list[str]:
    """Return what the work rests on, as soon as any is reported."""
    lines = [claims.about_must_haves] if claims.must_haves or claims.report is not None else []
    return lines + ([] if claims.tasks is None else [f"tasks: {claims.about_tasks}"])


def _verifications(checks: Sequence[CheckRecord]) -> list[str]:
    icons = {"passed": "✓", "failed": "❌"}
    return [
        f"{icons.get(each.status, '–')} {each.name}: {each.status}"
        + (f" (wave {each.wave})" if each.wave is not None else "")
        + (f": {excerpt(each.detail, _SHOWN_DETAIL)}" if each.detail else "")
        for each in checks
    ]


def _database(status: ProjectStatus) -> list[str]:
    if not status.is_readable:
        return [f"⚠️ {sentence}" for sentence in status.warnings]

    counts = (
        ", ".join(f"{number} {type}" for type, number in sorted(status.memories.items())) or "none"
    )
    lines = [
        (
            f"{status.database}: revision {status.revision},"
            f" {counted_noun(status.reports, 'report')}, memories: {counts}"
            if status.has_database
            else f"{status.database} does not exist yet; the first report or memory creates it"
        )
    ]
    if status.resources:
        lines.append(
            f"shown at {', '.join(status.resources)}; no file is written, as many machines share"
            " the database"
        )

    if status.is_stale:
        lines.append("⚠️ the files do not show all records yet; the next change updates them")

    return lines + [f"⚠️ {sentence}" for sentence in status.warnings]

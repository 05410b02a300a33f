"""Read goopspec.db, the state of GoopSpec 1.x: workflows, waves, checks and blockers.

The file belongs to another program and is never written.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from goop_mcp.errors import PathRefusedError, StoreError
from goop_mcp.workflow.task_ids import TaskId
from goop_mcp.workspace.documents.blueprint import Blueprint, BlueprintTask, Wave
from goop_mcp.workspace.files import FileKind, ProjectFiles
from goop_mcp.workspace.layout import FOLDER, GOOPSPEC_DATABASE
from goop_mcp.workspace.report_index import Blocker, Records

if TYPE_CHECKING:
    import apsw

__all__ = [
    "CheckRecord",
    "PlannedWave",
    "WaveTask",
    "WorkRecords",
    "plan_of",
    "read_state_text",
    "read_work",
    "with_work",
]

T = TypeVar("T")
_Row: TypeAlias = Sequence[object]

_PATH = f"{FOLDER}/{GOOPSPEC_DATABASE}"
_META = "_meta"
_LONGEST_STATE = 64 * 1024
_DONE = frozenset({"done", "completed", "complete"})
_PASSED, _FAILED = "passed", "failed"
# Queries cut texts and limit rows, because any program may have written the file.
_WORKFLOWS = "SELECT id, state FROM workflows ORDER BY id LIMIT 200"
_WAVES = """
    SELECT id, wave_number, substr(coalesce(title, ''), 1, 2000) FROM waves
    WHERE workflow_id = ? ORDER BY wave_number LIMIT 500
"""
_TASKS = """
    SELECT wave_id, task_index, substr(coalesce(description, ''), 1, 2000),
        substr(coalesce(agent, ''), 1, 200), lower(trim(status))
    FROM wave_tasks WHERE workflow_id = ? ORDER BY wave_id, task_index LIMIT 5000
"""
_CHECKS = """
    SELECT wave_id, substr(check_name, 1, 200), substr(lower(trim(status)), 1, 40),
        substr(coalesce(detail, ''), 1, 2000)
    FROM verifications WHERE workflow_id = ? ORDER BY id DESC LIMIT 500
"""
_BLOCKERS = """
    SELECT substr(description, 1, 2000), substr(coalesce(severity, ''), 1, 40) FROM blockers
    WHERE workflow_id = ? AND lower(trim(status)) = 'open' ORDER BY id LIMIT 500
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveTask:
    """A task of a wave; `is_done` and `is_open` (begun) are both False for a pending one."""

    number: int
    name: str
    agent: str | None
    is_done: bool
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWave:
    """A wave and its tasks."""

    number: int
    name: str
    tasks: tuple[WaveTask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRecord:
    """The last result of a check; `wave` is None for a check of the whole workflow.

    `status` is that of GoopSpec.
    """

    wave: int | None
    name: str
    status: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRecords:
    """The records of one workflow; `blockers` are the open ones."""

    waves: tuple[PlannedWave, ...] = ()
    verifications: tuple[CheckRecord, ...] = ()
    blockers: tuple[str, ...] = ()

    @property
    def done(self) -> tuple[str, ...]:
        """The ids, in our spelling, of the tasks that are done."""
        return self._ids(lambda task: task.is_done)

    @property
    def begun(self) -> tuple[str, ...]:
        """The ids of the tasks that are begun and not done."""
        return self._ids(lambda task: task.is_open)

    @property
    def failed(self) -> tuple[CheckRecord, ...]:
        """The checks whose last result is a failure."""
        return tuple(each for each in self.verifications if each.status == _FAILED)

    @property
    def verified(self) -> bool:
        """Whether there are checks, and each of them has passed."""
        return bool(self.verifications) and all(
            each.status == _PASSED for each in self.verifications
        )

    def _ids(self, wanted: Callable[[WaveTask], bool]) -> tuple[str, ...]:
        return tuple(
            f"W{wave.number}.T{task.number}"
            for wave in self.waves
            for task in wave.tasks
            if wanted(task)
        )


def read_state_text(files: ProjectFiles) -> str | None:
    """Return the workflows as a state.json of version 2; None without database or workflow.

    Raises StoreError if the database cannot be read.
    """

    def ask(rows: "_Rows") -> str | None:
        found = rows.of("workflows", _WORKFLOWS)
        states = {str(id): _object(state) for id, state in found}
        meta = states.pop(_META, {})
        if not states:
            return None

        active = meta.get("activeWorkflowId")
        active = (
            active if isinstance(active, str) and active in states else next(iter(sorted(states)))
        )

        return json.dumps({"version": 2, "activeWorkflowId": active, "workflows": states})

    return _read(files, ask, None)


def read_work(files: ProjectFiles, workflow: str) -> WorkRecords | None:
    """Return waves, checks and blockers of `workflow`, None without database. Raises StoreError."""

    def ask(rows: "_Rows") -> WorkRecords:
        waves = rows.of("waves", _WAVES, workflow)
        tasks = rows.of("wave_tasks", _TASKS, workflow)
        numbers = {id: number for id, number, _ in waves}
        last: dict[tuple[object, object], CheckRecord] = {}

        # The newest results come first, and of each check only that one counts.
        for wave, name, status, detail in rows.of("verifications", _CHECKS, workflow):
            number = numbers.get(wave)
            check = CheckRecord(
                wave=number if isinstance(number, int) else None,
                name=str(name),
                status=str(status),
                detail=str(detail),
            )
            last.setdefault((wave, name), check)

        blockers = [
            f"{text} ({severity})" if severity else str(text)
            for text, severity in rows.of("blockers", _BLOCKERS, workflow)
            if text
        ]

        planned = []
        for id, wave_number, title in waves:
            if not isinstance(wave_number, int):
                continue

            own = [
                WaveTask(
                    number=index,
                    name=str(name),
                    agent=str(agent) or None,
                    is_done=status in _DONE,
                    is_open=status == "in_progress",
                )
                for wave, index, name, agent, status in tasks
                if wave == id and isinstance(index, int)
            ]
            planned.append(PlannedWave(number=wave_number, name=str(title), tasks=tuple(own)))

        return WorkRecords(
            waves=tuple(planned),
            verifications=tuple(reversed(last.values())),
            blockers=tuple(blockers),
        )

    return _read(files, ask, None)


def plan_of(work: WorkRecords, written: Blueprint | None) -> Blueprint | None:
    """Return the plan with the waves of the database and the details of `written`, BLUEPRINT.md."""
    if not work.waves:
        return written

    plan = written if written is not None else Blueprint(name=None, mapping={})
    waves = []

    for wave in work.waves:
        tasks = []
        for task in wave.tasks:
            id = TaskId(wave=wave.number, task=task.number)
            known = plan.task(str(id))
            name = task.name.partition("\n")[0]
            new = BlueprintTask(id=id, name=name, line=1, executor=task.agent)
            tasks.append(new if known is None else replace(known, id=id, name=name or known.name))

        waves.append(Wave(number=wave.number, name=wave.name, line=1, tasks=tuple(tasks)))

    return replace(plan, waves=tuple(waves), loose_tasks=())


def with_work(records: Records, work: WorkRecords | None) -> Records:
    """Return `records` combined with the database; the report of a task takes precedence."""
    if work is None:
        return records

    done = [task for task in work.done if task not in records.open]
    begun = [task for task in work.begun if task not in records.done]
    # The database does not say which task a blocker belongs to: its text identifies it.
    known = {each.text for each in records.blocked.values()}
    theirs = {text: Blocker(text, 0) for text in work.blockers if text not in known}

    return replace(
        records,
        done=tuple(dict.fromkeys((*records.done, *done))),
        open=tuple(dict.fromkeys((*records.open, *begun))),
        blocked={**records.blocked, **theirs},
        verified=records.verified or work.verified,
    )


def _object(text: object) -> Mapping[str, object]:
    if not isinstance(text, str) or len(text) > _LONGEST_STATE:
        return {}

    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return {}

    return values if isinstance(values, dict) else {}


class _Rows:
    """The rows of the plain tables of a database.

    A view or virtual table counts as empty: reading it would run code from the file.
    """

    def __init__(self, connection: "apsw.Connection") -> None:
        self._connection = connection
        tables = connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'table'"
        ).fetchall()
        self._tables = {
            name
            for name, sql in tables
            if not str(sql).lstrip().upper().startswith("CREATE VIRTUAL")
        }

    def of(self, table: str, query: str, *values: str) -> list[_Row]:
        return list(self._connection.execute(query, values)) if table in self._tables else []


def _read(files: ProjectFiles, ask: Callable[[_Rows], T], absent: T) -> T:
    # A path that may not be followed counts as no database; the state is then read from the file.
    try:
        if files.kind(_PATH) is not FileKind.FILE:
            return absent

        place = files.root.joinpath(*files.resolve(_PATH))
    except PathRefusedError:
        return absent

    # Loaded here, because only projects of GoopSpec 1.x need a database for this.
    from goop_mcp.store.sqlite.read_only import read_only  # noqa: PLC0415

    try:
        return read_only(place, lambda connection: ask(_Rows(connection)))
    except UnicodeDecodeError:
        raise StoreError(
            f"{GOOPSPEC_DATABASE} cannot be read: it holds text that is not UTF-8"
        ) from None

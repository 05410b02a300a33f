"""Read state.json, which has four shapes, into one value."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from goop_mcp.errors import DocumentUnreadableError, StoreError
from goop_mcp.validation.expectations import Profile
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workflow.phases import PHASES
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.goopspec_database import read_state_text
from goop_mcp.workspace.json_text import JsonDefect, line_and_column, members, parse_object
from goop_mcp.workspace.layout import STATE, document_path

__all__ = [
    "PendingTask",
    "ProjectState",
    "StateDefect",
    "StateShape",
    "parse_state",
    "read_state",
    "snake_case",
]

_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {"acceptanceConfirmed": ("user_accepted",)}


class StateShape(StrEnum):
    """The form of a file. Only VERSION_1 is ever written."""

    VERSION_1 = "version 1"
    VERSION_2 = "version 2, like version 1 with a map of workflows"
    VERSION_2_WORKFLOWS = "version 2, workflows only"
    BEFORE_VERSION_1 = "older than version 1"
    UNKNOWN = "an unknown version"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTask:
    """A task of `execution.pendingTasks`; `status` is pending, in_progress, completed or failed."""

    id: str
    name: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectState:
    """The content of state.json; an absent key has the default of the packages.

    `phase` is the text as found, in lower case. `revision` is a key of the file, None if another
    program removed it. `token` identifies exactly these bytes, for a change of what was read.
    `text` is the whole file.
    """

    shape: StateShape
    profile: Profile
    phase: str
    token: str
    text: str
    revision: int | None = None
    project: str | None = None
    mode: str | None = None
    depth: str = "standard"
    spec_locked: bool = False
    acceptance_confirmed: bool = False
    interview_complete: bool = False
    verification_passed: bool = False
    manual_override: bool = False
    autopilot: bool = False
    current_wave: int = 0
    total_waves: int = 0
    last_activity: str | None = None
    active_checkpoint: str | None = None
    workflow_id: str | None = None
    completed_phases: tuple[str, ...] = ()
    pending_tasks: tuple[PendingTask, ...] = ()

    @property
    def writable(self) -> bool:
        """Whether this program may change the file."""
        return self.shape is StateShape.VERSION_1


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDefect:
    """Why state.json cannot be read: a message, with line and column from 1.

    Both are 0 where nothing was read, such as of a file that may not be opened.
    """

    message: str
    line: int
    column: int


_Values: TypeAlias = Mapping[str, JsonValue]


def read_state(
    files: ProjectFiles, *, session: str | None = None, stored: str | None = None
) -> ProjectState | StateDefect | None:
    """Return the state of the project, the defect of its state.json, or None without one.

    With `session` it is the state of that named session. `stored` is the text of the state that a
    shared database keeps, which takes precedence over everything in the folder. A project of
    GoopSpec 1.x has its state in goopspec.db, which takes precedence over the file. Nothing is
    changed. Raises PathRefusedError if the file is outside the project.
    """
    if stored is not None:
        return parse_state(stored)

    try:
        of_goopspec = read_state_text(files) if session is None else None
    except StoreError as error:
        return StateDefect(message=str(error), line=0, column=0)

    if of_goopspec is not None:
        return parse_state(of_goopspec)

    try:
        text = files.read_text(document_path(STATE, session=session))
    except DocumentUnreadableError as error:
        return StateDefect(message=str(error), line=0, column=0)

    return None if text is None else parse_state(text)


def parse_state(text: str) -> ProjectState | StateDefect:
    """Return the state in the text of a state.json, or its defect.

    A wrong type of a key that decisions depend on makes the file unreadable: a lock that is neither
    true nor false must not count as open.
    """
    parsed = parse_object(text)
    if isinstance(parsed, JsonDefect):
        return StateDefect(message=parsed.message, line=parsed.line, column=parsed.column)

    reader = _Reader(parsed)
    state = reader.state(text)
    if reader.wrong is None:
        return state

    # The position is that of the value, or of the last object on its path that exists.
    keys, expected = reader.wrong
    at: int | None = None
    for key in keys:
        found = next((member for member in members(text, at) if member.key == key), None)
        if found is None:
            break

        at = found.start
        if text[at] != "{":
            break

    line, column = line_and_column(text, at or 0)

    return StateDefect(message=f"{'.'.join(keys)} is not {expected}", line=line, column=column)


def snake_case(key: str) -> str:
    """Return a camelCase key in the spelling of some files: specLocked as spec_locked."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)


class _Reader:
    """Looks up keys in a parsed file and records the first one with a wrong type."""

    def __init__(self, values: _Values) -> None:
        self.values = values
        self.wrong: tuple[tuple[str, ...], str] | None = None

        version = values.get("version")
        # A map of workflows is part of version 2, whatever the number in the file.
        workflows = isinstance(values.get("workflows"), Mapping)
        if "activeWorkflowId" in values:
            self.shape = StateShape.VERSION_2_WORKFLOWS
        elif "project_state" in values or "version" not in values:
            self.shape = StateShape.BEFORE_VERSION_1
        elif isinstance(version, bool) or version not in (1, 2):
            self.shape = StateShape.UNKNOWN
        elif version == 2 or workflows:  # noqa: PLR2004
            self.shape = StateShape.VERSION_2
        else:
            self.shape = StateShape.VERSION_1

        # The path of keys to the object with the state of the workflow. Some files have a part of
        # its keys at the top level, which is searched second.
        path: tuple[str, ...] = ("workflow",)
        if self.shape is StateShape.VERSION_2_WORKFLOWS:
            path = ("workflows", _as_text(values.get("activeWorkflowId")) or "default")
        elif self.shape is StateShape.BEFORE_VERSION_1:
            path = ("project_state",) if "project_state" in values else ()

        self.objects = [(path, self._object(path)), *([((), values)] if path else [])]

    def state(self, text: str) -> ProjectState:
        phase = (self._text("phase") or "idle").strip().lower()
        revision = self.values.get("revision")
        revision = (
            revision if isinstance(revision, int) and not isinstance(revision, bool) else None
        )
        execution = self._object(("execution",))
        is_v1 = self.shape is StateShape.VERSION_2_WORKFLOWS or (
            phase in PHASES["v1"] and phase not in PHASES["0.x"]
        )
        # The hash is always part of the token: another program may keep our revision and change
        # the rest of the file.
        token_digest = hashlib.sha256(text.encode()).hexdigest()[:16]

        return ProjectState(
            shape=self.shape,
            profile="v1" if is_v1 else "0.x",
            phase=phase,
            token=token_digest if revision is None else f"{revision}-{token_digest}",
            text=text,
            revision=revision,
            project=_as_text(self._object(("project",)).get("name")),
            mode=self._text("mode"),
            depth=self._text("depth") or "standard",
            spec_locked=self._flag("specLocked"),
            acceptance_confirmed=self._flag("acceptanceConfirmed"),
            interview_complete=self._flag("interviewComplete"),
            verification_passed=self._flag("verificationPassed"),
            manual_override=self._flag("manualOverride"),
            autopilot=self._flag("autopilot"),
            current_wave=self._count("currentWave"),
            total_waves=self._count("totalWaves"),
            last_activity=self._text("lastActivity"),
            active_checkpoint=_as_text(execution.get("activeCheckpointId")),
            workflow_id=_as_text(self.values.get("activeWorkflowId")) or self._text("workflowId"),
            completed_phases=tuple(
                each for each in _as_list(execution.get("completedPhases")) if isinstance(each, str)
            ),
            pending_tasks=tuple(
                PendingTask(
                    id=_as_text(each.get("id")) or "",
                    name=_as_text(each.get("name")) or "",
                    status=_as_text(each.get("status")) or "pending",
                )
                for each in _as_list(execution.get("pendingTasks"))
                if isinstance(each, Mapping)
            ),
        )

    def _object(self, path: tuple[str, ...]) -> _Values:
        value: JsonValue = self.values
        for depth, key in enumerate(path, start=1):
            value = value.get(key, {}) if isinstance(value, Mapping) else {}
            if not isinstance(value, Mapping):
                self._record_wrong(path[:depth], "an object")
                return {}

        return value if isinstance(value, Mapping) else {}

    def _find(self, key: str) -> tuple[tuple[str, ...], JsonValue]:
        for path, values in self.objects:
            for name in (key, snake_case(key), *_OTHER_NAMES.get(key, ())):
                if name in values:
                    return (*path, name), values[name]
        return (), None

    def _flag(self, key: str) -> bool:
        keys, value = self._find(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        self._record_wrong(keys, "true or false")
        return False

    def _count(self, key: str) -> int:
        keys, value = self._find(key)
        if value is None:
            return 0
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value

        self._record_wrong(keys, "an integer from 0")
        return 0

    def _text(self, key: str) -> str | None:
        keys, value = self._find(key)
        if value is None or isinstance(value, str):
            return value
        self._record_wrong(keys, "a text")
        return None

    def _record_wrong(self, keys: tuple[str, ...], expected: str) -> None:
        self.wrong = self.wrong or (keys, expected)


def _as_text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def _as_list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()

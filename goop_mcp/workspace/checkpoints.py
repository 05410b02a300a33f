"""Read and write the saved positions of a project, `.goopspec/checkpoints/<id>.json`.

No specification defines their form, so any JSON object is accepted.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from goop_mcp.errors import WorkspaceError
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.json_text import JsonDefect, parse_object
from goop_mcp.workspace.layout import CHECKPOINTS_FOLDER
from goop_mcp.workspace.state import ProjectState

__all__ = [
    "MOST_BYTES",
    "MOST_READ",
    "Checkpoint",
    "Checkpoints",
    "checkpoint_id",
    "checkpoint_path",
    "checkpoint_text",
    "read_checkpoint",
    "read_checkpoints",
]

MOST_READ = 50
"""How many checkpoints are opened, the last changed ones first."""

MOST_BYTES = 1024 * 1024
"""Size of the largest checkpoint that is opened, in bytes; a typical one has some kilobytes."""

_SUFFIX = ".json"
_TIMES = ("timestamp", "createdAt", "created_at", "savedAt", "saved_at", "time")
_INSIDE = ("state", "workflow")
_MILLISECONDS_FROM = 100_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One saved position.

    `saved_at` is the time it states, else the modification time of its file. `round`, `wave`,
    `task` and `note` are None unless goop-mcp has written it.
    """

    id: str
    path: str
    saved_at: datetime
    phase: str | None = None
    round: int | None = None
    wave: int | None = None
    task: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """The checkpoints of a project, newest first.

    `errors` are messages about unreadable files; `unopened` counts files beyond the limit.
    """

    found: tuple[Checkpoint, ...] = ()
    errors: tuple[str, ...] = ()
    unopened: int = 0

    @property
    def newest(self) -> Checkpoint | None:
        """The readable checkpoint that was saved last, None without one."""
        return self.found[0] if self.found else None


@dataclass(frozen=True, slots=True, order=True)
class _File:
    changed_ns: int
    path: str
    size: int


def checkpoint_path(id: str) -> str:
    """Return the path of the checkpoint `id`."""
    return f"{CHECKPOINTS_FOLDER}/{id}{_SUFFIX}"


def checkpoint_id(*, now: str, revision: int) -> str:
    """Return the id of a checkpoint saved at `now` (ISO 8601); the revision makes it unique."""
    digits = "".join(character for character in now[:19] if character.isdigit())
    return f"cp-{digits[:8]}-{digits[8:]}-{revision}"


def checkpoint_text(
    id: str, *, state: ProjectState, round: int, task: str | None, note: str | None, now: str
) -> str:
    """Return the file of a checkpoint: the position, a note, and state.json as it is."""
    values = {
        "id": id,
        "createdAt": now,
        "phase": state.phase,
        "round": round,
        "wave": state.current_wave,
        "totalWaves": state.total_waves,
        "task": task,
        "note": note,
        "state": json.loads(state.text),
    }
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def read_checkpoint(
    id: str, text: str, *, path: str, changed_ns: int = 0
) -> Checkpoint | JsonDefect:
    """Return the checkpoint in `text`, or why it is none."""
    values = parse_object(text)
    if isinstance(values, JsonDefect):
        return values

    times = (_moment(values.get(key)) for key in _TIMES)
    stated = next((moment for moment in times if moment is not None), None)

    return Checkpoint(
        id=_text(values.get("id")) or id,
        path=path,
        saved_at=stated or datetime.fromtimestamp(changed_ns / 1e9, UTC),
        phase=_phase(values),
        round=_count(values.get("round")),
        wave=_count(values.get("wave")),
        task=_text(values.get("task")),
        note=_text(values.get("note")),
    )


def read_checkpoints(files: ProjectFiles) -> Checkpoints:
    """Read the checkpoints of the project; an unreadable one is an error and stops no other.

    Changes nothing.
    """
    errors: list[str] = []
    candidates = sorted(_candidates(files, errors), reverse=True)
    found: list[Checkpoint] = []

    for file in candidates[:MOST_READ]:
        if file.size > MOST_BYTES:
            errors.append(f"{file.path} has {file.size:,} bytes; expected at most {MOST_BYTES:,}")
            continue

        try:
            text = files.read_text(file.path)
        except WorkspaceError as error:
            errors.append(str(error))
            continue

        # A file that is empty, or went away since it was listed, counts as an empty object.
        id = file.path.rpartition("/")[2].removesuffix(_SUFFIX)
        read = read_checkpoint(id, text or "{}", path=file.path, changed_ns=file.changed_ns)
        if isinstance(read, JsonDefect):
            errors.append(
                f"{file.path} cannot be read at line {read.line}, column {read.column}:"
                f" {read.message}"
            )
        else:
            found.append(read)

    # By the time that each states: a file may have been copied or touched after it was saved.
    found.sort(key=lambda each: each.saved_at, reverse=True)

    return Checkpoints(
        found=tuple(found), errors=tuple(errors), unopened=len(candidates[MOST_READ:])
    )


def _candidates(files: ProjectFiles, errors: list[str]) -> list[_File]:
    """Return the checkpoint files without opening them; append a message for each unusable one."""
    try:
        names = [name for name in files.names(CHECKPOINTS_FOLDER) if name.endswith(_SUFFIX)]
    except WorkspaceError as error:
        errors.append(str(error))
        return []
    except OSError as error:
        errors.append(
            f"{CHECKPOINTS_FOLDER} cannot be read: {(error.strerror or 'unknown reason').lower()}"
        )
        return []

    candidates: list[_File] = []
    for path in (f"{CHECKPOINTS_FOLDER}/{name}" for name in names):
        try:
            stamp = files.stamp(path)
        except WorkspaceError as error:
            errors.append(str(error))
        except OSError as error:
            errors.append(f"{path} cannot be read: {(error.strerror or 'unknown reason').lower()}")
        else:
            if stamp is not None:
                candidates.append(_File(stamp.changed_ns, path, stamp.size))
            else:
                errors.append(f"{path} is not a file; expected a saved position")

    return candidates


def _moment(value: JsonValue) -> datetime | None:
    """Return the time that `value` states, None if it states none.

    Accepts ISO 8601, in UTC without a zone, and seconds or milliseconds since 1970.
    """
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
            return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(
                UTC
            )

        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(
                value / 1000 if value >= _MILLISECONDS_FROM else value, UTC
            )
    except (ValueError, OverflowError, OSError):
        return None  # a text or number that is not a time

    return None


def _phase(values: Mapping[str, JsonValue]) -> str | None:
    """Return the phase of a checkpoint, or of the state inside it."""
    if phase := _text(values.get("phase")):
        return phase

    inside = (values.get(key) for key in _INSIDE)
    return next(
        (phase for each in inside if isinstance(each, Mapping) and (phase := _phase(each))), None
    )


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None

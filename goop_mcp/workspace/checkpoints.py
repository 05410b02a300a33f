"""Saved positions of a project, `.goopspec/checkpoints/<id>.json`.

No form of them is laid down, so all are taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from goop_mcp.errors import WorkspaceError
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.json_text import JsonDefect, parse_object
from goop_mcp.workspace.layout import CHECKPOINTS_FOLDER

__all__ = ["MOST_BYTES", "MOST_READ", "Checkpoint", "Checkpoints", "read_checkpoints"]

MOST_READ = 50
"""How many are opened, those that were changed last."""

MOST_BYTES = 1024 * 1024
"""The largest checkpoint that is opened; a position is some kilobytes."""

_SUFFIX = ".json"
_TIMES = ("timestamp", "createdAt", "created_at", "savedAt", "saved_at", "time")
_INSIDE = ("state", "workflow")
_MILLISECONDS_FROM = 100_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One saved position.

    `saved_at` is the time it tells, else when its file was changed; `phase` may be absent.
    """

    id: str
    path: str
    saved_at: datetime
    phase: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """What lies in the folder: readable ones, newest first; `faults` in words; `unopened` counts those left aside."""

    found: tuple[Checkpoint, ...] = ()
    faults: tuple[str, ...] = ()
    unopened: int = 0

    @property
    def newest(self) -> Checkpoint | None:
        """The readable one that was saved last, None when there is none."""
        return self.found[0] if self.found else None


@dataclass(frozen=True, slots=True, order=True)
class _File:
    changed_ns: int
    path: str
    size: int


def read_checkpoints(files: ProjectFiles) -> Checkpoints:
    """Read the checkpoints of the project; one that cannot be read is a fault and stops no other.

    Changes nothing.
    """
    faults: list[str] = []
    candidates = sorted(_candidates(files, faults), reverse=True)
    read = (_read(files, each, faults) for each in candidates[:MOST_READ])
    found = sorted(
        (each for each in read if each is not None), key=lambda each: each.saved_at, reverse=True
    )

    return Checkpoints(
        found=tuple(found), faults=tuple(faults), unopened=len(candidates[MOST_READ:])
    )


def _candidates(files: ProjectFiles, faults: list[str]) -> list[_File]:
    try:
        names = [name for name in files.names(CHECKPOINTS_FOLDER) if name.endswith(_SUFFIX)]
    except WorkspaceError as error:
        faults.append(str(error))
        return []
    except OSError as error:
        faults.append(
            f"{CHECKPOINTS_FOLDER} cannot be read: {(error.strerror or 'unknown reason').lower()}"
        )
        return []

    candidates = [_file(files, f"{CHECKPOINTS_FOLDER}/{name}", faults) for name in names]
    return [each for each in candidates if each is not None]


def _file(files: ProjectFiles, path: str, faults: list[str]) -> _File | None:
    try:
        stamp = files.stamp(path)
    except WorkspaceError as error:
        faults.append(str(error))
        return None
    except OSError as error:
        faults.append(f"{path} cannot be read: {(error.strerror or 'unknown reason').lower()}")
        return None

    if stamp is None:
        faults.append(f"{path} is no file; expected a saved position")
        return None

    return _File(stamp.changed_ns, path, stamp.size)


def _read(files: ProjectFiles, file: _File, faults: list[str]) -> Checkpoint | None:
    if file.size > MOST_BYTES:
        faults.append(f"{file.path} has {file.size:,} bytes; expected at most {MOST_BYTES:,}")
        return None

    try:
        text = files.read_text(file.path)
    except WorkspaceError as error:
        faults.append(str(error))
        return None

    values = parse_object(text) if text is not None else {}
    if isinstance(values, JsonDefect):
        faults.append(
            f"{file.path} cannot be read at line {values.line}, column {values.column}:"
            f" {values.message}"
        )
        return None

    return Checkpoint(
        id=_text(values.get("id")) or file.path.rpartition("/")[2].removesuffix(_SUFFIX),
        path=file.path,
        saved_at=_saved_at(values) or datetime.fromtimestamp(file.changed_ns / 1e9, UTC),
        phase=_phase(values),
    )


def _saved_at(values: Mapping[str, JsonValue]) -> datetime | None:
    return next(
        (moment for key in _TIMES if (moment := _moment(values.get(key))) is not None), None
    )


def _moment(value: JsonValue) -> datetime | None:
    """Return the time that `value` tells: ISO 8601, UTC where it names no zone, or (milli)seconds since 1970."""
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
        return None  # no time after all; that of the file is taken

    return None


def _phase(values: Mapping[str, JsonValue]) -> str | None:
    """Return the phase that stands in a checkpoint, or in the state it holds."""
    if phase := _text(values.get("phase")):
        return phase

    inside = (values.get(key) for key in _INSIDE)
    return next(
        (phase for each in inside if isinstance(each, Mapping) and (phase := _phase(each))), None
    )


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value else None

"""Read the events of each day, `.goopspec/history/YYYY-MM-DD.json`.

No specification defines their form, so a list in any JSON object is accepted.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from goop_mcp.errors import WorkspaceError
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.json_text import JsonDefect, parse_object
from goop_mcp.workspace.layout import HISTORY_FOLDER

__all__ = ["MOST_BYTES", "MOST_DAYS", "MOST_EVENTS", "History", "HistoryEvent", "read_history"]

MOST_BYTES = 1024 * 1024
"""Size of the largest file that is opened, in bytes."""

MOST_DAYS = 7
"""How many days are opened at most, the newest first."""

MOST_EVENTS = 5
"""How many events are returned, the newest first."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.json")
_SHOWN = 160
# Turns a list into an object, the only form for which the parser reports line and column.
_BEFORE = '{"":'
_TIMES = ("timestamp", "time", "at", "createdAt", "created_at", "date")
_TEXTS = ("message", "summary", "description", "title", "event", "type", "action", "name")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEvent:
    """One event: the day of its file, its time as written, None if absent, and its text."""

    day: str
    time: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The newest events, newest first; `days` counts all files, `errors` name unreadable ones."""

    events: tuple[HistoryEvent, ...] = ()
    days: int = 0
    errors: tuple[str, ...] = ()


def read_history(files: ProjectFiles) -> History:
    """Read the newest events of the project; an unreadable file is an error and stops no other.

    Days are ordered by file name, the events of a day from last to first. Never raises, changes
    nothing.
    """
    try:
        days = sorted(
            (name for name in files.names(HISTORY_FOLDER) if _DAY.fullmatch(name)), reverse=True
        )
    except WorkspaceError as error:
        return History(errors=(str(error),))
    except OSError as error:
        return History(
            errors=(
                f"{HISTORY_FOLDER} cannot be read: {(error.strerror or 'unknown reason').lower()}",
            )
        )

    errors: list[str] = []
    events: list[HistoryEvent] = []

    for name in days[:MOST_DAYS]:
        if len(events) >= MOST_EVENTS:
            break

        events += _events(files, name, errors)

    return History(events=tuple(events[:MOST_EVENTS]), days=len(days), errors=tuple(errors))


def _events(files: ProjectFiles, name: str, errors: list[str]) -> list[HistoryEvent]:
    path = f"{HISTORY_FOLDER}/{name}"
    try:
        stamp = files.stamp(path)
        if stamp is not None and stamp.size > MOST_BYTES:
            errors.append(f"{path} has {stamp.size:,} bytes; expected at most {MOST_BYTES:,}")
            return []

        values = _parsed(files.read_text(path) or "")
    except WorkspaceError as error:
        errors.append(str(error))
        return []
    except OSError as error:
        errors.append(f"{path} cannot be read: {(error.strerror or 'unknown reason').lower()}")
        return []

    if isinstance(values, JsonDefect):
        errors.append(
            f"{path} cannot be read at line {values.line}, column {values.column}: {values.message}"
        )
        return []

    inside = list(values.values()) if isinstance(values, Mapping) else [values]
    listed = next((each for each in inside if isinstance(each, list)), None)
    if listed is None:
        errors.append(
            f"{path} holds no list of events; expected a list of objects, or an object with one"
        )
        return []

    read = (_event(each, name.removesuffix(".json")) for each in reversed(listed[-MOST_EVENTS:]))

    return [each for each in read if each is not None]


def _parsed(text: str) -> "JsonValue | JsonDefect":
    """Return the object or list in `text`, or its defect."""
    text = text.removeprefix("\ufeff")
    if not text.lstrip().startswith("["):
        values = parse_object(text)
        return values if isinstance(values, JsonDefect) else dict(values)

    values = parse_object(f"{_BEFORE}{text}}}")
    if isinstance(values, JsonDefect):
        return (
            replace(values, column=max(1, values.column - len(_BEFORE)))
            if values.line == 1
            else values
        )

    return values[""]


def _event(value: JsonValue, day: str) -> HistoryEvent | None:
    """Return the event in `value`, None if it has no text."""
    if not isinstance(value, Mapping):
        return (
            HistoryEvent(day=day, time=None, text=_short(value))
            if isinstance(value, str) and value.strip()
            else None
        )

    texts = [value[key] for key in _TEXTS if isinstance(value.get(key), str)]
    text = next((_short(each) for each in texts if isinstance(each, str) and each.strip()), None)
    moment = next(
        (each for key in _TIMES if isinstance(each := value.get(key), str) and each.strip()), None
    )

    return (
        None
        if text is None
        else HistoryEvent(day=day, time=_short(moment) if moment is not None else None, text=text)
    )


def _short(text: str) -> str:
    return excerpt(" ".join(text.split()), _SHOWN)

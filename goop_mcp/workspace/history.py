"""Events of a day, `.goopspec/history/YYYY-MM-DD.json`.

No form of them is laid down, so all are taken.
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
"""The largest day that is opened."""

MOST_DAYS = 7
"""How many days are opened at most, the newest first."""

MOST_EVENTS = 5
"""How many events are told, the newest."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.json")
_SHOWN = 160
# Makes a list an object, which is what can be parsed with places.
_BEFORE = '{"":'
_TIMES = ("timestamp", "time", "at", "createdAt", "created_at", "date")
_WORDS = ("message", "summary", "description", "title", "event", "type", "action", "name")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEvent:
    """One event: the day of its file, its time as it was written, None where it tells none, and what happened."""

    day: str
    time: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The newest events, newest first; `days` counts the files of all days, `faults` say what cannot be read."""

    events: tuple[HistoryEvent, ...] = ()
    days: int = 0
    faults: tuple[str, ...] = ()


def read_history(files: ProjectFiles) -> History:
    """Read the newest events of the project; a day that cannot be read is a fault and stops no other.

    The days count by their names, the events of a day from its last to its first. Never raises, changes nothing.
    """
    try:
        days = sorted(
            (name for name in files.names(HISTORY_FOLDER) if _DAY.fullmatch(name)), reverse=True
        )
    except WorkspaceError as error:
        return History(faults=(str(error),))
    except OSError as error:
        return History(
            faults=(
                f"{HISTORY_FOLDER} cannot be read: {(error.strerror or 'unknown reason').lower()}",
            )
        )

    faults: list[str] = []
    events: list[HistoryEvent] = []

    for name in days[:MOST_DAYS]:
        if len(events) >= MOST_EVENTS:
            break

        events += _events(files, name, faults)

    return History(events=tuple(events[:MOST_EVENTS]), days=len(days), faults=tuple(faults))


def _events(files: ProjectFiles, name: str, faults: list[str]) -> list[HistoryEvent]:
    path = f"{HISTORY_FOLDER}/{name}"
    try:
        stamp = files.stamp(path)
        if stamp is not None and stamp.size > MOST_BYTES:
            faults.append(f"{path} has {stamp.size:,} bytes; expected at most {MOST_BYTES:,}")
            return []

        values = _parsed(files.read_text(path) or "")
    except WorkspaceError as error:
        faults.append(str(error))
        return []
    except OSError as error:
        faults.append(f"{path} cannot be read: {(error.strerror or 'unknown reason').lower()}")
        return []

    if isinstance(values, JsonDefect):
        faults.append(
            f"{path} cannot be read at line {values.line}, column {values.column}: {values.message}"
        )
        return []

    listed = _listed(values)
    if listed is None:
        faults.append(
            f"{path} holds no list of events; expected a list of objects, or an object with one"
        )
        return []

    read = (_event(each, name.removesuffix(".json")) for each in reversed(listed[-MOST_EVENTS:]))

    return [each for each in read if each is not None]


def _parsed(text: str) -> "JsonValue | JsonDefect":
    """Return the object or list that `text` is, or where it is broken."""
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


def _listed(values: JsonValue) -> "list[JsonValue] | None":
    """Return the list of events: the value itself, or the first list that an object holds."""
    inside = list(values.values()) if isinstance(values, Mapping) else [values]
    return next((each for each in inside if isinstance(each, list)), None)


def _event(value: JsonValue, day: str) -> HistoryEvent | None:
    """Return one event, None for a value that says nothing."""
    if not isinstance(value, Mapping):
        return (
            HistoryEvent(day=day, time=None, text=_short(value))
            if isinstance(value, str) and value.strip()
            else None
        )

    said = [value[key] for key in _WORDS if isinstance(value.get(key), str)]
    text = next((_short(each) for each in said if isinstance(each, str) and each.strip()), None)
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

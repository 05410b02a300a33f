"""Read CHRONICLE.md, the diary.

No decision depends on it; contradictions to the other documents are reported.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from goop_mcp.workflow.task_ids import parse_task_id
from goop_mcp.workspace.documents.markdown import (
    Section,
    fields,
    items,
    normal_title,
    read_markdown,
    tables,
)
from goop_mcp.workspace.documents.state_block import find_state_block
from goop_mcp.workspace.documents.status_markers import (
    TaskStatus,
    may_name_task,
    read_checkbox,
    read_status,
    task_ids_in,
    without_checkbox,
)

__all__ = ["Activity", "Chronicle", "ChronicleTask", "read_chronicle", "with_state_block"]

_PHASE = re.compile(r"[a-z]+", re.IGNORECASE)
_OF = re.compile(r"(\d{1,6})\s*(?:/|of)\s*(\d{1,6})", re.IGNORECASE)
_SHA = re.compile(r"\b[0-9a-f]{7,40}\b")
_LOOSE_TASK = re.compile(r"(?:Task|T)\s*\d{1,6}(?:\.\d{1,6})?", re.IGNORECASE)
_WAVE = re.compile(r"Wave\s+(\d{1,6})\b", re.IGNORECASE)
_COMMAND = re.compile(r"/goop-[a-z-]{1,40}")
_OTHER_TIMES = ("recent activity", "session history", "next steps")
_NOTHING = frozenset(
    {"", "none", "n a", "no active blockers", "no blockers", "none active", "nothing"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChronicleTask:
    """A task in the diary.

    `id` is in our spelling. `line` counts from 1, within the block of state for a task from there.
    """

    id: str
    status: TaskStatus | None
    line: int
    text: str
    sha: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One entry of Recent Activity, by any author; `title` is its heading or first line."""

    title: str
    line: int
    action: str | None = None
    outcome: str | None = None
    files: str | None = None
    commit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chronicle:
    """The diary as far as it can be read.

    Counters are pairs (done or current, all), None if absent. With our block of state at the top,
    position, tasks, blockers and next command are those of the block: people may have written older
    ones further below.
    """

    phase: str | None = None
    session: str | None = None
    last_updated: str | None = None
    spec_locked: bool | None = None
    waves: tuple[int, int] | None = None
    task_count: tuple[int, int] | None = None
    tasks: tuple[ChronicleTask, ...] = ()
    blockers: tuple[str, ...] = ()
    pending_decisions: tuple[str, ...] = ()
    activities: tuple[Activity, ...] = ()
    next_command: str | None = None


def read_chronicle(text: str) -> Chronicle:
    """Read CHRONICLE.md tolerantly: any order, any case, missing parts. Never raises."""
    document = read_markdown(text)
    head = next((section for section in document.walk() if section.level == 1), document)
    journey = document.find("journey status", "position", "current position")
    found = {
        **(fields(journey.all_lines()) if journey else {}),
        **fields([*document.lines, *head.lines]),
    }
    phase = _PHASE.search(found.get("current phase") or found.get("phase") or "")
    waves = _counter(found, "waves", "wave", "current wave")
    recent = document.find("recent activity")
    next_steps = document.find("next steps")
    command = _COMMAND.search(
        " ".join(line.text for line in next_steps.all_lines()) if next_steps is not None else ""
    )

    # Of both words, as in "not locked", the negative one decides.
    lock = found.get("spec locked") or found.get("lock") or found.get("spec lock") or ""
    words = set(normal_title(lock).split())
    locked = True if {"yes", "true", "locked"} & words or "🔒" in lock else None
    if {"no", "not", "false", "unlocked"} & words or "🔓" in lock:
        locked = False

    chronicle = Chronicle(
        phase=phase[0].lower() if phase else None,
        session=found.get("session"),
        last_updated=found.get("last updated"),
        spec_locked=locked,
        waves=waves,
        task_count=_counter(found, "tasks", "task"),
        tasks=_tasks(document.walk(), waves[0] if waves else None),
        blockers=_entries(document, "active blockers", "blockers"),
        pending_decisions=_entries(document, "pending decisions"),
        activities=tuple(
            Activity(
                title=entry.title,
                line=entry.line,
                action=(values := fields(entry.all_lines())).get("action"),
                outcome=values.get("outcome"),
                files=values.get("files"),
                commit=values.get("commit"),
            )
            for entry in (recent.sections if recent is not None else ())
        ),
        next_command=command[0] if command else None,
    )

    # Our block of state outranks the text around it, until somebody edits the block.
    block = find_state_block(text)
    if block is None or block.is_edited:
        return chronicle
    return with_state_block(chronicle, block.text)


def with_state_block(found: Chronicle, text: str) -> Chronicle:
    """Return `found` with the position, tasks, blockers and next command of the block `text`."""
    state = read_markdown(text)
    values = fields(state.lines)
    phase = _PHASE.search(values.get("current phase", ""))
    command = _COMMAND.search(values.get("next step", ""))

    return replace(
        found,
        phase=phase[0].lower() if phase else None,
        waves=_counter(values, "wave"),
        task_count=_counter(values, "tasks"),
        tasks=_tasks([Section(0, "", 0, lines=state.block("open tasks"))], None),
        blockers=tuple(items(state.block("active blockers"))),
        next_command=command[0] if command else None,
    )


def _counter(found: Mapping[str, str], *names: str) -> tuple[int, int] | None:
    for name in names:
        if match := _OF.search(found.get(name, "")):
            return int(match[1]), int(match[2])
    return None


def _tasks(sections: Iterable[Section], current_wave: int | None) -> tuple[ChronicleTask, ...]:
    """Return the tasks with a status; of a task named twice the last mention counts."""
    found: dict[str, ChronicleTask] = {}
    for section in sections:
        # Past activities and next steps do not state the present status of a task.
        if normal_title(section.title).startswith(_OTHER_TIMES):
            continue

        wave = int(match[1]) if (match := _WAVE.match(section.title)) else current_wave
        for line in section.lines:
            if line.code or not may_name_task(line.text):
                continue

            text = line.text.strip().lstrip("-*+| ")
            plain = without_checkbox(text)
            id = next(iter(task_ids_in(plain)), None)
            # "Task 2" below the heading of a wave is the second one of that wave.
            if id is None and (loose := _LOOSE_TASK.search(plain)):
                id = parse_task_id(loose[0], current_wave=wave)

            status = (read_checkbox(text) or read_status(text)) if id is not None else None
            if id is not None and status is not None:
                sha = _SHA.search(text)
                found[str(id)] = ChronicleTask(
                    id=str(id),
                    status=status,
                    line=line.number,
                    text=text,
                    sha=sha[0] if sha else None,
                )

    return tuple(found.values())


def _entries(document: Section, *titles: str) -> tuple[str, ...]:
    section = document.find(*titles)
    if section is None:
        return ()

    lines = tuple(section.all_lines())
    texts = [without_checkbox(item) for item in items(lines)] or [
        line.text.strip() for line in lines if not line.code
    ]
    texts += [" ".join(row) for table in tables(lines) for row in table.rows]

    return tuple(
        text
        for text in texts
        if normal_title(text) not in _NOTHING
        and not text.startswith(("|", "---", "~~"))
        and read_status(text) is not TaskStatus.DONE
    )

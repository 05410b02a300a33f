"""Status words and icons, ids of must-haves and tasks, as documents hold them."""

import re
from enum import StrEnum

from goop_mcp.workflow.task_ids import TaskId, parse_task_id

__all__ = ["TaskStatus", "must_haves_in", "read_checkbox", "read_status", "task_ids_in", "without_checkbox"]


class TaskStatus(StrEnum):
    """How far a task is, in the words of state.json."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    DONE = "completed"


_CHECKBOX = re.compile(r"\[([ xX✓✅~-])\][ \t]*")
_MUST_HAVE = re.compile(r"\bMH-?0*(\d{1,4})\b", re.IGNORECASE)
_TASK = re.compile(
    r"\bW\d{1,6}\s?\.?\s?T\d{1,6}\b|\bWave\s+\d{1,6},?\s+Task\s+\d{1,6}\b|\b(?:T|Task\s+)?\d{1,6}\.\d{1,6}\b(?!\.\d)",
    re.IGNORECASE,
)
_WORDS: tuple[tuple[TaskStatus, re.Pattern[str]], ...] = (
    (TaskStatus.BLOCKED, re.compile(r"[✗✘❌🚫]|\b(?:blocked|failed)\b", re.IGNORECASE)),
    (TaskStatus.IN_PROGRESS, re.compile(r"[🔄🚧]|\b(?:in[ _-]progress|active|partial)\b", re.IGNORECASE)),
    (
        TaskStatus.PENDING,
        re.compile(
            r"[⏳⬜☐]|\b(?:pending|open|to-?do|incomplete|not (?:yet )?(?:started|done|complete|completed))\b",
            re.IGNORECASE,
        ),
    ),
    (TaskStatus.DONE, re.compile(r"[✓✔✅☑]|\b(?:complete|completed|done|passed)\b", re.IGNORECASE)),
)


def read_status(text: str) -> TaskStatus | None:
    """Return the status that words or icons in `text` name, None when there are none.

    Blocked comes before done, and open before done: "not done" and "✗ was done once" are no good news.
    """
    return next((status for status, words in _WORDS if words.search(text)), None)


def read_checkbox(text: str) -> TaskStatus | None:
    """Return what a check box at the start of an item says, None when there is none."""
    box = _CHECKBOX.match(text)
    if box is None:
        return None
    if box[1] in " ":
        return TaskStatus.PENDING
    return TaskStatus.IN_PROGRESS if box[1] in "~-" else TaskStatus.DONE


def without_checkbox(text: str) -> str:
    """Return `text` without a check box at its start."""
    return _CHECKBOX.sub("", text, count=1).strip() if _CHECKBOX.match(text) else text.strip()


def must_haves_in(text: str) -> tuple[str, ...]:
    """Return the must-haves named in `text` as MH1, MH2, each once, in order."""
    return tuple(dict.fromkeys(f"MH{int(number)}" for number in _MUST_HAVE.findall(text)))


def task_ids_in(text: str) -> tuple[TaskId, ...]:
    """Return the tasks named in `text`, each once, in order; a number without a wave is none."""
    found = (parse_task_id(match[0]) for match in _TASK.finditer(text))
    return tuple(dict.fromkeys(task for task in found if task is not None and task.task is not None))

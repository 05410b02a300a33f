"""Status names and icons, ids of must-haves and tasks in documents."""

import re
from enum import StrEnum

from goop_mcp.workflow.task_ids import TaskId, parse_task_id

__all__ = [
    "TaskStatus",
    "may_name_task",
    "must_haves_in",
    "read_checkbox",
    "read_status",
    "task_ids_in",
    "without_checkbox",
    "without_progress",
]


class TaskStatus(StrEnum):
    """The status of a task, with the values of state.json."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    DONE = "completed"


_CHECKBOX = re.compile(r"\[([ xX✓✅~-])\][ \t]*")
_PROGRESS = re.compile(r"\[[ xX✓✅~-]\]|[✗✘❌🚫🔄🚧⏳⬜☐✓✔✅☑]\ufe0f?")
_MUST_HAVE = re.compile(r"\bMH-?0*(\d{1,4})\b", re.IGNORECASE)
_TASK = re.compile(
    r"\bW\d{1,6}\s?\.?\s?T\d{1,6}\b|\bWave\s+\d{1,6},?\s+Task\s+\d{1,6}\b"
    r"|\b(?:T|Task\s+)?\d{1,6}\.\d{1,6}\b(?!\.\d)",
    re.IGNORECASE,
)
# Every match of `_TASK`, and "Task 3" too, contains this; most lines of a long diary do not.
_HINT_OF_TASK = re.compile(r"[tTkK\u212a.]\s*\d")
# The first of these that a text names counts. A single pattern with a single word boundary finds
# them all, so that each line is scanned once; the number of a group gives its position here.
_BY_WEIGHT = (TaskStatus.BLOCKED, TaskStatus.IN_PROGRESS, TaskStatus.PENDING, TaskStatus.DONE)
_STATUS = re.compile(
    r"""([✗✘❌🚫])|([🔄🚧])|([⏳⬜☐])|([✓✔✅☑])|\b(?:
        (blocked|failed)
        | (in[ _-]progress|active|partial)
        | (pending|open|to-?do|incomplete|not[ ](?:yet[ ])?(?:started|done|complete|completed))
        | (complete|completed|done|passed)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)


def read_status(text: str) -> TaskStatus | None:
    """Return the status that words or icons in `text` name, None without any.

    Blocked and open take precedence over done: "not done" and "✗ was done once" are not done.
    """
    groups = [found.lastindex or 0 for found in _STATUS.finditer(text)]
    return _BY_WEIGHT[min((group - 1) % len(_BY_WEIGHT) for group in groups)] if groups else None


def read_checkbox(text: str) -> TaskStatus | None:
    """Return the status of a check box at the start of an item, None without one."""
    box = _CHECKBOX.match(text)
    if box is None:
        return None
    if box[1] in " ":
        return TaskStatus.PENDING
    return TaskStatus.IN_PROGRESS if box[1] in "~-" else TaskStatus.DONE


def without_checkbox(text: str) -> str:
    """Return `text` without a check box at its start."""
    return _CHECKBOX.sub("", text, count=1).strip() if _CHECKBOX.match(text) else text.strip()


def without_progress(text: str) -> str:
    """Return `text` without check boxes and the icons of a status, wherever they are."""
    return _PROGRESS.sub("", text)


def must_haves_in(text: str) -> tuple[str, ...]:
    """Return the must-haves named in `text` as MH1, MH2, each once, in order."""
    return tuple(dict.fromkeys(f"MH{int(number)}" for number in _MUST_HAVE.findall(text)))


def may_name_task(text: str) -> bool:
    """Whether `text` may name a task, with or without its wave; fast, no false negatives."""
    return _HINT_OF_TASK.search(text) is not None


def task_ids_in(text: str) -> tuple[TaskId, ...]:
    """Return the tasks named in `text`, each once, in order; a number needs its wave to count."""
    if not may_name_task(text):
        return ()

    found = (parse_task_id(match[0]) for match in _TASK.finditer(text))
    return tuple(
        dict.fromkeys(task for task in found if task is not None and task.task is not None)
    )

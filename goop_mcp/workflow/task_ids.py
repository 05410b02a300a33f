"""Task ids: many spellings, one task."""

import re
from functools import lru_cache

from goop_mcp.structs import DataStruct

__all__ = ["TaskId", "is_report_key", "normal_task_id", "parse_task_id", "report_key", "same_task"]

_SPELLINGS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"W(?P<wave>\d{1,6})\s*+\.?\s*+T(?P<task>\d{1,6})",
        r"(?:T|Task\s+)?(?P<wave>\d{1,6})\.(?P<task>\d{1,6})",
        r"Wave\s+(?P<wave>\d{1,6}),?\s+Task\s+(?P<task>\d{1,6})",
    )
)
_WAVE = re.compile(r"(?:W|Wave\s+)(\d{1,6})", re.IGNORECASE)
_TASK = re.compile(r"(?:T|Task\s+)(\d{1,6})", re.IGNORECASE)
# The work of a report that names no task is called by the number of that report.
_REPORT = re.compile(r"report\s+#?(\d{1,18})", re.IGNORECASE)


class TaskId(DataStruct, frozen=True):
    """A task by wave and number, both from 0.

    `task` is None for a wave alone; `guessed` marks an assumed wave.
    """

    wave: int
    task: int | None
    guessed: bool = False

    def __str__(self) -> str:
        """Return the form we write: W2.T3, or W2 for a wave."""
        return f"W{self.wave}" if self.task is None else f"W{self.wave}.T{self.task}"


@lru_cache(maxsize=64)
def parse_task_id(text: str, *, current_wave: int | None = None) -> TaskId | None:
    """Read any known spelling of a task id; None for anything else.

    A task without a wave is taken for one of `current_wave`, and marked as guessed; without
    `current_wave` it is None. Leading zeros do not count.
    """
    wanted = text.strip()
    for spelling in _SPELLINGS:
        if match := spelling.fullmatch(wanted):
            return TaskId(int(match["wave"]), int(match["task"]))

    if match := _WAVE.fullmatch(wanted):
        return TaskId(int(match[1]), None)
    if current_wave is not None and (match := _TASK.fullmatch(wanted)):
        return TaskId(current_wave, int(match[1]), guessed=True)
    return None


def normal_task_id(text: str, *, current_wave: int | None = None) -> str:
    """Return our form of a task id in any known spelling; other text is returned stripped.

    `report 7`, the work of a report that named no task, is one as well.
    """
    task_id = parse_task_id(text, current_wave=current_wave)
    if task_id is not None:
        return str(task_id)
    match = _REPORT.fullmatch(text.strip())
    return report_key(int(match[1])) if match is not None else text.strip()


def report_key(number: int) -> str:
    """Return how the work of a report without a task is called: `report 7`."""
    return f"report {number}"


def is_report_key(key: str) -> bool:
    """Whether `key` is the work of a report that names no task, in any spelling."""
    return _REPORT.fullmatch(key.strip()) is not None


def same_task(one: str, other: str, *, current_wave: int | None = None) -> bool:
    """Return whether two ids mean the same task: by their numbers, else by their text."""
    # Both sides go through the same normal form, so that unknown spellings still equal themselves.
    return normal_task_id(one, current_wave=current_wave) == normal_task_id(
        other, current_wave=current_wave
    )

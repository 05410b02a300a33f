"""The gate before a task is called done elsewhere: whether its report in this round says so.

Asked by hooks of hosts, by trackers, by git, by CI. Only recorded reports decide, never words of a
subject and never the state of git: committed and uncommitted work are the same here.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from goop_mcp.messages.quoting import line
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.project_snapshot import take_snapshot
from goop_mcp.store.records import StoredReport
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workflow.task_ids import normal_task_id, parse_task_id
from goop_mcp.workspace.report_index import checks_without_result, finishes_task

__all__ = ["TaskAnswer", "judge_task", "named_task", "task_ids_in"]

_LONGEST_NAME: Final = 80
_MOST_CHARACTERS: Final = 20_000
_MOST_IDS: Final = 50

# Only forms that mean a task: "1.2" alone may be a version, and "Task 3" another list's number.
_ID: Final = re.compile(
    r"(?<![\w.])(?:W\d{1,6} ?\.? ?T\d{1,6}|(?:T|Task )\d{1,6}\.\d{1,6}"
    r"|Wave \d{1,6},? Task \d{1,6})(?![\w])(?!\.\d)",
    re.IGNORECASE,
)


class TaskAnswer(NamedTuple):
    """Whether the last report of a task in this round finishes it.

    `sentence` says so for people and agents, with the one command that helps. `task` is in our
    spelling; `report` is the number of its last report, None without any.
    """

    passed: bool
    sentence: str
    task: str
    report: int | None


def judge_task(project_context: ProjectContext, task: str) -> TaskAnswer:
    """Return whether `task` is finished in the present round, by its last report that counts.

    Any id counts, also one that is not a task of the blueprint, such as the name of a change.
    Nothing is created. Raises StoreError.
    """
    wanted = normal_task_id(task)
    shown = line(wanted, longest=_LONGEST_NAME)
    store = project_context.store
    reports: Sequence[StoredReport] = ()
    if store.exists():
        reports = store.read(lambda reading: reading.last_reports(round=reading.round().number))
    of_task = [each for each in reports if each.task_id and normal_task_id(each.task_id) == wanted]
    found = max(of_task, key=lambda each: each.id, default=None)

    if found is None:
        return TaskAnswer(
            False,
            f"{shown} has no accepted report in this round: record it with `goop-mcp reports"
            " record REPLY.md`, or the tool record_report.",
            wanted,
            None,
        )

    envelope = json.loads(found.envelope)
    values: Mapping[str, JsonValue] = envelope if isinstance(envelope, Mapping) else {}
    if finishes_task(found, values):
        return TaskAnswer(True, f"{shown} is done: report {found.id}.", wanted, found.id)

    return TaskAnswer(
        False,
        f"{shown} is not done: its last report, {found.id}, is {_why_not_done(found, values)};"
        f" `goop-mcp reports show {found.id}` shows what is left.",
        wanted,
        found.id,
    )


def _why_not_done(report: StoredReport, envelope: Mapping[str, JsonValue]) -> str:
    if report.status != "COMPLETE":
        return line(str(report.status), longest=40)
    empty = checks_without_result(envelope)
    if not empty:
        return "COMPLETE with a failed check"
    return (
        f"COMPLETE, and its check {line(empty[0], longest=_LONGEST_NAME)} is passed and shows no"
        " result: run it, or report it as not run"
    )


def task_ids_in(text: str) -> Sequence[str]:
    """Return the task ids that `text` names, in our spelling, each once; at most 50.

    Of a longer text the first 20,000 characters are read.
    """
    found: dict[str, None] = {}
    for match in _ID.finditer(text[:_MOST_CHARACTERS]):
        if (id := parse_task_id(match[0])) is not None:
            found.setdefault(str(id))
        if len(found) == _MOST_IDS:
            break

    return tuple(found)


def named_task(project_context: ProjectContext, subject: str, description: str) -> str | None:
    """Return the task of the blueprint that somebody else's task stands for, None if unclear.

    The subject decides. A description may speak of other tasks as well, so that it counts only if
    it names one alone.
    """
    named = [task_ids_in(subject), task_ids_in(description)]
    if not any(named):
        return None

    blueprint = take_snapshot(project_context).project.blueprint
    for ids in named:
        known = [id for id in ids if blueprint is not None and blueprint.task(id) is not None]
        if known:
            return known[0] if len(known) == 1 else None

    return None

"""Verify the claims of an envelope in the project: files, commits, plan and state (D-88).

No file that a reply names is ever opened: files are only looked up.
"""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from goop_mcp import workspace
from goop_mcp.errors import GoopError
from goop_mcp.routing.sessions import has_ended
from goop_mcp.validation.claims import Claims, StateClaim, StateName, TaskClaim
from goop_mcp.validation.evidence_rules import (
    NOT_CHECKED,
    PHASE_DIFFERS,
    STATE_DIFFERS,
    TASK_NOT_IN_BLUEPRINT,
)
from goop_mcp.validation.findings import Severity, excerpt
from goop_mcp.validation.rules import Problem
from goop_mcp.workflow.task_ids import is_report_key, parse_task_id
from goop_mcp.workspace.claimed_changes import NONE_CHANGED, check_changes
from goop_mcp.workspace.claimed_commits import check_commits
from goop_mcp.workspace.claimed_files import Looked, check_files
from goop_mcp.workspace.document_lookup import find_current_document
from goop_mcp.workspace.documents.blueprint import Blueprint, read_blueprint
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.json_text import JsonDefect, parse_object
from goop_mcp.workspace.layout import BLUEPRINT, STATE, session_folder
from goop_mcp.workspace.state import ProjectState, StateDefect, read_state

if TYPE_CHECKING:
    from goop_mcp.store.interface import Store

__all__ = ["CheckedClaims", "check_claims"]

_SHOWN = 60
_NAMES: Mapping[StateName, str] = {
    "phase": "phase",
    "spec_locked": "specLocked",
    "interview_complete": "interviewComplete",
    "wave": "currentWave",
    "total_waves": "totalWaves",
}


class CheckedClaims(NamedTuple):
    """What the project shows: problems, and the places of the claims that were found to hold.

    A file is there or gone, as claimed; a commit is in a repository of the project; a memory was
    saved. A claim that was not looked at is in neither.
    """

    problems: list[Problem]
    verified: frozenset[str] = frozenset()


def check_claims(
    claims: Claims,
    files: ProjectFiles,
    *,
    store: "Store | None" = None,
    session_state: str | None = None,
    base: str | None = None,
    changed: Mapping[str, tuple[int, int]] = NONE_CHANGED,
    looked: Looked | None = None,
    seconds: float | None = None,
) -> CheckedClaims:
    """Return the problems of `claims`, each with the path of its claim, and which claims hold.

    `store` holds the project's memories, and its state where many machines share it; None if there
    is none. `session_state` is the caller's state of the session that must create the promised
    files; None reads it from the session's folder. `base` is the id of the commit at which the task
    began, None if unknown, and `changed` are the files that had changes without a commit then, as
    in `check_changes`. A claim that cannot be checked is an info and never blocks a reply. `looked`
    receives the number of files checked so far. `seconds` is for callers that somebody waits for:
    files and commits that were not looked for by then are not checked, and git only looks for the
    commits, in one process; what a comparison of changes and subjects would find, which are
    warnings, is left out.
    """
    until = None if seconds is None else time.monotonic() + seconds
    ended = has_ended(session_state if session_state is not None else _session_state(claims, files))
    of_files, files_there = check_files(
        claims, files, session_ended=ended, looked=looked, until=until
    )
    # A missing file explains a commit that does not contain it: one error is enough for both.
    untrue = any(problem.rule.lenient is Severity.ERROR for problem in of_files)
    of_commits, commits, commits_there = check_commits(claims, files, until=until)
    of_changes = (
        check_changes(claims, files, commits=commits, base=base, changed=changed, untrue=untrue)
        if until is None
        else []
    )

    of_memories, saved = (
        workspace.claimed_memories.check_memories(claims, store) if claims.memories else ([], set())
    )

    of_tasks = _check_tasks(claims.tasks, files, store)
    # The wave of a planned task is that of the task: its report begins the wave in state.json, or
    # repeats work of an earlier one.
    planned = () if of_tasks else claims.tasks
    ids = [parse_task_id(each.id, current_wave=each.wave) for each in planned]
    begun = {id.wave for id in ids if id is not None and id.task is not None}
    of_state = _check_state(
        [each for each in claims.state if each.name != "wave" or each.value not in begun],
        files,
        store,
    )

    problems = [*of_files, *of_commits, *of_changes, *of_memories, *of_tasks, *of_state]
    # What is in doubt for any reason is not verified: a file may be there, and unchanged.
    doubtful = {(problem.hit.path or "").removesuffix("/@sha") for problem in problems}

    return CheckedClaims(problems, frozenset(files_there | commits_there | saved) - doubtful)


def _session_state(claims: Claims, files: ProjectFiles) -> str | None:
    """Return the state in the state.json of the session, None if unknown."""
    if claims.session is None:
        return None

    try:
        text = files.read_text(f"{session_folder(claims.session)}/{STATE}")
    except (GoopError, OSError):
        return None

    values = None if text is None else parse_object(text)
    if values is None or isinstance(values, JsonDefect):
        return None

    state = values.get("status", values.get("state"))

    return state if isinstance(state, str) else None


def _stored_state(store: "Store | None") -> str | None:
    """Return the state that a shared database keeps, None where that of the folder counts."""
    if store is None or store.engine != "postgresql":
        return None
    return store.read(lambda reading: reading.stored_state())


def _check_tasks(
    tasks: Sequence[TaskClaim], files: ProjectFiles, store: "Store | None"
) -> list[Problem]:
    if not tasks:
        return []

    try:
        stored = _stored_state(store)
        text = files.read_text(find_current_document(files, BLUEPRINT, stored=stored))
        state = read_state(files, stored=stored)
        work = None
        if isinstance(state, ProjectState) and state.profile == "v1":
            work = workspace.goopspec_database.read_work(files, state.workflow_id or "default")
    except (GoopError, OSError):
        return [_task_not_checked(tasks[0], f"{BLUEPRINT} cannot be read")]

    written = None if text is None else read_blueprint(text)
    blueprint = written if work is None else workspace.goopspec_database.plan_of(work, written)
    if blueprint is None:
        return [_task_not_checked(tasks[0], f"there is no {BLUEPRINT}")]
    if not blueprint.tasks:
        return []

    return [
        TASK_NOT_IN_BLUEPRINT.problem(
            f"{excerpt(each.id, _SHOWN)!r} is not in {BLUEPRINT}; expected one of its tasks",
            path=each.where,
            found=excerpt(each.id),
        )
        for each in tasks
        # The work of a report that named no task is not in the plan either.
        if not (is_report_key(each.id) or _is_planned(each, blueprint))
    ]


def _is_planned(claim: TaskClaim, blueprint: Blueprint) -> bool:
    id = parse_task_id(claim.id, current_wave=claim.wave)
    if id is None:
        return blueprint.task(claim.id) is not None
    if id.task is None:
        return not blueprint.waves or blueprint.wave(id.wave) is not None
    return blueprint.task(str(id)) is not None


def _task_not_checked(claim: TaskClaim, why: str) -> Problem:
    message = (
        f"{excerpt(claim.id, _SHOWN)!r} was not verified: {why}; expected a plan that names the"
        " task"
    )
    return NOT_CHECKED.problem(message, path=claim.where, found=excerpt(claim.id))


def _check_state(
    claims: Sequence[StateClaim], files: ProjectFiles, store: "Store | None"
) -> list[Problem]:
    if not claims:
        return []

    try:
        state = read_state(files, stored=_stored_state(store))
    except (GoopError, OSError):
        return [_state_not_checked(claims[0], f"{STATE} cannot be read")]

    if state is None:
        return [_state_not_checked(claims[0], f"there is no {STATE}")]
    if isinstance(state, StateDefect):
        return [
            _state_not_checked(
                claims[0], f"{STATE} is broken in line {state.line}: {state.message}"
            )
        ]

    real: Mapping[StateName, str | int | bool] = {
        "phase": state.phase,
        "spec_locked": state.spec_locked,
        "interview_complete": state.interview_complete,
        "wave": state.current_wave,
        "total_waves": state.total_waves,
    }
    problems = []

    for claim in claims:
        value = real[claim.name]
        # Counters that were never set are not compared.
        unset = value == 0 and not isinstance(value, bool)
        if value == claim.value or unset:
            continue

        message = (
            f"{claim.name} is {_shown(claim.value)}; expected {_shown(value)}, as"
            f" {_NAMES[claim.name]} of {STATE} says"
        )
        found, expected = _plain(claim.value), (_plain(value),)
        # While a project is idle nobody has begun a phase that the agent could contradict.
        counts = claim.name == "phase" and value != "idle"
        rule = PHASE_DIFFERS if counts else STATE_DIFFERS
        problems.append(rule.problem(message, path=claim.where, found=found, expected=expected))

    return problems


def _state_not_checked(claim: StateClaim, why: str) -> Problem:
    message = f"the state was not compared: {why}; expected the state of the project"
    return NOT_CHECKED.problem(message, path=claim.where, found=_plain(claim.value))


def _shown(value: str | int | bool) -> str:
    return repr(excerpt(value, _SHOWN)) if isinstance(value, str) else _plain(value)


def _plain(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else excerpt(str(value))

"""The steps that stories of projects have in common, so that a story is only its data."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue

from goop_mcp.cli.demo.full_player import PlayStep
from goop_mcp.cli.demo.full_texts import report, verification

__all__ = [
    "DIARY",
    "GO_ON",
    "LOCKED",
    "LOG",
    "accept",
    "accept_unseen",
    "begin",
    "create",
    "decide",
    "finish",
    "hear",
    "lock",
    "reject",
    "skip_interview",
    "take",
    "verify",
]

DIARY: Final = ("state.json", "CHRONICLE.md")
LOG: Final = (*DIARY, "ADL.md")
"""The documents that a step changes, and those that one of a person does."""

GO_ON: Final = ("save_state", "continue_next")
LOCKED: Final = ("Discovery", "Spec")
_FINISHED: Final[Mapping[str, object]] = {
    "phase": "accept",
    "gates": (*LOCKED, "Execution"),
    "next": "/goop-accept",
}

_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})
_NO_TEXTS: Final[Mapping[str, str]] = MappingProxyType({})
_NOTHING_SHOWN: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
_CLOSED: Final = {
    "waiting": (),
    "phase": "idle",
    "is_open": False,
    "interview": False,
    "locked": False,
    "wave": 0,
    "planned": (),
    "done": (),
    "gates": (),
    "next": "/goop-discuss",
}


def take(
    name: str,
    title: str,
    action: str,
    /,
    *,
    person: str | None = None,
    status: str = "done",
    says: tuple[str, ...] = (),
    findings: tuple[str, ...] = (),
    changes: tuple[str, ...] = (),
    shows: Mapping[str, tuple[str, ...]] = _NOTHING_SHOWN,
    after: Mapping[str, object] = _NOTHING,
    new_session: bool = False,
    **arguments: JsonValue,
) -> PlayStep:
    """Return a call of update_project with those `arguments` that are not None."""
    return PlayStep(
        name=name,
        title=title,
        tool="update_project",
        arguments={
            "action": action,
            **{key: value for key, value in arguments.items() if value is not None},
        },
        person=person,
        status=status,
        says=says,
        findings=findings,
        changes=changes,
        shows=shows,
        after=after,
        new_session=new_session,
    )


def create(title: str, project: str) -> PlayStep:
    """Return the step that creates the project."""
    return take(
        "init",
        title,
        "init",
        name=project,
        changes=(
            *LOG,
            "REQUIREMENTS.md",
            "SPEC.md",
            "BLUEPRINT.md",
            ".gitignore",
            "hooks.json",
        ),
        after={"exists": True, "phase": "idle", "wave": 0, "next": "/goop-discuss"},
    )


def skip_interview(name: str, title: str, reason: str) -> PlayStep:
    """Return the step with which a person skips the interview."""
    return take(
        name,
        title,
        "skip_gate",
        gate="discovery",
        reason=reason,
        person="skip",
        changes=LOG,
        after={"gates": LOCKED[:1], "next": "/goop-plan"},
    )


def begin(
    name: str, title: str, phase: str, *, findings: tuple[str, ...] = (), wave: int | None = None
) -> PlayStep:
    """Return the step to a phase, in which `wave` is the present one if it is not None."""
    after = {"phase": phase} if wave is None else {"phase": phase, "wave": wave}
    return take(
        name, title, "start_phase", phase=phase, findings=findings, changes=DIARY, after=after
    )


def lock(name: str, title: str) -> PlayStep:
    """Return the step with which a person locks SPEC.md."""
    return take(
        name,
        title,
        "lock_spec",
        person="lock",
        changes=(*LOG, "SPEC.md"),
        after={"locked": True, "gates": LOCKED, "next": "/goop-execute"},
    )


def decide(
    name: str,
    title: str,
    task: str,
    choice: str,
    *,
    comment: str | None = None,
    shows: Mapping[str, tuple[str, ...]] = _NOTHING_SHOWN,
    after: Mapping[str, object] = _NOTHING,
) -> PlayStep:
    """Return the step with which a person decides about `task`."""
    return take(
        name,
        title,
        "decide",
        task=task,
        choice=choice,
        comment=comment,
        person="decide",
        changes=LOG,
        shows=shows,
        after=after,
    )


def hear(
    name: str,
    title: str,
    reply: str,
    /,
    *,
    writes: Mapping[str, str] = _NO_TEXTS,
    status: str = "recorded",
    actions: tuple[str, ...] = (),
    says: tuple[str, ...] = (),
    findings: tuple[str, ...] = (),
    changes: tuple[str, ...] | None = None,
    shows: Mapping[str, tuple[str, ...]] = _NOTHING_SHOWN,
    after: Mapping[str, object] = _NOTHING,
    **arguments: JsonValue,
) -> PlayStep:
    """Return a call of record_report, which changes DIARY where it is recorded by default."""
    usual = DIARY if status == "recorded" else ()
    return PlayStep(
        name=name,
        title=title,
        writes=writes,
        tool="record_report",
        arguments={"text": reply, **arguments},
        status=status,
        actions=actions,
        says=says,
        findings=findings,
        changes=usual if changes is None else changes,
        shows=shows,
        after=after,
    )


def finish(
    name: str,
    title: str,
    task: str,
    summary: str,
    file: str,
    *,
    of: tuple[int, int],
    then: str | None = None,
    writes: str | None = None,
    after: Mapping[str, object],
) -> PlayStep:
    """Return the report that `task` is done; `then` is the next one, None after the last.

    `of` is that of `report`. `writes` is the text of its file, None if the file is there.
    """
    is_last = then is None
    return hear(
        name,
        title,
        report(
            task,
            of=of,
            summary=summary,
            file=file,
            next_agent="goop-verifier" if is_last else "goop-executor",
            next_action=then or "Verify every must-have",
            next_command="/goop-accept" if is_last else "/goop-execute",
        ),
        writes=_NO_TEXTS if writes is None else {file: writes},
        actions=GO_ON,
        after={**_FINISHED, **after} if is_last else after,
    )


def verify(
    name: str,
    title: str,
    passed: dict[str, bool],
    summary: str,
    *,
    of: tuple[int, int],
    at: str,
    reports: int,
) -> PlayStep:
    """Return the report of the verifier: a person is to accept if every must-have holds."""
    holds = all(passed.values())
    return hear(
        name,
        title,
        verification(passed, of=of, at=at, summary=summary),
        actions=("ask_user",) if holds else ("resume_same",),
        findings=() if holds else ("goop_report/complete-with-failed-check",),
        after={"reports": reports, **({"waiting": ("accept",)} if holds else {})},
    )


def accept_unseen(name: str, title: str, missing: str) -> PlayStep:
    """Return the step of an orchestrator that may not accept, because `missing` is."""
    return take(name, title, "accept", outcome="accept", status="refused", says=(missing,))


def accept(
    name: str,
    title: str,
    *,
    issues: str | None = None,
    shows: Mapping[str, tuple[str, ...]] = _NOTHING_SHOWN,
) -> PlayStep:
    """Return the step with which a person accepts the result, with `issues` or without."""
    return take(
        name,
        title,
        "accept",
        outcome="accept" if issues is None else "accept_with_issues",
        comment=issues,
        person="accept" if issues is None else "accept with issues",
        changes=(*LOG, "SPEC.md", "HANDOFF.md", "archive/"),
        shows=shows,
        after=_CLOSED,
    )


def reject(
    title: str,
    task: str,
    comment: str,
    *,
    shows: Mapping[str, tuple[str, ...]] = _NOTHING_SHOWN,
    done: tuple[str, ...],
    reports: int,
) -> PlayStep:
    """Return the step with which a person rejects the result, so that `task` is open again."""
    return take(
        "reject",
        title,
        "accept",
        outcome="reject",
        tasks=[task],
        comment=comment,
        person="reject",
        findings=("workflow/rework-edge",),
        changes=LOG,
        shows=shows,
        after={
            "reports": reports,
            "phase": "execute",
            "done": done,
            "gates": LOCKED,
            "waiting": (),
            "next": "/goop-execute",
        },
    )

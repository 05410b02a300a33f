"""Plan changes of state.json: legal moves only, as edits of the text that was read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from goop_mcp.errors import (
    IllegalMoveError,
    StateCorruptError,
    StateMovedError,
    StateReadOnlyError,
    WorkspaceError,
)
from goop_mcp.workflow.phases import MOVES, Move, MoveKind, resets, weigh_move
from goop_mcp.workspace.json_text import Scalar, members, set_values
from goop_mcp.workspace.layout import STATE, document_path
from goop_mcp.workspace.state import ProjectState, StateDefect, parse_state, snake_case

__all__ = ["PlannedState", "StateChange", "change_from_json", "plan_change", "writable_state"]

_Change: TypeAlias = tuple[tuple[str, ...], Scalar]

_KEYS = frozenset(
    {
        "acceptanceConfirmed",
        "activeCheckpointId",
        "autopilot",
        "currentWave",
        "depth",
        "interviewComplete",
        "interviewCompletedAt",
        "lazyAutopilot",
        "manualOverride",
        "mode",
        "specLocked",
        "totalWaves",
    }
)


_CHECKPOINT = "activeCheckpointId"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """A requested change of state.json; `phase` None keeps the phase.

    `values` are keys of `workflow` in camelCase with their new values; activeCheckpointId, which
    stands in `execution`, is changed where that object exists. `forced` writes an illegal
    move, for `reason`, which is recorded in ADL.md.
    """

    phase: str | None = None
    values: Mapping[str, Scalar] = field(default_factory=dict)
    forced: bool = False
    reason: str | None = None

    def to_json(self) -> str:
        """Return the change as JSON, for `change_from_json`."""
        values = {
            "phase": self.phase,
            "values": dict(self.values),
            "forced": self.forced,
            "reason": self.reason,
        }
        return json.dumps(values, ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedState:
    """A change that may be written: the state before and after it.

    `move` classifies the change of phase: REWORK must be reported, FORCED must be recorded in
    ADL.md.
    """

    before: ProjectState
    after: ProjectState
    move: MoveKind


def change_from_json(text: str) -> StateChange:
    """Return the change in the JSON of `StateChange.to_json`."""
    values = json.loads(text)
    return StateChange(
        phase=values["phase"],
        values=values["values"],
        forced=values["forced"],
        reason=values["reason"],
    )


def writable_state(
    state: ProjectState | StateDefect | None, *, seen: str | None = None
) -> ProjectState:
    """Return the state that was read, if it may be changed.

    `seen` is the token of the state that the caller decided on. Raises WorkspaceError without a
    state, StateCorruptError, StateReadOnlyError, and StateMovedError if the state no longer has the
    token `seen`.
    """
    name = document_path(STATE)
    if state is None:
        raise WorkspaceError(f"there is no {name}; run 'goop-mcp init' to create it")
    if isinstance(state, StateDefect):
        if not state.line:
            # A checkpoint is no help where the file may not be opened.
            raise StateCorruptError(f"{state.message}; it was not changed")
        raise StateCorruptError(
            f"{name} cannot be read at line {state.line}, column {state.column}: {state.message};"
            " it was not changed; goop-mcp project resume takes it from the newest checkpoint"
        )

    if not state.writable:
        raise StateReadOnlyError(
            f"{name} has the form {state.shape}, which is read and never written; expected"
            " version 1"
        )

    if seen is not None and seen != state.token:
        raise StateMovedError(
            f"{name} has changed since it was read: it is at {state.token}, in phase {state.phase};"
            " read it and decide again"
        )

    return state


def plan_change(
    state: ProjectState, change: StateChange, *, now: str, revision: int | None = None
) -> PlannedState:
    """Return `state` with `change` applied: our keys edited in place, every other character kept.

    `now` is the time in ISO 8601 for lastActivity, `revision` that of the database. Raises
    IllegalMoveError for a move that the profile does not have, unless it is `forced`.
    """
    unknown = sorted(set(change.values) - _KEYS)
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: no key of workflow that is changed by itself")

    move = Move(
        start=state.phase,
        target=change.phase or state.phase,
        profile=state.profile,
        forced=change.forced,
    )
    kind = weigh_move(move)
    # Keeping an unknown phase is not a move.
    if kind is MoveKind.ILLEGAL and change.phase is not None:
        moves = MOVES[move.profile].get(move.start)
        allowed = (*moves.legal, *moves.rework) if moves is not None else MOVES[move.profile]
        raise IllegalMoveError(
            f"phase {move.start} does not lead to {move.target}; expected one of"
            f" {', '.join(allowed)}, nothing was written"
        )

    values: dict[str, Scalar] = dict(change.values)
    if move.start != move.target:
        values = {**resets(move), **values, "phase": move.target}

    # The edited text is parsed again: an edit that breaks the file is never written.
    values["lastActivity"] = now
    text = _written(state.text, values, revision=revision, phase=move.target)
    after = parse_state(text)
    if isinstance(after, StateDefect):
        raise StateCorruptError(
            f"{STATE} would become unreadable: {after.message}; nothing was written"
        )

    return PlannedState(before=state, after=after, move=kind)


def _written(text: str, values: Mapping[str, Scalar], *, revision: int | None, phase: str) -> str:
    top = {member.key: member for member in members(text)}
    if "workflow" not in top:
        raise StateCorruptError(f"{STATE} has no object workflow; it was not changed, add one")

    found = {member.key for member in members(text, top["workflow"].start)}
    changes: list[_Change] = []
    if _CHECKPOINT in values and "execution" in top:
        changes.append((("execution", _CHECKPOINT), values[_CHECKPOINT]))

    for key, value in values.items():
        if key == _CHECKPOINT:
            continue

        # Absent means false or 0, so that such values add no keys to an old file.
        names = [name for name in (key, snake_case(key)) if name in found] or (
            [] if value in (False, 0) else [key]
        )
        changes += [(("workflow", name), value) for name in names]
        # Some files have a copy of such a key at the top level, which must not contradict this one.
        changes += [
            ((name,), value)
            for name in (key, snake_case(key))
            if name in top and name not in ("phase", "mode")
        ]

    if "status" in found:
        changes.append((("workflow", "status"), phase))
    if revision is not None:
        changes.append((("revision",), revision))
    return set_values(text, changes)

"""Change state.json: legal moves only, in the text that lies on disk, and only if it is still the one that was read."""

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
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.json_text import Scalar, members, set_values
from goop_mcp.workspace.layout import STATE, document_path
from goop_mcp.workspace.state import ProjectState, StateDefect, parse_state, read_state, snake_case

__all__ = ["PlannedState", "StateChange", "change_from_json", "current_state", "plan_change"]

_Change: TypeAlias = tuple[tuple[str, ...], Scalar]

_KEYS = frozenset(
    {
        "acceptanceConfirmed",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """What is to become of state.json. `phase` None stays where it is.

    `values` are keys of `workflow` in camelCase with what they shall be. `forced` writes an illegal
    move all the same, for `reason`, which goes into ADL.md.
    """

    phase: str | None = None
    values: Mapping[str, Scalar] = field(default_factory=dict)
    forced: bool = False
    reason: str | None = None

    def to_json(self) -> str:
        """Return the change as JSON, from which `change_from_json` makes it again."""
        values = {
            "phase": self.phase,
            "values": dict(self.values),
            "forced": self.forced,
            "reason": self.reason,
        }
        return json.dumps(values, ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedState:
    """A change that may be written: the whole new text, and the state before and after it.

    `move` says how the change of phase stands to the profile: REWORK is to be reported, FORCED
    belongs into ADL.md.
    """

    before: ProjectState
    after: ProjectState
    move: MoveKind


def change_from_json(text: str) -> StateChange:
    """Return the change that `StateChange.to_json` wrote."""
    values = json.loads(text)
    return StateChange(
        phase=values["phase"],
        values=values["values"],
        forced=values["forced"],
        reason=values["reason"],
    )


def current_state(
    files: ProjectFiles, *, seen: str | None = None, session: str | None = None
) -> ProjectState:
    """Return the state that is about to be changed; `seen` is the token of the one that a caller decided on.

    Raises StateCorruptError, StateReadOnlyError, and StateMovedError when `seen` is not the file's token any more.
    """
    state = read_state(files, session=session)
    name = document_path(STATE, session=session)
    if state is None:
        raise WorkspaceError(f"there is no {name}; run 'goop-mcp init' to create it")
    if isinstance(state, StateDefect):
        raise StateCorruptError(
            f"{name} cannot be read at line {state.line}, column {state.column}: {state.message};"
            " it is left as it is, mend it by hand or take the newest checkpoint"
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
    """Return `state` with `change` made: our keys replaced where they stand, every other character as it was.

    `now` is the time in ISO 8601 for lastActivity, `revision` that of the database. Raises IllegalMoveError for a move
    that the profile does not have; with `forced` it is made and told by `move`.
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
    # An unknown phase that is kept is nobody's move.
    if kind is MoveKind.ILLEGAL and change.phase is not None:
        raise _illegal(move)

    values: dict[str, Scalar] = dict(change.values)
    if move.start != move.target:
        values = {**resets(move), **values, "phase": move.target}

    values["lastActivity"] = now
    text = _written(state.text, values, revision=revision, phase=move.target)
    after = parse_state(text)
    if isinstance(after, StateDefect):
        raise StateCorruptError(
            f"{STATE} would become unreadable: {after.message}; nothing was written"
        )

    return PlannedState(before=state, after=after, move=kind)


def _illegal(move: Move) -> IllegalMoveError:
    moves = MOVES[move.profile].get(move.start)
    allowed = (*moves.legal, *moves.rework) if moves is not None else tuple(MOVES[move.profile])
    return IllegalMoveError(
        f"phase {move.start} does not lead to {move.target}; expected one of {', '.join(allowed)},"
        " nothing was written"
    )


def _written(text: str, values: Mapping[str, Scalar], *, revision: int | None, phase: str) -> str:
    top = {member.key: member for member in members(text)}
    if "workflow" not in top:
        raise StateCorruptError(f"{STATE} has no object workflow; it is left as it is, add one")

    found = {member.key for member in members(text, top["workflow"].start)}
    changes: list[_Change] = []

    for key, value in values.items():
        # Absent means false or 0: an old file gains no keys that say nothing.
        names = [name for name in (key, snake_case(key)) if name in found] or (
            [] if value in (False, 0) else [key]
        )
        changes += [(("workflow", name), value) for name in names]
        # A gate fact that some files carry at the top would contradict ours; it is kept in step.
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

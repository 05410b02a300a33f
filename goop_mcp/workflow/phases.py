"""Phases and the moves between them, for both profiles."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from goop_mcp.structs import DataStruct
from goop_mcp.validation.expectations import Profile

__all__ = [
    "MOVES",
    "PHASES",
    "RESET_ON_CLOSE",
    "Move",
    "MoveKind",
    "Moves",
    "may_progress",
    "resets",
    "weigh_move",
]


class MoveKind(StrEnum):
    """How a change of phase stands to the profile."""

    SAME = "same"
    LEGAL = "legal"
    REWORK = "rework"
    FORCED = "forced"
    ILLEGAL = "illegal"


class Moves(DataStruct, frozen=True):
    """Where one phase may lead: `legal` onwards, `rework` back with a warning."""

    legal: tuple[str, ...]
    rework: tuple[str, ...] = ()


class Move(DataStruct, frozen=True, kw_only=True):
    """A change from one phase to another. `forced` means that a person insists."""

    start: str
    target: str
    profile: Profile = "0.x"
    forced: bool = False


MOVES: Mapping[Profile, Mapping[str, Moves]] = MappingProxyType(
    {
        "0.x": MappingProxyType(
            {
                "idle": Moves(("plan",)),
                "plan": Moves(("research", "execute"), ("specify",)),
                "research": Moves(("specify",), ("plan",)),
                "specify": Moves(("execute",), ("plan",)),
                "execute": Moves(("accept",), ("plan",)),
                "accept": Moves(("idle",), ("execute",)),
            }
        ),
        "v1": MappingProxyType(
            {
                "idle": Moves(("discuss", "plan")),
                "discuss": Moves(("plan", "idle")),
                "plan": Moves(("execute", "discuss", "idle")),
                "execute": Moves(("accept", "plan")),
                "accept": Moves(("idle",)),
            }
        ),
    }
)
"""Every phase of each profile and where it leads. Staying is always legal and not listed."""

PHASES: Mapping[Profile, tuple[str, ...]] = MappingProxyType(
    {name: tuple(moves) for name, moves in MOVES.items()}
)
"""The phases of each profile, in the order of the work."""

RESET_ON_CLOSE: Mapping[str, bool | int] = MappingProxyType(
    {
        "specLocked": False,
        "acceptanceConfirmed": False,
        "currentWave": 0,
        "totalWaves": 0,
        "interviewComplete": False,
    }
)
"""What the move from accept to idle sets, by the keys of state.json."""

_BY_ITSELF = frozenset({("specify", "execute"), ("execute", "accept"), ("accept", "idle")})


def weigh_move(move: Move) -> MoveKind:
    """Classify `move` by its profile; a phase that the profile does not have is an illegal target.

    A forced move that would be illegal is FORCED: it may be written, and is logged as a decision.
    """
    moves = MOVES[move.profile]
    if move.start == move.target and move.start in moves:
        return MoveKind.SAME

    here = moves.get(move.start)
    if here is not None and move.target in here.legal:
        return MoveKind.LEGAL
    if here is not None and move.target in here.rework:
        return MoveKind.REWORK
    return MoveKind.FORCED if move.forced and move.target in moves else MoveKind.ILLEGAL


def resets(move: Move) -> Mapping[str, bool | int]:
    """Return the keys of state.json that `move` sets.

    A forced move of v1 sets manualOverride, a move from accept to idle resets all gates. Going back
    never clears specLocked, so that every other move sets nothing.
    """
    if move.profile == "v1" and weigh_move(move) is MoveKind.FORCED:
        return {"manualOverride": True}
    if (move.start, move.target) == ("accept", "idle"):
        return RESET_ON_CLOSE
    return {}


def may_progress(move: Move, *, gate_passed: bool, manual_override: bool = False) -> bool:
    """Return whether `move` may happen without anybody asking for it.

    Only three moves may, each after its gate; wave counters alone never open one. While
    `manual_override` is set, nothing progresses by itself.
    """
    if manual_override or not gate_passed:
        return False
    return (move.start, move.target) in _BY_ITSELF and weigh_move(move) is MoveKind.LEGAL

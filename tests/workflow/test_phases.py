"""Which phase leads to which."""

import pytest

from goop_mcp.validation.expectations import Profile
from goop_mcp.workflow.phases import MOVES, PHASES, Move, MoveKind, may_progress, resets, weigh_move
from tests.requirements import requirement

LEGAL = {
    "0.x": (
        "idle>plan plan>research plan>execute research>specify specify>execute execute>accept"
        " accept>idle"
    ),
    "v1": (
        "idle>discuss idle>plan discuss>plan discuss>idle plan>execute plan>discuss plan>idle "
        "execute>accept execute>plan accept>idle"
    ),
}
REWORK = {"0.x": "plan>specify research>plan specify>plan execute>plan accept>execute", "v1": ""}
PROFILES: tuple[Profile, Profile] = ("0.x", "v1")


@requirement("G-43")
@pytest.mark.parametrize("profile", PROFILES)
def test_every_pair_of_phases_is_legal_rework_same_or_illegal_as_published(
    profile: Profile,
) -> None:
    legal, rework = LEGAL[profile].split(), REWORK[profile].split()

    for start in PHASES[profile]:
        for target in PHASES[profile]:
            kind = weigh_move(Move(start=start, target=target, profile=profile))
            pair = f"{start}>{target}"
            expected = (
                MoveKind.SAME
                if start == target
                else (
                    MoveKind.LEGAL
                    if pair in legal
                    else MoveKind.REWORK
                    if pair in rework
                    else MoveKind.ILLEGAL
                )
            )
            assert kind is expected, pair


def test_phases_of_the_profiles_are_the_published_ones() -> None:
    assert PHASES["0.x"] == ("idle", "plan", "research", "specify", "execute", "accept")
    assert PHASES["v1"] == ("idle", "discuss", "plan", "execute", "accept")


@pytest.mark.parametrize("profile", PROFILES)
def test_every_move_ends_in_a_phase_of_its_profile(profile: Profile) -> None:
    for moves in MOVES[profile].values():
        assert {*moves.legal, *moves.rework} <= set(PHASES[profile])


@pytest.mark.parametrize("target", ["discuss", "deploy", ""])
def test_a_phase_that_the_profile_lacks_is_no_target_even_by_force(target: str) -> None:
    assert weigh_move(Move(start="idle", target=target)) is MoveKind.ILLEGAL
    assert weigh_move(Move(start="idle", target=target, forced=True)) is MoveKind.ILLEGAL


@pytest.mark.parametrize("profile", PROFILES)
def test_a_phase_that_nobody_knows_is_not_the_same_as_itself(profile: Profile) -> None:
    assert weigh_move(Move(start="deploy", target="deploy", profile=profile)) is MoveKind.ILLEGAL


def test_force_makes_an_illegal_move_a_forced_one_and_leaves_a_legal_one_legal() -> None:
    assert weigh_move(Move(start="idle", target="accept", forced=True)) is MoveKind.FORCED
    assert weigh_move(Move(start="idle", target="plan", forced=True)) is MoveKind.LEGAL


def test_a_state_file_with_an_unknown_phase_can_be_left_by_force_only() -> None:
    assert weigh_move(Move(start="deploy", target="plan")) is MoveKind.ILLEGAL
    assert weigh_move(Move(start="deploy", target="plan", forced=True)) is MoveKind.FORCED


@pytest.mark.parametrize("profile", PROFILES)
def test_closing_resets_every_gate(profile: Profile) -> None:
    assert resets(Move(start="accept", target="idle", profile=profile)) == {
        "specLocked": False,
        "acceptanceConfirmed": False,
        "currentWave": 0,
        "totalWaves": 0,
        "interviewComplete": False,
    }


@pytest.mark.parametrize(
    ("start", "target"), [("execute", "plan"), ("research", "plan"), ("accept", "execute")]
)
def test_going_back_never_clears_the_lock(start: str, target: str) -> None:
    assert resets(Move(start=start, target=target)) == {}


def test_a_forced_move_of_v1_sets_the_manual_override() -> None:
    assert resets(Move(start="idle", target="accept", profile="v1", forced=True)) == {
        "manualOverride": True
    }
    assert resets(Move(start="idle", target="accept", forced=True)) == {}


@pytest.mark.parametrize("profile", PROFILES)
def test_only_three_moves_may_happen_by_themselves(profile: Profile) -> None:
    able = {
        f"{start}>{target}"
        for start in PHASES[profile]
        for target in PHASES[profile]
        if may_progress(Move(start=start, target=target, profile=profile), gate_passed=True)
    }

    assert able <= {"specify>execute", "execute>accept", "accept>idle"}
    assert {"execute>accept", "accept>idle"} <= able


def test_nothing_progresses_before_a_closed_gate_or_under_a_manual_override() -> None:
    move = Move(start="execute", target="accept", profile="v1")

    assert not may_progress(move, gate_passed=False)
    assert not may_progress(move, gate_passed=True, manual_override=True)

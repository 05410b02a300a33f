"""Named commands of a trusted file prove and contradict what an agent was seen to run."""

from pathlib import Path

import pytest

from goop_mcp.evidence.activity import AgentActivity, ObservedCommand
from goop_mcp.evidence.evidence import Evidence
from goop_mcp.recording.trust import trust
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.services.named_checks import read_checks
from goop_mcp.validation.verdict import Verdict
from tests.recording.played import Player
from tests.recording.repositories import Work

CHECKS = '[checks.tests]\ncommand = ["./run-all", "--fast"]\n'


@pytest.fixture
def player(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Player:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    player = Player(Work(tmp_path / "work"), tmp_path / "state")
    player.work.write(".goopspec/checks.toml", CHECKS)
    return player


def person_trusts(player: Player) -> None:
    found = read_checks(player.work.folder)
    trust(found.path, found.digest)


def judged(player: Player, *lines: tuple[str, int | None]) -> Verdict:
    commands = tuple(
        ObservedCommand(position=at, line=line, status=status, source=f"step {at}")
        for at, (line, status) in enumerate(lines)
    )
    report = player.report('<check name="tests" passed="true">all green</check>')
    activity = AgentActivity(host="test", complete=True, commands=commands)
    return check_workspace(report, player.work.folder, evidence=Evidence(activity=activity))


def tier(verdict: Verdict) -> str:
    return next(item.tier for item in verdict.evidence if item.claim.startswith("check"))


def contradictions(verdict: Verdict) -> list[str]:
    return [each.rule for each in verdict.findings if each.rule == "evidence/check-failed"]


@pytest.mark.requirement("R-04")
def test_a_named_command_is_a_run_of_its_check_once_a_person_trusts_the_file(
    player: Player,
) -> None:
    # An agent could name `true`: until a person trusts it, nothing follows from the file.
    assert tier(judged(player, ("./run-all --fast", 0))) == "claimed"
    assert contradictions(judged(player, ("./run-all --fast", 1))) == []

    person_trusts(player)
    assert tier(judged(player, ("./run-all --fast", 0))) == "observed"
    assert contradictions(judged(player, ("./run-all --fast", 1))) == ["evidence/check-failed"]
    # The last run counts, and wrappers do not.
    lines = (("./run-all --fast", 1), ("timeout 60 ./run-all --fast", 0))
    assert tier(judged(player, *lines)) == "observed"
    assert contradictions(judged(player, *lines)) == []

    # Changed since, by whomever.
    player.work.write(".goopspec/checks.toml", CHECKS.replace("--fast", "--slow"))
    assert tier(judged(player, ("./run-all --slow", 0))) == "claimed"
    assert contradictions(judged(player, ("./run-all --slow", 1))) == []


@pytest.mark.parametrize(
    "line",
    [
        "./run-all",
        "./run-all --fast --only one",
        "./run-all $SPEED",
        "./run-all --fast || true",
        "./run-all --fast | tail -n 1",
        "./run-all --fast; echo done",
        "./run-all --fast &",
        "cd docs && ./run-all --fast",
        "pushd docs; ./run-all --fast",
        "echo ./run-all --fast",
        "if ./run-all --fast; then :; fi",
    ],
)
def test_other_lines_neither_prove_nor_contradict(player: Player, line: str) -> None:
    person_trusts(player)
    assert tier(judged(player, (line, 0))) == "claimed"
    assert contradictions(judged(player, (line, 1))) == []


def test_an_unknown_status_and_a_file_that_cannot_be_read_accuse_nobody(player: Player) -> None:
    person_trusts(player)
    for status in (None, 124, 130):
        assert contradictions(judged(player, ("./run-all --fast", status))) == []
    assert contradictions(judged(player, ("./run-all --fast", -9))) == ["evidence/check-failed"]
    player.work.write(".goopspec/checks.toml", "[checks")
    assert tier(judged(player, ("./run-all --fast", 0))) == "claimed"

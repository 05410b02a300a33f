"""`goop-mcp run --trust`: a person at a terminal, or the whole digest; nothing else trusts."""

import json
from pathlib import Path

import pytest

from goop_mcp.recording.trust import TrustError, whole_digest
from goop_mcp.services.named_checks import read_checks
from tests.cli.running import run_on_terminal
from tests.recording.played import Player
from tests.recording.repositories import Work


@pytest.fixture
def player(tmp_path: Path) -> Player:
    (tmp_path / "state").mkdir()
    player = Player(Work(tmp_path / "work"), tmp_path / "state")
    proof = tmp_path / "ran"
    player.work.write(".goopspec/checks.toml", f'[checks.tests]\ncommand = ["touch", "{proof}"]\n')
    return player


def digest(player: Player) -> str:
    return read_checks(player.work.folder).digest


def runs(player: Player) -> bool:
    return player.goop("run", "tests").returncode == 0


@pytest.mark.parametrize("given", [None, "", "y\n", "yes\n" * 9])
def test_where_nobody_can_be_asked_nothing_is_trusted(player: Player, given: str | None) -> None:
    refused = player.goop("run", "--trust", given=given)
    assert refused.returncode == 2
    assert "nobody has trusted .goopspec/checks.toml, which runs tests: touch" in refused.stderr
    assert f"--trust {digest(player)}" in refused.stderr
    assert not runs(player)


def test_the_whole_digest_trusts_this_content_and_no_other(player: Player) -> None:
    before = digest(player)
    trusted = player.goop("run", "--trust", before.upper())
    assert trusted.returncode == 0, trusted.stderr
    # What a person copies to where nobody can be asked.
    assert f"goop-mcp run --trust {before}" in trusted.stderr
    assert runs(player)

    changed = (player.work.folder / ".goopspec/checks.toml").read_text().replace("touch", "true")
    player.work.write(".goopspec/checks.toml", changed)
    assert not runs(player)
    refused = player.goop("run", "--trust", before)
    assert refused.returncode == 2
    assert f"the digest of .goopspec/checks.toml is {digest(player)}" in refused.stderr
    assert not runs(player)


@pytest.mark.parametrize("digits", [1, 12, 63])
def test_a_part_of_the_digest_trusts_nothing(player: Player, digits: int) -> None:
    refused = player.goop("run", "--trust", digest(player)[:digits])
    assert refused.returncode == 2
    assert "expected all 64 hexadecimal digits, as `goop-mcp run --trust`" in refused.stderr
    assert not runs(player)


@pytest.mark.parametrize("typed", ["n\n", "\n", "\x04"], ids=["no", "nothing", "end of input"])
def test_a_person_at_the_terminal_may_say_no(player: Player, typed: str) -> None:
    folder = player.work.folder
    ended = run_on_terminal("run", "--trust", cwd=folder, env=player.environment, typed=typed)
    assert "Do you trust it?" in ended.out
    assert ended.code != 0
    assert not runs(player)


def test_a_person_at_the_terminal_sees_the_commands_and_trusts_them(player: Player) -> None:
    folder = player.work.folder
    player.work.write(
        ".goopspec/checks.toml", '[checks.tests]\ncommand = ["true", "\\u001b[2Khidden\\nline"]\n'
    )
    ended = run_on_terminal("run", "--trust", cwd=folder, env=player.environment, typed="y\n")
    assert ended.code == 0, ended
    # Nothing of the command moves the cursor, or begins a line of its own.
    assert r"tests: true '\x1b[2Khidden\nline'" in ended.out
    assert runs(player)
    # A second time there is nothing to ask.
    again = player.goop("run", "--trust")
    assert again.returncode == 0, again.stderr


def test_a_command_after_it_is_refused(player: Player) -> None:
    for words in (("run", "--trust", digest(player), "tests"), ("run", "--trust", "tests")):
        assert player.goop(*words).returncode == 2
    assert not runs(player)


@pytest.mark.parametrize("given", ["", "0" * 63, "0" * 65, "g" * 64, "0" * 12, "0x" + "0" * 62])
def test_what_is_no_whole_digest_is_refused(given: str) -> None:
    with pytest.raises(TrustError, match="64 hexadecimal digits, as HERE shows"):
        whole_digest(given, shown_by="HERE")
    assert whole_digest(" " + "AB" * 32 + "\n", shown_by="HERE") == "ab" * 32


def test_a_thousand_trusted_files_with_long_paths_can_be_read(player: Player) -> None:
    kept = player.state / "goop-mcp" / "recorder" / "trusted.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    many = {f"/{number}/{'é' * 2_000}": "0" * 64 for number in range(1_000)}
    kept.write_text(json.dumps(many, indent=1), encoding="utf-8")
    kept.chmod(0o600)
    assert player.goop("run", "--trust", digest(player)).returncode == 0
    assert runs(player)
    assert len(json.loads(kept.read_text(encoding="utf-8"))) == 1_000

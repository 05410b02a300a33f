"""The tool run_check, with a real client over stdio."""

import sys
from pathlib import Path

import pytest
from mcp.client.stdio import StdioServerParameters

from tests.recording.played import Player
from tests.recording.repositories import Work
from tests.server.connections import connect, text_of


@pytest.fixture
def player(tmp_path: Path) -> Player:
    (tmp_path / "state").mkdir()
    player = Player(Work(tmp_path / "work"), tmp_path / "state")
    player.work.write(".goopspec/checks.toml", f'[checks.tests]\ncommand = ["{player.runner()}"]\n')
    return player


def serving(player: Player, *options: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "goop_mcp", "serve", *options],
        cwd=player.work.folder,
        env=player.environment,
    )


def test_a_client_runs_a_named_check_that_a_person_trusts(player: Player) -> None:
    with connect(serving(player, "--allow-run"), "auto") as connection:
        refused = connection.call(
            lambda: connection.client.call_tool("run_check", {"name": "tests"})
        )
        assert refused.is_error
        assert "goop-mcp run --trust" in text_of(refused)

        assert player.trust().returncode == 0
        done = connection.call(lambda: connection.client.call_tool("run_check", {"name": "tests"}))
        assert not done.is_error
        structure = done.structured_content
        assert structure is not None
        assert (structure["outcome"], structure["exit_code"]) == ("passed", 0)
        assert structure["output"] == "12 passed in 0.10s\n"
        assert player.goop("evidence", "verify", structure["run"]).returncode == 0

        unknown = connection.call(lambda: connection.client.call_tool("run_check", {"name": "rm"}))
        assert unknown.is_error
        assert "names no check 'rm'; it has tests" in text_of(unknown)


def test_the_tool_is_offered_only_where_a_person_allows_it(player: Player) -> None:
    with connect(serving(player), "auto") as connection:
        tools = connection.call(connection.client.list_tools).tools
        assert "run_check" not in {each.name for each in tools}

    done = player.goop("serve", "--allow-run", "--transport", "http")
    assert done.returncode == 2
    assert "--allow-run is for stdio" in done.stderr

"""Two orchestrators at the same moment, and a database that is away, as their clients see it."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from pydantic import JsonValue

from goop_mcp.cli.demo.full_player import Player, ToolAnswer
from tests.scenarios.checks import files_of
from tests.scenarios.connecting import stdio

AWAY = "postgresql://nobody:secret@127.0.0.1:1/shop"


async def at_once(players: list[Player], arguments: Mapping[str, JsonValue]) -> list[ToolAnswer]:
    """Return the answers to the same step, which every player takes at the same moment."""
    answers: list[ToolAnswer] = []

    async def ask(player: Player) -> None:
        answers.append(await player.ask("update_project", arguments))

    async with anyio.create_task_group() as group:
        for player in players:
            group.start_soon(ask, player)

    return answers


async def test_a_step_that_two_take_at_the_same_moment_is_done_once(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        players = [
            await stack.enter_async_context(Player(tmp_path, stdio("--project", str(tmp_path))))
            for _ in range(2)
        ]
        await players[0].ask("update_project", {"action": "init", "name": "shop"})

        moved = await at_once(players, {"action": "start_phase", "phase": "plan"})
        assert sorted(str(each.status) for each in moved) == ["done", "unchanged"], moved
        saved = await at_once(players, {"action": "checkpoint", "note": "going home"})
        assert [each.status for each in saved] == ["done", "done"]

        positions = [await player.position() for player in players]

    assert positions[0] == positions[1]
    assert (positions[0].phase, positions[0].drift) == ("plan", ())
    # Neither checkpoint has taken the place of the other.
    files = files_of(tmp_path)
    assert len([path for path in files if path.startswith("checkpoints/")]) == 2
    assert files["CHRONICLE.md"].decode().count("idle → plan") == 1


async def test_a_database_that_is_away_is_named_and_nothing_is_changed(tmp_path: Path) -> None:
    options = ("--project", str(tmp_path), "--database", AWAY, "--project-id", "shop")
    async with Player(tmp_path, stdio(*options)) as player:
        for action in ({"action": "start_phase", "phase": "plan"}, {"action": "init"}):
            refused = await player.ask("update_project", action)
            assert refused.is_error, refused.text
            assert "127.0.0.1:1" in refused.text
            assert "secret" not in refused.text

    assert files_of(tmp_path) == {}

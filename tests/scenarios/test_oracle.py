"""Each document and answer says what the events of a whole play imply, for every reader."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from goop_mcp.cli.demo.full_player import PlayStep
from tests.requirements import requirement
from tests.scenarios.oracle import Oracle
from tests.scenarios.orders_story import ORDERS
from tests.scenarios.playing import STEPS, play, stdio


@requirement("G-48", "G-59")
@pytest.mark.parametrize("steps", [STEPS, ORDERS], ids=["linkcheck", "orders"])
async def test_every_reader_finds_what_was_decided_and_what_waits(
    tmp_path: Path, steps: Sequence[PlayStep]
) -> None:
    server = stdio("--project", str(tmp_path))
    await play(tmp_path, server, steps=steps, watch=Oracle().watch)

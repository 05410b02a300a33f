"""The same play over every transport, protocol version and database, and with a terminal.

Slow, so that only `make scenarios` runs it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import get_args

import anyio.to_thread
import pytest

from goop_mcp.cli.demo.full_player import Player, PlayStep, ProjectPosition, ToolAnswer
from goop_mcp.cli.demo.full_story import FIRST_WAVE, IDEA, PLAN, SECOND_WAVE
from goop_mcp.settings import DatabaseUrl, Settings
from tests.postgres import Database, Server
from tests.scenarios.connecting import Transport, connecting, database_options, stdio
from tests.scenarios.playing import STORIES, Transcript, play
from tests.scenarios.terminal import answer_at_terminal

pytestmark = pytest.mark.scenarios

PROJECT = "shop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """How a play of a story is played."""

    story: str = "linkcheck"
    transport: Transport = "stdio"
    protocol_mode: str = "auto"
    at_terminal: bool = False
    is_shared: bool = False
    is_elsewhere: bool = False

    def __str__(self) -> str:
        asked = "terminal" if self.at_terminal else "elicitation"
        database = "postgresql" if self.is_shared else "sqlite"
        place = "-elsewhere" if self.is_elsewhere else ""
        return f"{self.story}-{self.transport}-{self.protocol_mode}-{asked}-{database}{place}"


REFERENCE = Combination()
TRANSPORTS = get_args(Transport)
OTHERS = [
    replace(REFERENCE, transport=transport, protocol_mode=protocol_mode)
    for transport in TRANSPORTS
    for protocol_mode in ("auto", "legacy")
]
OTHERS.remove(REFERENCE)
OTHERS += [
    replace(REFERENCE, at_terminal=True),
    replace(REFERENCE, at_terminal=True, transport="streamable-http"),
]
OTHERS += [replace(each, is_shared=True) for each in (REFERENCE, *OTHERS)]
OTHERS += [
    replace(REFERENCE, transport=transport, is_shared=True, is_elsewhere=True)
    for transport in TRANSPORTS
]
OTHERS = [replace(each, story=story) for story in STORIES for each in OTHERS]

IN_TWO_PLACES = {
    **STORIES,
    "linkcheck": [
        step for chapter in (IDEA, PLAN, FIRST_WAVE, SECOND_WAVE) for step in chapter.steps
    ],
}
"""What is played at a server without the folder and in a checkout: up to the second session."""

NEED_FOLDER = frozenset({"complete_interview", "lock_spec", "unlock_spec", "amend_spec"})
"""The actions that judge documents in the folder, which other servers refuse."""


async def play_as(
    combination: Combination, project: Path, database: Database | None = None
) -> Transcript:
    """Play everything as `combination` says, in an empty folder."""
    settings = Settings(project=project)
    if database is not None:
        url = DatabaseUrl(database.url())
        settings = replace(settings, database=url, project_id=PROJECT)
    options = database_options(settings)

    async def confirm(command: str, accept: bool) -> bool:
        answered = partial(
            answer_at_terminal, command, "--project", str(project), *options, accept=accept
        )
        code = await anyio.to_thread.run_sync(answered)
        assert code == (0 if accept else 1), f"{command} ended with {code}"
        return accept

    async def call(player: Player, step: PlayStep, _: ProjectPosition) -> ToolAnswer | None:
        """Make the call where it can be made: in the checkout, or at the server elsewhere."""
        action = step.arguments.get("action")
        is_remote = combination.transport != "stdio"
        in_checkout = (action == "init" and is_remote) or (
            combination.is_elsewhere and (action in {"init", *NEED_FOLDER} or reports(step))
        )
        if not in_checkout:
            return await player.call(step)

        if combination.is_elsewhere and action in NEED_FOLDER:
            refused = await player.ask("update_project", step.arguments)
            assert refused.status == "refused", refused.text
            assert "in a checkout" in refused.text
        async with Player(project, stdio("--project", str(project), *options)) as checkout:
            return await checkout.call(step)

    server_folder = project
    if combination.is_elsewhere:
        server_folder = project.parent / "server"
        server_folder.mkdir()

    steps = (IN_TWO_PLACES if combination.is_elsewhere else STORIES)[combination.story]
    with connecting(
        settings,
        transport=combination.transport,
        protocol_mode=combination.protocol_mode,
        folder=server_folder,
    ) as connect:
        return await play(
            project,
            connect,
            settings=settings,
            confirm=confirm if combination.at_terminal else None,
            call=call if combination.is_shared else None,
            steps=steps,
            is_elsewhere=combination.is_elsewhere,
        )


def reports(step: PlayStep) -> bool:
    """Whether an agent reports, whose claims are verified where its files are."""
    return step.tool == "record_report"


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Transcript]:
    """Play each story once as `make test` does."""
    return {
        story: anyio.run(
            play_as, replace(REFERENCE, story=story), tmp_path_factory.mktemp("reference")
        )
        for story in STORIES
    }


@pytest.mark.parametrize("combination", OTHERS, ids=str)
async def test_every_combination_comes_to_the_same_answers_and_documents(
    combination: Combination,
    tmp_path: Path,
    references: Mapping[str, Transcript],
    postgres_server: Server,
) -> None:
    reference = references[combination.story]
    project = tmp_path / "project"
    project.mkdir()

    if combination.is_shared:
        with postgres_server.database() as database:
            played = await play_as(combination, project, database)
    else:
        played = await play_as(combination, project)

    if combination.is_elsewhere:
        # The texts of the documents are compared after each step, where both places have them.
        assert_same(played.steps, _first(reference.steps, len(played.steps)))
        assert_same(played.statuses, _first(reference.statuses, len(played.statuses)))
        return

    assert_same(played.steps, reference.steps)
    assert_same(played.statuses, reference.statuses)
    assert_same(played.documents, reference.documents)


def _first(values: Mapping[str, object], number: int) -> Mapping[str, object]:
    return dict(list(values.items())[:number])


def assert_same(played: Mapping[str, object], reference: Mapping[str, object]) -> None:
    """Assert that two plays are equal; the first difference is shown, not all of them."""
    assert list(played) == list(reference)
    for name, found in played.items():
        assert found == reference[name], name

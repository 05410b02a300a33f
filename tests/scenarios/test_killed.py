"""A server killed before, in the middle of and after each step; the project ends the same.

After each kill another server is started, as a host does. A step has happened as a whole then, or
not at all, whoever looks; and the call may be made again.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, get_args

import pytest
from httpx2 import TransportError
from mcp import MCPError

from goop_mcp.cli.demo.full_player import (
    Connect,
    Player,
    PlayStep,
    ProjectPosition,
    ToolAnswer,
    position_of,
)
from goop_mcp.cli.demo.full_story import IDEA, PLAN
from goop_mcp.context import AppContext
from goop_mcp.settings import DatabaseUrl, Settings
from goop_mcp.store.failpoints import Failpoint
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.store.statistics import StatisticsFilter
from tests.postgres import Server
from tests.scenarios import checks
from tests.scenarios.connecting import Transport, connecting, database_options, stdio
from tests.scenarios.killed_server import Orders
from tests.scenarios.playing import STORIES, Transcript, play

Places = Literal["before", "rows", "files"]

# Blocks of state are replaced, and what people wrote is imported by whoever writes next.
_NOT_COUNTED: Final = frozenset({"state_block", "imported", "adopted"})
STATE_FILES: Final = ("state.json", "CHRONICLE.md", "ADL.md", "HANDOFF.md")
BEGINNING: Final = "beginning"
PLAYED: Final = {**STORIES, BEGINNING: [*IDEA.steps, *PLAN.steps]}
KILLS: Final = [
    *(("linkcheck", places, "stdio") for places in get_args(Places)),
    *(("orders", places, "stdio") for places in ("rows", "files")),
    ("orders", "rows", "streamable-http"),
]
"""Story, kind of place and transport of each play with kills."""

# Calls that make another entry each time; an agent that has no answer asks for the status first.
_NOT_REPEATED: Final = frozenset({"checkpoint", "handoff", "checkpoint_report"})


def rows_of(reading: ReadTransaction) -> Counter[str]:
    """Return how much is recorded, which shows whether a step has happened."""
    counts = Counter(event.kind for event in reading.events() if event.kind not in _NOT_COUNTED)
    replies = reading.statistics(StatisticsFilter()).replies
    answered = sum(len(reading.confirmations(round=each.number)) for each in reading.rounds())
    counts.update(replies=replies.accepted + replies.rejected, answered=answered)
    # Only a shared database keeps the state, which init creates there.
    counts["state"] = reading.stored_state() is not None
    return counts


@dataclass(slots=True)
class Recorder:
    """Plays without kills, and keeps what every step passes and records."""

    settings: Settings
    orders: Orders
    points: dict[str, Sequence[Failpoint]] = field(default_factory=dict)
    rows: dict[str, Counter[str]] = field(default_factory=dict)

    async def __call__(
        self, player: Player, step: PlayStep, _: ProjectPosition
    ) -> ToolAnswer | None:
        self.orders.let_live()
        answer = await player.call(step)
        self.points[step.name] = self.orders.passed
        self.rows[step.name] = recorded(self.settings)
        return answer


Wholes = dict[tuple[str, bool], tuple[Recorder, Transcript]]


@dataclass(slots=True)
class Killer:
    """Plays with one kill in each step, at one kind of place, and counts the kills.

    `places` is that kind: before anything is written, among its rows, or after its last commit,
    while its files are written. `connect_again` makes the connection of a killed call, None for
    that of the player. `completed` counts the files that were outdated after a kill, and
    that the restart wrote.
    """

    recorder: Recorder
    settings: Settings
    orders: Orders
    places: Places
    connect_again: Connect | None = None
    kills: Counter[Failpoint] = field(default_factory=Counter)
    completed: Counter[str] = field(default_factory=Counter)

    async def __call__(
        self, player: Player, step: PlayStep, before: ProjectPosition
    ) -> ToolAnswer | None:
        if step.name == "init" and self.connect_again is not None and self.settings.database:
            # A server of many projects makes none in its database; a checkout does.
            options = ("--project", str(player.folder), *database_options(self.settings))
            async with Player(player.folder, stdio(*options)) as checkout:
                return await checkout.call(step)

        number = self._place(self.recorder.points[step.name])
        if number is not None and await self._is_killed_and_done(player, step, before, number):
            return None

        self.orders.let_live()
        return await player.call(step)

    def _place(self, points: Sequence[Failpoint]) -> int | None:
        """Return the point at which a step is killed, None for one that writes nothing.

        Within its kind the point goes round with the steps, so that all of them have their turn.
        """
        if Failpoint.INSERT not in points:
            return None

        last = len(points) - 1 - list(reversed(points)).index(Failpoint.COMMIT)
        turn = self.kills.total()
        if self.places == "before":
            return 0
        if self.places == "rows":
            return 1 + turn % max(last - 1, 1)
        return last + turn * 5 % (len(points) - last)

    async def _is_killed_and_done(
        self, player: Player, step: PlayStep, before: ProjectPosition, number: int
    ) -> bool:
        """Kill the server at the point, start another one, and return whether the step is done."""
        self.orders.kill_at(number)
        if not await self._is_killed(player, step):
            # A repeated call passes fewer points, and has done the step then.
            self.orders.let_live()
            await player.begin_session()
            return True

        passed = self.orders.passed
        self.orders.let_live()
        await player.begin_session()

        done = self._is_done(step)
        self.kills[passed[-1]] += 1
        expected = step.position(before) if done else before
        found = position_of((await player.ask("project_status", {})).values)
        if step.name == "init" and not done:
            # Its files come one by one before the row; a second init creates those that lack.
            found = replace(found, exists=before.exists, next=before.next, drift=before.drift)
        # A question may have been asked already; it stays open, and is the same again.
        asked = Counter(found.waiting) - Counter(expected.waiting)
        assert set(asked) <= {step.arguments.get("action")}
        assert replace(found, waiting=()) == replace(expected, waiting=()), (number, passed)

        outdated = checks.files_of(self.settings.project)
        await self._recover(player, step, is_done=done)
        for path in checks.changed(outdated, checks.files_of(self.settings.project)):
            name = path.partition("/")[0] if "/" in path else path
            self.completed[name] += done

        assert (self._is_done(step), done) in ((True, True), (False, False))
        return done

    async def _is_killed(self, player: Player, step: PlayStep) -> bool:
        """Make the call, and return whether the server was killed in it."""
        is_killed = False
        try:
            if self.connect_again is None:
                await player.call(step)
            else:
                # The end of an HTTP server ends all that its client runs, and not only the call.
                async with Player(player.folder, self.connect_again) as other:
                    await other.call(step)
        except* (MCPError, TransportError):
            is_killed = True
        return is_killed

    def _is_done(self, step: PlayStep) -> bool:
        """Whether the step is recorded: its rows are all there, or none of them."""
        rows, names = recorded(self.settings), list(self.recorder.rows)
        number = names.index(step.name)
        earlier = self.recorder.rows[names[number - 1]] if number else Counter[str]()
        later = self.recorder.rows[step.name]
        if rows == later:
            return rows != earlier or Failpoint.COMMIT not in self.recorder.points[step.name]

        assert rows == earlier, f"{step.name} was recorded in part"
        return False

    async def _recover(self, player: Player, step: PlayStep, *, is_done: bool) -> None:
        """Let files follow the rows: by the same call again where that changes nothing."""
        if is_done and step.status in ("done", "recorded") and step.name not in _NOT_REPEATED:
            again = await player.call(step)
            assert again is not None
            assert again.status in ("duplicate", "unchanged", "refused"), again.text

        with AppContext(self.settings) as application:
            application.writing_context()


def recorded(settings: Settings) -> Counter[str]:
    """Return how much the database holds, as another process finds it."""
    with AppContext(settings) as application:
        return application.store.read(rows_of) if application.store.exists() else Counter()


@pytest.fixture(scope="module")
def wholes() -> Wholes:
    """Return the plays without kills so far, by story and whether their database is shared."""
    return {}


async def play_killed(
    places: Places,
    settings: Callable[[str], Settings],
    wholes: Wholes,
    *,
    story: str,
    transport: Transport = "stdio",
) -> Killer:
    """Play with kills, and once without; assert that both come to the same."""
    here = settings("killed")
    orders, steps = Orders(here.project.with_suffix(".orders")), PLAYED[story]
    key = story, here.database is not None
    if key not in wholes:
        there = settings("whole")
        recorder = Recorder(there, Orders(there.project.with_suffix(".orders")))
        wholes[key] = recorder, await play_by(recorder, steps)

    recorder, whole = wholes[key]
    killer = Killer(recorder, here, orders, places)
    killed = await play_by(killer, steps, transport=transport)

    assert killed.statuses == whole.statuses
    assert list(killed.documents) == list(whole.documents)
    for path, text in killed.documents.items():
        assert text == whole.documents[path], path

    left = [path.name for path in here.project.rglob("*.goop-tmp")]
    assert not left, "temporary files of killed servers were left"

    return killer


async def play_by(
    caller: Recorder | Killer, steps: Sequence[PlayStep], *, transport: Transport = "stdio"
) -> Transcript:
    """Play `steps`; the caller makes the calls, at servers that follow its orders."""
    settings = caller.settings
    program = ("tests.scenarios.killed_server", str(caller.orders.path))
    with connecting(settings, transport=transport, program=program, restarts=True) as connect:
        if isinstance(caller, Killer) and transport != "stdio":
            caller.connect_again = connect
        return await play(settings.project, connect, settings=settings, call=caller, steps=steps)


def in_a_file(tmp_path: Path) -> Callable[[str], Settings]:
    """Return settings of a play with the database in its project."""

    def settings(name: str) -> Settings:
        (tmp_path / name).mkdir()
        return Settings(project=tmp_path / name)

    return settings


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], Settings]]:
    """Return the settings of plays with each database, by the names of their folders."""
    in_file = in_a_file(tmp_path)
    if request.param == "sqlite":
        yield in_file
        return

    server: Server = request.getfixturevalue("postgres_server")
    with server.database() as one, server.database() as two:
        urls = {"whole": DatabaseUrl(one.url()), "killed": DatabaseUrl(two.url())}
        yield lambda name: replace(in_file(name), database=urls[name], project_id="shop")


@pytest.mark.parametrize("places", ["rows", "files"])
async def test_killed_up_to_execution_the_project_gets_there_the_same(
    tmp_path: Path, places: Places, wholes: Wholes
) -> None:
    killer = await play_killed(places, in_a_file(tmp_path), wholes, story=BEGINNING)

    assert killer.kills.total() >= 8
    if places == "files":
        assert killer.completed["state.json"] >= 2


@pytest.mark.scenarios
@pytest.mark.parametrize(("story", "places", "transport"), KILLS)
async def test_killed_at_every_step_the_project_ends_the_same(
    settings: Callable[[str], Settings],
    wholes: Wholes,
    story: str,
    places: Places,
    transport: Transport,
) -> None:
    killer = await play_killed(places, settings, wholes, story=story, transport=transport)

    assert killer.kills.total() >= 0.6 * len(STORIES[story])
    if places == "files" and story == "linkcheck":
        # A short story does not come to a kill at each file.
        for name in (*(STATE_FILES if killer.settings.writes_files else ()), "SPEC.md", "archive"):
            assert killer.completed[name] >= 1, (name, killer)

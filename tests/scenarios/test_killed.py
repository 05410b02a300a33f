"""A server killed before, in the middle of and after each step; the project ends the same.

After each kill another server is started, as a host does. A step has happened as a whole then, or
not at all, whoever looks; and the call may be made again.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import pytest
from mcp import MCPError

from goop_mcp.cli.demo.full_player import Answer, Connect, Player, PlayStep, Position, position_of
from goop_mcp.context import AppContext
from goop_mcp.settings import DatabaseUrl, Settings
from goop_mcp.store.failpoints import Failpoint
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.store.statistics import StatisticsFilter
from tests.postgres import Server
from tests.scenarios import checks
from tests.scenarios.killed_server import Orders
from tests.scenarios.playing import STEPS, Transcript, play, stdio

# Blocks of state are replaced, and what people wrote is imported by whoever writes next.
_NOT_COUNTED: Final = frozenset({"state_block", "imported", "adopted"})
# Calls that make another entry each time; an agent that has no answer asks for the status first.
_NOT_REPEATED: Final = frozenset({"checkpoint", "handoff", "checkpoint_report"})


def rows_of(reading: ReadTransaction) -> dict[str, int]:
    """Return how much is recorded, which tells whether a step has happened."""
    counts = Counter(event.kind for event in reading.events() if event.kind not in _NOT_COUNTED)
    replies = reading.statistics(StatisticsFilter()).replies
    answered = sum(len(reading.confirmations(round=each.number)) for each in reading.rounds())
    return {**counts, "replies": replies.accepted + replies.rejected, "answered": answered}


@dataclass(slots=True)
class Recorder:
    """Plays without kills, and keeps what every step passes and records."""

    settings: Settings
    orders: Orders
    points: dict[str, Sequence[Failpoint]] = field(default_factory=dict)
    rows: dict[str, Mapping[str, int]] = field(default_factory=dict)

    async def __call__(self, player: Player, step: PlayStep, _: Position) -> Answer | None:
        self.orders.let_live()
        answer = await player.call(step)
        self.points[step.name] = self.orders.passed
        self.rows[step.name] = recorded(self.settings)
        return answer


@dataclass(slots=True)
class Killer:
    """Plays with the kills that a recorded play allows, and counts them by kind of place.

    `completed` counts the files that were behind after a kill and that the restart wrote.
    """

    recorder: Recorder
    settings: Settings
    orders: Orders
    only: frozenset[str] | None = None
    kills: Counter[str] = field(default_factory=Counter)
    completed: Counter[str] = field(default_factory=Counter)
    turn: int = 0

    async def __call__(self, player: Player, step: PlayStep, before: Position) -> Answer | None:
        points = self.recorder.points[step.name]
        is_hit = self.only is None or step.name in self.only
        for number in self._places(points) if is_hit else ():
            if await self._is_killed_and_done(player, step, before, number):
                return None

        self.orders.let_live()
        return await player.call(step)

    def _places(self, points: Sequence[Failpoint]) -> Iterator[int]:
        """Yield where to kill: before the step, in its rows, and once after its last commit.

        The place after it goes round with the steps, so that all of them have their turn.
        """
        if Failpoint.COMMIT not in points:
            return

        last = len(points) - 1 - list(reversed(points)).index(Failpoint.COMMIT)
        self.turn += 1
        yield 0
        yield 1 + self.turn % max(last - 1, 1)
        yield last + self.turn * 5 % (len(points) - last)

    async def _is_killed_and_done(
        self, player: Player, step: PlayStep, before: Position, number: int
    ) -> bool:
        """Kill the server at the point, start another one, and return whether the step is done."""
        self.orders.kill_at(number)
        try:
            await player.call(step)
        except MCPError:
            pass
        else:
            # A repeated call passes fewer points, and has done the step then.
            self.orders.let_live()
            await player.begin_session()
            return True

        passed = self.orders.passed
        self.orders.let_live()
        await player.begin_session()

        done = self._is_done(step)
        at = "nothing" if not done else "files"
        self.kills[f"{at}: {passed[-1]}"] += 1
        expected = step.position(before) if done else before
        found = position_of((await player.ask("project_status", {})).values)
        # A question may have been asked already; it stays open, and is the same again.
        waiting = {found.waiting} - {(str(step.arguments.get("action")),)}
        assert not waiting - {expected.waiting}
        assert replace(found, waiting=()) == replace(expected, waiting=()), (number, passed)

        behind = checks.files_of(self.settings.project)
        await self._recover(player, step, is_done=done)
        for path in checks.changed(behind, checks.files_of(self.settings.project)):
            name = path.partition("/")[0] if "/" in path else path
            self.completed[name] += done

        assert (self._is_done(step), done) in ((True, True), (False, False))
        return done

    def _is_done(self, step: PlayStep) -> bool:
        """Whether the step is recorded: its rows are all there, or none of them."""
        rows, names = recorded(self.settings), list(self.recorder.rows)
        number = names.index(step.name)
        earlier = self.recorder.rows[names[number - 1]] if number else {}
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


def recorded(settings: Settings) -> Mapping[str, int]:
    """Return how much the database holds, as another process finds it."""
    with AppContext(settings) as application:
        return application.store.read(rows_of) if application.store.exists() else {}


def connecting(orders: Orders, settings: Settings) -> Connect:
    """Return what connects to a server that is killed as ordered."""
    options = ["--project", str(settings.project)]
    if settings.database is not None:
        options += ["--database", settings.database.reveal(), "--project-id", "shop"]
    return stdio(*options, program=("tests.scenarios.killed_server", str(orders.path)))


async def play_with_kills(
    tmp_path: Path,
    settings: Callable[[Path, str], Settings],
    *,
    steps: Sequence[PlayStep] = STEPS,
    only: frozenset[str] | None = None,
) -> Killer:
    """Play once without and once with kills; assert that both come to the same."""
    transcripts: list[Transcript] = []
    recorder: Recorder | None = None
    killer: Killer | None = None
    for name in ("whole", "killed"):
        folder = tmp_path / name
        folder.mkdir()
        here, orders = settings(folder, name), Orders(tmp_path / f"{name}.orders")
        if recorder is None:
            caller: Recorder | Killer = (recorder := Recorder(here, orders))
        else:
            caller = killer = Killer(recorder, here, orders, only)
        connect = connecting(orders, here)
        played = await play(folder, connect, settings=here, call=caller, steps=steps)
        transcripts.append(played)

    whole, killed = transcripts
    assert killed.statuses == whole.statuses
    assert list(killed.documents) == list(whole.documents)
    for path, text in killed.documents.items():
        assert text == whole.documents[path], path

    left = [path.name for path in (tmp_path / "killed").rglob("*.goop-tmp")]
    assert not left, "temporary files of killed servers were left"
    assert killer is not None

    return killer


def in_a_file(folder: Path, _name: str) -> Settings:
    """Return settings with the database in the project."""
    return Settings(project=folder)


@pytest.mark.scenarios
async def test_killed_at_every_step_the_project_ends_the_same(tmp_path: Path) -> None:
    killer = await play_with_kills(tmp_path, in_a_file)

    for name in ("state.json", "CHRONICLE.md", "ADL.md", "HANDOFF.md", "SPEC.md", "archive"):
        assert killer.completed[name] >= 1, name


@pytest.mark.scenarios
async def test_killed_at_every_step_a_shared_project_ends_the_same(
    tmp_path: Path, postgres_server: Server
) -> None:
    with postgres_server.database() as one, postgres_server.database() as two:
        urls = {"whole": one.url(), "killed": two.url()}

        def shared(folder: Path, name: str) -> Settings:
            return Settings(project=folder, database=DatabaseUrl(urls[name]), project_id="shop")

        killer = await play_with_kills(tmp_path, shared)

    for name in ("SPEC.md", "archive"):
        assert killer.completed[name] >= 1, name

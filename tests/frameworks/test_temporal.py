"""A task of a run as an activity of Temporal, in the environment that Temporal has for tests."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip(
    "temporalio", reason="temporalio is not installed here; make frameworks tests it"
)

from temporalio.testing import ActivityEnvironment

from tests.delegation.graphs import chain
from tests.delegation.reports import report
from tests.delegation.runners import Place, check_run
from tests.frameworks.recipes import names_of
from tests.postgres import Database


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Iterator[Place]:
    with Place(tmp_path, database.url()) as made:
        yield made


async def test_an_activity_works_on_a_task_with_heartbeats_and_is_called_again(
    place: Place, tmp_path: Path
) -> None:
    asked: list[str] = []
    beats: list[object] = []

    async def worker(message: str) -> str:
        asked.append("b" if "Do task b" in message else "a")
        await asyncio.sleep(0.1)
        return report()

    run = place.ledger.create(chain(), input={})
    made = names_of("Temporal", page="delegation.md")["GoopTasks"]
    tasks = made(place.store, {"worker": worker}, tmp_path)
    environment = ActivityEnvironment()
    environment.on_heartbeat = lambda *details: beats.append(details)
    states = [await environment.run(tasks.work, run, each) for each in ("a", "a", "b", "b")]

    assert states == ["accepted"] * 4
    assert asked == ["a", "b"]
    assert beats
    check_run(place.store, run)
    assert place.ledger.run(run).state == "finished"


async def test_a_cancelled_activity_gives_its_task_back(place: Place, tmp_path: Path) -> None:
    began = asyncio.Event()

    async def worker(_: str) -> str:
        began.set()
        await asyncio.sleep(60)
        return report()

    run = place.ledger.create(chain(), input={})
    made = names_of("Temporal", page="delegation.md")["GoopTasks"]
    environment = ActivityEnvironment()
    work = made(place.store, {"worker": worker}, tmp_path).work
    activity = asyncio.create_task(environment.run(work, run, "a"))
    await asyncio.wait_for(began.wait(), 30)
    environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(activity, 30)

    assert place.states(run) == {"a": "ready", "b": "waiting"}
    check_run(place.store, run)

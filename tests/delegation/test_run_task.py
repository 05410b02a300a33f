"""One task at a time, called by an engine that may call it twice."""

import asyncio
import time
from pathlib import Path

import anyio
import pytest

from goop_mcp.delegation import RunError, run_task
from goop_mcp.delegation.agents import agent_makers
from goop_mcp.delegation.runner import Runner
from goop_mcp.errors import GoopError
from goop_mcp.store.failpoints import Failpoint, install
from goop_mcp.store.graph_rows import GraphReportRow
from tests.delegation.graphs import chain
from tests.delegation.reports import report
from tests.delegation.runners import Place, check_run


async def test_a_task_is_asked_once_however_often_it_is_called(
    any_place: Place, tmp_path: Path
) -> None:
    asked: list[str] = []

    async def worker(message: str) -> str:
        asked.append("ab"["Do task b" in message])
        await anyio.sleep(0.05)
        return report()

    run = any_place.ledger.create(chain(), input={})

    async def call(task: str) -> str:
        done = await run_task(
            any_place.store, run, task, agents={"worker": worker}, project=tmp_path
        )
        assert done.outcome is not None
        return done.state

    with pytest.raises(RunError, match=r"b of run-.* waits for other tasks"):
        await call("b")
    with pytest.raises(RunError, match="no task"):
        await call("c")

    # Two at once, and again when it has ended: one of them asks.
    states: list[str] = []

    async def note(task: str) -> None:
        states.append(await call(task))

    async with anyio.create_task_group() as group:
        group.start_soon(note, "a")
        group.start_soon(note, "a")
    await note("a")
    await note("b")
    assert states == ["accepted"] * 4
    assert asked == ["a", "b"]
    check_run(any_place.store, run)
    assert any_place.ledger.run(run).state == "finished"


async def test_a_cancelled_call_gives_its_task_back(any_place: Place, tmp_path: Path) -> None:
    async def slow(_: str) -> str:
        await anyio.sleep(60)
        return report()

    async def fast(_: str) -> str:
        return report()

    run = any_place.ledger.create(chain(), input={})
    with anyio.move_on_after(1):
        await run_task(any_place.store, run, "a", agents={"worker": slow}, project=tmp_path)
    assert any_place.states(run)["a"] == "ready"
    check_run(any_place.store, run)

    done = await run_task(any_place.store, run, "a", agents={"worker": fast}, project=tmp_path)
    assert done.state == "accepted"


async def test_a_runner_that_is_stopped_at_once_gives_its_task_back(
    any_place: Place, tmp_path: Path
) -> None:
    """As the second signal to a worker of procrastinate does."""

    async def worker(_: str) -> str:
        runner.stop()
        await anyio.sleep_forever()
        return report()

    run = any_place.ledger.create(chain(), input={})
    makers = agent_makers(chain(), project=tmp_path, given={"worker": worker})
    runner = Runner(any_place.ledger, run, makers, project=tmp_path)
    with anyio.fail_after(30):
        assert await runner.run_task("a")
    assert any_place.states(run) == {"a": "ready", "b": "waiting"}
    check_run(any_place.store, run)


@pytest.mark.parametrize(("change", "state"), [(2, "ready"), (3, "accepted")])
def test_a_call_that_is_cancelled_as_a_change_is_made(
    place: Place, change: int, state: str
) -> None:
    """With the cancellation of asyncio, which waits for no thread and comes once."""

    async def worker(_: str) -> str:
        return report()

    run = place.ledger.create(chain(), input={})
    changes: list[str] = []

    async def play() -> None:
        loop = asyncio.get_running_loop()

        def cancel(point: Failpoint) -> None:
            if point == Failpoint.COMMIT:
                changes.append(point)
                # The runner is known, the task is claimed, its report is written.
                if len(changes) == change:
                    loop.call_soon_threadsafe(call.cancel)
                    # Before the loop learns of it.
                    time.sleep(0.05)

        install(cancel)
        call = asyncio.create_task(
            run_task(place.store, run, "a", agents={"worker": worker}, project=place.folder)
        )
        with pytest.raises(asyncio.CancelledError):
            await call

    try:
        asyncio.run(play())
    finally:
        install(None)
    assert place.states(run)["a"] == state
    check_run(place.store, run)


async def test_a_report_that_a_killed_runner_left_is_recorded_when_its_task_is_called_again(
    any_place: Place, tmp_path: Path
) -> None:
    async def worker(_: str) -> str:
        return report()

    recorded: list[str] = []
    is_full = True

    def record(left: GraphReportRow) -> int:
        if is_full:
            raise GoopError("the disk is full")
        recorded.append(left.task)
        return 7

    run = any_place.ledger.create(chain(), input={})

    async def call() -> tuple[str, int | None]:
        done = await run_task(
            *(any_place.store, run, "a"),
            agents={"worker": worker},
            project=tmp_path,
            record=record,
        )
        row = any_place.store.read(lambda reading: reading.graphs.task(run, "a"))
        assert row is not None
        return done.state, row.report

    # As after a kill between the two: the task is accepted, its report is not recorded.
    assert await call() == ("accepted", None)
    is_full = False
    assert await call() == ("accepted", 7)
    assert await call() == ("accepted", 7)
    assert recorded == ["a"]
    events = any_place.store.read(lambda reading: reading.graphs.events(run))
    assert [each.what for each in events if "record" in each.what] == ["not_recorded", "recorded"]
    check_run(any_place.store, run)

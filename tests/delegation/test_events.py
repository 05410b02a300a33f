"""A program reads what happens in a run, in pages, while others work on it and afterwards."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from goop_mcp.delegation import RunError, events, resume, run_graph
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.services.runs import read_view
from goop_mcp.store.graph_rows import GraphEventRow
from goop_mcp.store.interface import Store
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.delegation.graphs import Team, chain, login


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_pages_are_what_on_event_was_called_with(
    store: Store, tmp_path: Path, backend: str
) -> None:
    shown: list[GraphEventRow] = []

    async def play() -> None:
        team = Team()
        run = partial(run_graph, login(), store=store, agents={"team": team}, project=tmp_path)
        done = await run(input={"goal": "login"}, on_event=shown.append)

        read: list[GraphEventRow] = []
        while page := await events(store, done.id, after=len(read), limit=4):
            assert len(page) <= 4
            read += page
        assert read == shown
        assert [each.seq for each in read] == list(range(1, len(read) + 1))

        # It waits for a person; whoever reads goes on where it was.
        Ledger(store).answer(done.id, "ship", "yes", by="ann", note="go")
        [decided, *_] = await events(store, done.id, after=len(read))
        assert (decided.task, decided.what) == ("ship", "decided")
        assert json.loads(decided.data)["answer"] == "yes"

        done = await resume(store, done.id, agents={"team": team}, project=tmp_path)
        [*_, last] = await events(store, done.id)
        assert (last.task, last.what, json.loads(last.data)) == (None, "run", {"state": "finished"})
        assert await events(store, done.id, after=last.seq) == []

    anyio.run(play, backend=backend)


def test_a_run_is_read_while_it_goes_on(store: Store, tmp_path: Path) -> None:
    seen: list[tuple[str | None, str]] = []

    async def play() -> None:
        begun = anyio.Event()
        found: list[GraphEventRow] = []
        name = Ledger(store).create(chain(), input={})

        async def agent(text: str) -> str:
            begun.set()
            return await Team()(text)

        async def follow() -> None:
            await begun.wait()
            while not (found and found[-1].what == "run"):
                page = await events(store, name, after=found[-1].seq if found else 0)
                found.extend(page)
                await anyio.sleep(0.01)
            seen.extend((each.task, each.what) for each in found)

        async with anyio.create_task_group() as group:
            group.start_soon(follow)
            await resume(store, name, agents={"worker": agent}, project=tmp_path)

    anyio.run(play)
    asked = [task for task, what in seen if what == "asked"]
    assert asked == ["a", "b"]


def test_what_cannot_be_read_is_refused(store: Store) -> None:
    with pytest.raises(RunError, match="there is no run 'nope'"):
        anyio.run(events, store, "nope")
    for limit in (0, 10_001, True):
        with pytest.raises(ValueError, match="from 1 to 10,000"):
            anyio.run(partial(events, store, "nope", limit=limit))


async def test_what_a_changed_graph_begins_again_is_not_shown_as_it_ended(
    store: Store, tmp_path: Path
) -> None:
    agents = {"worker": lambda _: COMPLETE_REPLY}
    done = await run_graph(chain(), store=store, agents=agents, project=tmp_path)
    assert done.state == "finished"
    first, second = chain().tasks
    changed = replace(chain(), tasks=(replace(first, prompt="Do it otherwise."), second))
    Ledger(store).change_graph(done.id, changed)

    view = read_view(store, done.id)
    assert view.states == {"a": "ready", "b": "waiting"}
    assert view.states == {
        row.id: row.state for row in store.read(lambda reading: reading.graphs.tasks(done.id))
    }
    assert [each.round for each in view.tasks.values()] == [1, 1]
    assert view.state == "running"

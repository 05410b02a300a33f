"""A run keeps the texts of all attempts, of the failed ones, or none; what follows is the same."""

import json
from pathlib import Path

import anyio
import pytest

from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import Ledger, RunError
from goop_mcp.delegation.parts import GraphAgent, GraphRetry, GraphTask
from goop_mcp.delegation.runner import run_graph
from goop_mcp.retry.attempts import Attempt
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.runs import record_task
from goop_mcp.store.interface import Store
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.scaffold import create_project
from tests.cli.running import run as run_program
from tests.delegation.reports import report
from tests.delegation.runners import Place, check_run
from tests.delegation.test_doors import where
from tests.server.test_asking import NOW

REJECTED = f"The walrus was painted.\n\n{report('DONE-ISH', summary='A green walrus.')}"
ACCEPTED = f"The walrus was washed.\n\n{report(summary='A clean walrus.')}"
TWICE = GraphRetry(max_attempts=2)
ZOO = Graph(
    name="zoo",
    protocol="goop_report",
    agents=(
        GraphAgent("keeper", retry=TWICE),
        GraphAgent("cook", retry=TWICE),
        GraphAgent("painter", retry=TWICE),
    ),
    tasks=(
        GraphTask("wash", agent="keeper", prompt="Wash the animal."),
        GraphTask("feed", agent="cook", prompt="Feed: ${wash.summary}", needs=("wash",)),
        GraphTask("paint", agent="painter", prompt="Paint the animal.", optional=True),
    ),
)


class Keeper:
    """Sends what is rejected first, and notes what was stored of it when it is asked again."""

    def __init__(self, store: Store) -> None:
        self.stored: list[str] = []
        self._store = store

    def __call__(self, _: str) -> str:
        [run] = self._store.read(lambda reading: reading.graphs.runs(include_ended=True))
        attempts = self._store.read(lambda reading: reading.graphs.attempts(run.id, "wash"))
        self.stored = [f"{each.message}{each.outcome}" for each in attempts]
        return REJECTED if len(attempts) == 1 else ACCEPTED


def texts(store: Store, run: str, task: str) -> list[str]:
    """Return all that is stored of each attempt of a task."""
    attempts = store.read(lambda reading: reading.graphs.attempts(run, task))
    return [f"{each.message} {each.outcome}" for each in attempts]


@pytest.mark.parametrize("keep", ["none", "failed", "all"])
def test_a_run_keeps_the_texts_that_it_is_asked_to_keep(
    store: Store, tmp_path: Path, keep: str
) -> None:
    keeper, cooked = Keeper(store), list[str]()

    def cook(text: str) -> str:
        cooked.append(text)
        return ACCEPTED

    async def play() -> str:
        done = await run_graph(
            ZOO,
            store=store,
            agents={"keeper": keeper, "cook": cook, "painter": lambda _: REJECTED},
            project=tmp_path,
            options={"keep_output": keep},
        )
        assert {name: task.state for name, task in done.tasks.items()} == {
            "wash": "accepted",
            "feed": "accepted",
            "paint": "failed",
        }
        # What is left can still be read as attempts.
        outcome = done.tasks["wash"].outcome
        assert outcome is not None
        assert [each.accepted for each in outcome.attempts] == [False, True]
        return done.id

    run = anyio.run(play)
    check_run(store, run)
    # Until the task ends, whoever resumes it needs its attempts.
    assert "green walrus" in keeper.stored[0]
    # What follows gets its values in any case.
    assert cooked == ["Feed: A clean walrus."]

    first, second = texts(store, run, "wash")
    painted = texts(store, run, "paint")
    failed = keep in ("failed", "all")
    assert ["walrus" in each for each in (first, second)] == [failed, keep == "all"]
    assert ["walrus" in each for each in painted] == [failed, failed]
    assert ("the animal" in first, "DONE-ISH" in first) == (failed, True)
    # Which rules were broken stays, or nobody could say why the task was asked again.
    assert "goop_report/unknown-status" in first
    row = store.read(lambda reading: reading.graphs.task(run, "wash"))
    assert row is not None
    result = json.loads(row.result or "")
    assert result["envelope"]["summary"] == "A clean walrus."
    assert ("walrus was washed" in result["text"]) is (keep == "all")
    for each in store.read(lambda reading: reading.graphs.attempts(run)):
        assert Attempt.from_dict(json.loads(each.outcome or "")).seconds >= 0


def test_the_command_line_keeps_nothing_but_the_record(any_place: Place) -> None:
    folder = any_place.folder
    create_project(ProjectFiles(folder), name="Zoo", now=NOW)
    (folder / "reply.md").write_text(ACCEPTED, encoding="utf-8")
    graph = folder / "zoo.toml"
    graph.write_text(
        'graph = 1\nname = "zoo"\nprotocol = "goop_report"\n'
        '[agents.keeper]\nrun = "command"\ncommand = ["cat", "reply.md"]\non_stdin = true\n'
        '[tasks.wash]\nagent = "keeper"\nprompt = "Wash the animal."\n',
        encoding="utf-8",
    )
    words = ("delegate", "zoo.toml", "--trust", Graph.load(graph).digest, *where(any_place))
    ended = run_program(*words, "--keep-output", "none", cwd=folder)
    assert ended.code == 0, ended.out + ended.err

    [run] = any_place.store.read(lambda reading: reading.graphs.runs(include_ended=True))
    [kept] = texts(any_place.store, run.id, "wash")
    assert "walrus" not in kept
    assert "animal" not in kept
    row = any_place.store.read(lambda reading: reading.graphs.task(run.id, "wash"))
    assert row is not None
    # The report went into the project first, which needs its text.
    assert row.report == 1
    assert json.loads(row.result or "")["text"] == ""

    wrong = run_program(*words, "--keep-output", "some", cwd=folder)
    assert (wrong.code, "--keep-output" in wrong.err) == (2, True)


def test_what_a_run_keeps_is_set_when_it_begins(any_place: Place) -> None:
    folder = any_place.folder
    graph = folder / "zoo.toml"
    graph.write_text(
        'graph = 1\nname = "zoo"\nprotocol = "goop_report"\n[agents.kim]\nrun = "person"\n'
        '[tasks.wash]\nagent = "kim"\nprompt = "Wash the animal."\n',
        encoding="utf-8",
    )
    words = ("delegate", "zoo.toml", *where(any_place), "--keep-output", "failed")
    trust = ("--trust", Graph.load(graph).digest)
    assert run_program(*words, *trust, cwd=folder).code == 3
    again = run_program(*words, "--resume", cwd=folder)
    assert again.code == 2
    assert "leave --keep-output out, or say --new" in again.err


def test_a_report_that_was_not_kept_is_not_recorded_later(store: Store, tmp_path: Path) -> None:
    async def play() -> str:
        agents = {name: lambda _: ACCEPTED for name in ("keeper", "cook", "painter")}
        options = {"keep_output": "none"}
        done = await run_graph(ZOO, store=store, agents=agents, project=tmp_path, options=options)
        return done.id

    [row, *_] = Ledger(store).unrecorded(anyio.run(play), "wash")
    files = ProjectFiles(tmp_path)
    create_project(files, name="Zoo", now=NOW)
    with pytest.raises(RunError, match="the reply of wash was not kept"):
        record_task(ProjectContext(files=files, store=store), row, now=NOW)

"""Trust is demanded of exactly the graph that is run: that of the database, whatever the file says.

Whoever may write the database can change what is stored in it. Each door is tried.
"""

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import anyio
import apsw
import psycopg
import pytest

from goop_mcp.delegation import resume, run_task
from goop_mcp.delegation.agents import agent_makers
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import AlteredGraphError, Ledger, ReplacedGraphError
from goop_mcp.delegation.parts import GraphAgent, GraphGate, GraphLimits, GraphTask
from goop_mcp.delegation.processes import this_process
from goop_mcp.delegation.runner import Runner
from goop_mcp.delegation.trusting import UntrustedGraphError, may_run_here, trusted_makers
from goop_mcp.recording.trust import TrustError
from goop_mcp.store.graph_rows import for_postgres, for_sqlite
from tests.cli.running import PROGRAM, Ended, answer_on_terminal, environment, run, run_on_terminal
from tests.delegation.reports import report
from tests.delegation.runners import Place, check_run, within
from tests.postgres import OWNER
from tests.repository import ROOT

WORKER = """\
import sys
sys.path.insert(0, {here!r})
from tests.delegation.reports import report
prompt = sys.stdin.read()
with open("asked", "a") as file:
    file.write(sys.argv[1] + ": " + prompt.strip() + "\\n")
print(report())
"""


CHANGE_GRAPH = "UPDATE {goop}graph_runs SET graph = :graph, graph_hash = :digest WHERE id = :id"
CHANGE_TASK = {
    "spec": "UPDATE {goop}graph_tasks SET spec = :value WHERE run = :run AND id = :id",
    "prompt": "UPDATE {goop}graph_tasks SET prompt = :value WHERE run = :run AND id = :id",
}


class Scene:
    """A project with a graph of programs, of which a run waits at a gate."""

    def __init__(self, place: Place) -> None:
        self.place, self.folder = place, place.folder
        self.state = {"XDG_STATE_HOME": str(place.folder / "state")}
        if place.url is not None:
            self.state |= {"GOOP_DATABASE_URL": place.url, "GOOP_PROJECT_ID": "shop"}
        worker = self.folder / "worker.py"
        worker.write_text(WORKER.format(here=str(ROOT)))
        self.file = self.folder / "gated.toml"
        self.file.write_text(
            'graph = 1\nname = "gated"\nprotocol = "goop_report"\n'
            f'[agents.worker]\nrun = "command"\n'
            f"command = {json.dumps([sys.executable, str(worker), 'good'])}\n"
            '[tasks.first]\nagent = "worker"\nprompt = "Do the first."\n'
            '[gates.ok]\nneeds = ["first"]\nquestion = "Go on?"\n'
            '[tasks.second]\nagent = "worker"\nneeds = ["ok"]\nprompt = "Do the second."\n'
        )
        self.graph = Graph.load(self.file)
        assert self.goop("delegate", self.file, "--trust", self.graph.digest).code == 3
        [row] = place.store.read(lambda reading: reading.graphs.runs())
        self.run = row.id
        assert self.goop("runs", "answer", self.run, "ok", "yes").code == 0
        assert self.asked == ["good: Do the first."]

    @property
    def asked(self) -> list[str]:
        """Which program was asked what, in order."""
        file = self.folder / "asked"
        return file.read_text().splitlines() if file.exists() else []

    def goop(self, *words: str | Path) -> Ended:
        """Run a command of goop-mcp in the project."""
        command = answer_on_terminal if words[:2] == ("runs", "answer") else run
        return command(*words, cwd=self.folder, env=self.state)

    def change_by_hand(self, *, with_digest: bool = False) -> Graph:
        """Put another program into the stored graph, as any program can that writes the file."""
        source = self.place.store.read(lambda reading: reading.graphs.source(self.run))
        changed = source.graph.replace('"good"', '"evil"')
        assert changed != source.graph
        graph = Graph.from_dict(json.loads(changed))
        digest = graph.digest if with_digest else self.graph.digest
        values = {"graph": changed, "digest": digest, "id": self.run}
        self.write(CHANGE_GRAPH, values)
        return graph

    def write(self, statement: str, values: dict[str, str]) -> None:
        """Run a statement in the database, past goop-mcp."""
        if self.place.url is None:
            [file] = self.folder.rglob("goop.db")
            with closing(apsw.Connection(str(file))) as connection:
                connection.execute(for_sqlite(statement), values)
            return
        # As the superuser, whom no policy of the rows holds back.
        url = self.place.url.replace(OWNER, "postgres")
        with psycopg.connect(url) as connection:
            changed = connection.execute(for_postgres(statement).encode(), values)
            assert changed.rowcount == 1

    def rows(self) -> object:
        """Return all that is stored of the run."""
        return self.place.store.read(
            lambda reading: (
                reading.graphs.run(self.run),
                reading.graphs.source(self.run),
                reading.graphs.tasks(self.run),
                reading.graphs.events(self.run),
            )
        )


@pytest.fixture
def scene(any_place: Place) -> Scene:
    return Scene(any_place)


def delegate_again(scene: Scene) -> str:
    ended = scene.goop("delegate", scene.file, "--resume")
    assert ended.code != 0
    return ended.err


def resume_run(scene: Scene) -> str:
    ended = scene.goop("runs", "resume", scene.run)
    assert ended.code != 0
    return ended.err


def resume_in_the_background(scene: Scene) -> str:
    ended = scene.goop("runs", "resume", scene.run, "--detach")
    assert ended.code != 0
    return ended.err


def run_all(*words: str) -> Callable[[Scene], str]:
    def take(scene: Scene) -> str:
        log = scene.folder / "worker.log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [*PROGRAM, "delegate", "--runner-only", *words],
                cwd=scene.folder,
                env=environment(scene.state),
                stderr=stream,
            )
        try:
            within(60, lambda: "does not run here" in log.read_text())
        finally:
            process.terminate()
            process.wait(timeout=60)
        return log.read_text()

    return take


def resume_in_a_program(scene: Scene) -> str:
    async def go_on() -> None:
        await resume(scene.place.store, scene.run, project=scene.folder)

    with pytest.raises((AlteredGraphError, UntrustedGraphError)) as caught:
        anyio.run(go_on)
    return str(caught.value)


def take_a_task_in_a_program(scene: Scene) -> str:
    async def go_on() -> None:
        await run_task(scene.place.store, scene.run, "second", project=scene.folder)

    with pytest.raises((AlteredGraphError, UntrustedGraphError)) as caught:
        anyio.run(go_on)
    return str(caught.value)


@pytest.fixture(autouse=True)
def _trusts_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let this process read the trust of the project's commands, and of nothing else."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


DOORS = {
    "delegate --resume": delegate_again,
    "runs resume": resume_run,
    "runs resume --detach": resume_in_the_background,
    "a runner of all runs": run_all(),
    "resume in Python": resume_in_a_program,
    "run_task in Python": take_a_task_in_a_program,
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS.keys())
def test_a_stored_graph_that_was_changed_by_hand_runs_through_no_door(
    scene: Scene, door: Callable[[Scene], str]
) -> None:
    scene.change_by_hand()
    before = scene.rows()
    printed = door(scene)
    assert f"the graph of {scene.run} in the database has the digest" in printed
    assert f"goop-mcp runs resume {scene.run} --graph FILE" in printed
    assert scene.asked == ["good: Do the first."]
    assert scene.rows() == before


def test_a_worker_of_the_queue_runs_no_graph_that_was_changed_by_hand(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = request.getfixturevalue("database").url()
    with Place(tmp_path, url) as place:
        scene = Scene(place)
        scene.change_by_hand()
        printed = run_all("--dispatcher", "procrastinate")(scene)
        assert f"the graph of {scene.run} in the database has the digest" in printed
        assert scene.asked == ["good: Do the first."]


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS.keys())
def test_one_that_was_changed_with_its_digest_is_not_trusted(
    scene: Scene, door: Callable[[Scene], str]
) -> None:
    changed = scene.change_by_hand(with_digest=True)
    if door is delegate_again:
        # The file is trusted, so what runs is that of the file.
        ended = scene.goop("delegate", scene.file, "--resume")
        assert ended.code == 0, ended
        assert "the graph has changed; kept are first, ok" in ended.err
        assert scene.asked[1:] == ["good: Do the second."]
    else:
        # The whole digest, which a person can look at and allow.
        assert changed.digest in door(scene)
    assert not [each for each in scene.asked if each.startswith("evil")]


def test_what_a_person_trusts_at_the_terminal_is_the_stored_graph(any_place: Place) -> None:
    scene = Scene(any_place)
    scene.change_by_hand(with_digest=True)
    words = ("runs", "resume", scene.run)
    refused = run_on_terminal(*words, cwd=scene.folder, env=scene.state, typed="n\n")
    assert (refused.code, "evil" in refused.out) == (3, True)
    assert len(scene.asked) == 1
    allowed = run_on_terminal(*words, cwd=scene.folder, env=scene.state, typed="y\n")
    assert allowed.code == 0, allowed
    assert scene.asked[1:] == ["evil: Do the second."]


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "show", "RUN"),
        ("runs", "cancel", "RUN", "second"),
        ("runs", "retry", "RUN", "first"),
    ],
    ids=" ".join,
)
def test_what_needs_the_graph_names_that_it_was_changed(
    scene: Scene, words: tuple[str, ...]
) -> None:
    scene.change_by_hand()
    ended = scene.goop(*(scene.run if each == "RUN" else each for each in words))
    assert ended.code == 1 or "cancel" in words
    assert "has the digest" in ended.err or "cancel" in words
    assert scene.asked == ["good: Do the first."]


def test_a_run_with_a_changed_graph_is_listed_and_can_be_cancelled(scene: Scene) -> None:
    scene.change_by_hand()
    assert scene.run in scene.goop("runs").out
    assert scene.goop("runs", "cancel", scene.run).code == 0
    assert "cancelled" in scene.goop("runs", "--all").out
    check_run(scene.place.store, scene.run)


def test_a_run_with_a_changed_graph_goes_on_with_that_of_a_file(scene: Scene) -> None:
    scene.change_by_hand()
    ended = scene.goop("runs", "resume", scene.run, "--graph", scene.file)
    assert ended.code == 0, ended
    assert "kept are first, ok" in ended.err
    assert scene.asked == ["good: Do the first.", "good: Do the second."]
    check_run(scene.place.store, scene.run)


def test_a_killed_run_with_a_changed_graph_goes_on_with_that_of_a_file(scene: Scene) -> None:
    """Its tasks are those of a runner that is gone."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait(timeout=60)
    gone = replace(this_process(), pid=dead.pid, pid_started="1")
    scene.place.ledger.register(gone)
    claim = scene.place.ledger.claim(scene.run, gone)
    assert scene.place.states(scene.run)["second"] == "running", claim
    scene.change_by_hand()

    assert scene.goop("runs", "resume", scene.run).code == 1
    ended = scene.goop("runs", "resume", scene.run, "--graph", scene.file)
    assert ended.code == 0, ended
    check_run(scene.place.store, scene.run)
    assert scene.asked == ["good: Do the first.", "good: Do the second."]


@pytest.mark.parametrize("column", CHANGE_TASK)
def test_a_task_row_that_was_changed_by_hand_does_what_the_graph_says(
    scene: Scene, column: str
) -> None:
    row = scene.place.store.read(lambda reading: reading.graphs.task(scene.run, "second"))
    assert row is not None
    value = row.spec.replace("Do the second.", "Do evil.") if column == "spec" else "Do evil."
    scene.write(CHANGE_TASK[column], {"value": value, "run": scene.run, "id": "second"})
    assert scene.goop("runs", "resume", scene.run).code == 0
    assert scene.asked[1:] == ["good: Do the second."]


@pytest.mark.parametrize("digits", [12, 63, 65])
def test_a_part_of_a_digest_is_refused(scene: Scene, digits: int) -> None:
    """One that fits another graph can be found, and 48 bits are a matter of hours."""
    changed = scene.change_by_hand(with_digest=True)
    part = (changed.digest + "0")[:digits]
    for words in (("delegate", "--runner-only"), ("runs", "resume", scene.run)):
        ended = scene.goop(*words, "--trust", part)
        assert ended.code == 3, ended
        assert "expected all 64 hexadecimal digits" in ended.err
        assert "goop-mcp delegate GRAPH --check" in ended.err
    with pytest.raises(TrustError, match="64 hexadecimal digits"):
        may_run_here(scene.folder, [part])
    assert scene.asked == ["good: Do the first."]

    ended = scene.goop("runs", "resume", scene.run, "--trust", changed.digest.upper())
    assert ended.code == 0, ended


def test_check_shows_the_whole_digest(scene: Scene) -> None:
    shown = scene.goop("delegate", scene.file, "--check").out
    assert shown.splitlines()[0].endswith(f"digest {scene.graph.digest[:12]}")
    assert shown.endswith(f"--trust {scene.graph.digest}\n")


def test_another_digest_than_that_of_the_graph_trusts_nothing(scene: Scene) -> None:
    scene.file.write_text(scene.file.read_text().replace('"good"', '"other"'))
    ended = scene.goop("delegate", scene.file, "--new", "--trust", "0" * 64)
    assert ended.code == 3
    assert f"the digest of this graph is {Graph.load(scene.file).digest}, and not 000" in ended.err


def programs(word: str) -> Graph:
    """Return a graph of one program, which is never run."""
    return Graph(
        name="programs",
        agents=(GraphAgent("worker", run="command", command=(sys.executable, word)),),
        tasks=(GraphTask("one", agent="worker", prompt="Do it."),),
    )


def stored_elsewhere(place: Place, graph: Graph) -> str:
    """Let another process begin a run of `graph`, and return its id."""
    program = (
        "import json, sys\nfrom pathlib import Path\n"
        "from goop_mcp.delegation.graph import Graph\n"
        "from goop_mcp.delegation.ledger import Ledger\n"
        "from goop_mcp.store.opening import open_store\n"
        "store = open_store(None, project=Path.cwd())\n"
        "print(Ledger(store).create(Graph.from_dict(json.loads(sys.argv[1])), input={}))\n"
        "store.close()\n"
    )
    words = [sys.executable, "-c", program, json.dumps(graph.to_dict())]
    return subprocess.check_output(
        words, cwd=place.folder, env=environment(), text=True, timeout=60
    ).strip()


def test_a_program_trusts_the_graph_that_it_passes_and_no_other(tmp_path: Path) -> None:
    async def worker(_: str) -> str:
        return report()

    with Place(tmp_path, None) as place:
        run = stored_elsewhere(place, programs("a"))
        with pytest.raises(UntrustedGraphError) as caught:
            anyio.run(lambda: resume(place.store, run, project=tmp_path))
        assert programs("a").digest in str(caught.value)
        other = programs("b").digest
        with pytest.raises(UntrustedGraphError):
            anyio.run(lambda: resume(place.store, run, project=tmp_path, trust=[other]))

        # What runs in place of the graph's own program is the caller's.
        given = {"worker": worker}
        done = anyio.run(lambda: resume(place.store, run, project=tmp_path, agents=given))
        assert done.state == "finished"

        # A run that this process began, of a graph that it made.
        place.ledger.create(programs("a"), input={})
        assert may_run_here(tmp_path)(programs("a"))
        assert not may_run_here(tmp_path)(programs("b"))


def test_a_runner_begins_nothing_of_a_graph_that_took_the_place_of_its_own(place: Place) -> None:
    """As after `runs resume RUN --graph FILE` elsewhere."""
    before = Graph(
        name="held",
        agents=(GraphAgent("worker"),),
        tasks=(GraphTask("one", agent="worker", prompt="Do one."),),
    )
    after = replace(before, tasks=(GraphTask("one", agent="worker", prompt="Do two."),))
    run = place.ledger.create(before, input={})
    asked: list[str] = []

    async def worker(text: str) -> str:
        asked.append(text)
        return report()

    makers = agent_makers(before, project=place.folder, given={"worker": worker})
    Ledger(place.store).change_graph(run, after)
    with pytest.raises(ReplacedGraphError, match=f"goop-mcp runs resume {run}"):
        anyio.run(Runner(place.ledger, run, makers, project=place.folder).run)
    assert asked == []
    done = anyio.run(
        lambda: resume(place.store, run, project=place.folder, agents={"worker": worker})
    )
    assert (done.state, asked) == ("finished", ["Do two."])
    check_run(place.store, run)


def test_a_graph_of_code_has_the_digest_of_the_same_graph_from_the_database() -> None:
    graph = Graph(
        name="whole",
        agents=(GraphAgent("kim", run="person", rate=2),),
        tasks=(GraphTask("one", agent="kim", timeout=60),),
        gates=(GraphGate("ok", question="Go on?", timeout=5, default="no"),),
        limits=GraphLimits(deadline=3600, max_cost=1),
    )
    stored = Graph.from_dict(json.loads(json.dumps(graph.to_dict())))
    assert stored.digest == graph.digest


def calls_of(name: str) -> Iterator[str]:
    """Yield the modules of the product that call a function."""
    for file in sorted((ROOT / "goop_mcp").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == name:
                yield file.relative_to(ROOT).as_posix()


def test_all_ways_to_the_agents_of_a_graph_ask_whether_it_is_trusted() -> None:
    assert set(calls_of("agent_makers")) == {"goop_mcp/delegation/trusting.py"}
    assert len(set(calls_of("trusted_makers"))) >= 4


def test_nothing_is_imported_before_a_graph_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "mine_of_trust.py").write_text("open('imported', 'w').close()\ndef ask(_): ...\n")
    graph = Graph(
        name="mine",
        agents=(GraphAgent("mine", run="python", call="mine_of_trust:ask"),),
        tasks=(GraphTask("one", agent="mine", prompt="Do it."),),
    )
    with pytest.raises(UntrustedGraphError):
        trusted_makers(graph, project=tmp_path, may_run=may_run_here(tmp_path))
    assert "mine_of_trust" not in sys.modules

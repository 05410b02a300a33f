"""A new run takes over what an earlier one has the same results for, and asks only for the rest."""

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from goop_mcp.delegation import GraphOutcome, events, resume, run_graph
from goop_mcp.delegation.graph import Graph, GraphAgent, GraphTask
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.delegation.parts import GraphGate
from goop_mcp.delegation.reuse import Reused
from goop_mcp.delegation.runner import RecordReport
from goop_mcp.retry.replies import Agent
from goop_mcp.services.runs import finish_task
from goop_mcp.store.graph_rows import GraphTaskRow
from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.validation.safe_json import JsonValue
from tests.cli.running import Ended, run
from tests.delegation.graphs import Team
from tests.delegation.reports import report
from tests.delegation.runners import check_run
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "delegation.md").read_text(encoding="utf-8")
EXAMPLE = PAGE.split("## Reuse what")[1].split("```bash\n")[1].partition("```")[0]


def line(*changed: GraphTask) -> Graph:
    """Return plan → build → review, with tasks of other content in the place of the usual ones."""
    tasks = (
        GraphTask("plan", agent="team", prompt="Plan ${input.goal}"),
        GraphTask("build", agent="team", prompt="Build: ${plan.summary}", needs=("plan",)),
        GraphTask("review", agent="team", prompt="Review it", needs=("build",)),
    )
    new = {each.id: each for each in changed}
    return Graph(
        name="line",
        protocol="goop_report",
        agents=(GraphAgent("team"),),
        tasks=tuple(new.pop(each.id, each) for each in tasks) + tuple(new.values()),
    )


class Runs:
    """Runs graphs in one store, and knows what their agents were asked."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.folder = store, folder
        self.asked: list[str] = []

    def __call__(
        self,
        graph: Graph,
        *,
        goal: str = "a login",
        reuse: bool = True,
        keep: str = "all",
        record: RecordReport | None = None,
    ) -> GraphOutcome:
        team = Team()
        done = anyio.run(
            partial(
                run_graph,
                graph,
                store=self.store,
                agents={"team": team},
                input={"goal": goal},
                project=self.folder,
                reuse=reuse,
                options={"keep_output": keep},
                record=record,
            )
        )
        self.asked = [each.split(maxsplit=1)[0].rstrip(":") for each in team.asked]
        check_run(self.store, done.id)
        return done

    def row(self, id: str, task: str) -> GraphTaskRow:
        row = self.store.read(lambda reading: reading.graphs.task(id, task))
        assert row is not None
        return row


@pytest.fixture
def runs(store: Store, tmp_path: Path) -> Runs:
    return Runs(store, tmp_path)


def states(done: GraphOutcome) -> dict[str, str]:
    return {name: each.state for name, each in done.tasks.items()}


def test_only_what_changed_and_what_follows_is_asked(runs: Runs) -> None:
    first = runs(line(), reuse=False)
    assert runs.asked == ["Plan", "Build", "Review"]

    changed = line(GraphTask("review", agent="team", prompt="Review thoroughly", needs=("build",)))
    found = Ledger(runs.store).reusable(changed, input={"goal": "a login"})
    assert found == {name: Reused(first.id, name) for name in ("plan", "build")}

    again = runs(changed)
    assert (again.state, runs.asked) == ("finished", ["Review"])
    assert states(again) == dict.fromkeys(("plan", "build", "review"), "accepted")
    assert again.tasks["plan"].reused_from == first.id
    assert again.tasks["plan"].envelope == first.tasks["plan"].envelope
    assert again.tasks["plan"].outcome is None
    assert again.tasks["review"].reused_from is None

    # And the events say it.
    written = anyio.run(events, runs.store, again.id)
    [plan, build] = [each for each in written if each.what == "reused"]
    assert (plan.task, build.task) == ("plan", "build")
    assert json.loads(plan.data) == {"run": first.id, "task": "plan"}
    assert runs.row(again.id, "plan").message == f"the result of plan in {first.id}"


def test_a_graph_of_which_everything_is_known_ends_at_once(runs: Runs) -> None:
    first = runs(line(), reuse=False)
    again = runs(line())
    assert (again.state, runs.asked) == ("finished", [])

    # The run in which the agent answered is named, however often its result was reused.
    third = runs(line())
    assert third.tasks["review"].reused_from == first.id
    assert Ledger(runs.store).run(third.id).spent_calls == 0


def test_nothing_is_reused_unless_it_is_asked_for(runs: Runs) -> None:
    runs(line(), reuse=False)
    again = runs(line(), reuse=False)
    assert runs.asked == ["Plan", "Build", "Review"]
    assert {each.reused_from for each in again.tasks.values()} == {None}


def test_a_task_with_another_name_and_the_same_work_is_the_same(runs: Runs) -> None:
    first = runs(line(), reuse=False)
    graph = Graph(
        name="other",
        protocol="goop_report",
        agents=(GraphAgent("team"),),
        tasks=(GraphTask("outline", agent="team", prompt="Plan ${input.goal}"),),
    )
    assert runs(graph).tasks["outline"].message == f"the result of plan in {first.id}"
    assert runs.asked == []


def test_another_input_is_other_work(runs: Runs) -> None:
    runs(line(), reuse=False)
    runs(line(), goal="a logout")
    assert runs.asked == ["Plan", "Build", "Review"]


def test_the_newest_result_is_taken(runs: Runs) -> None:
    runs(line(), reuse=False)
    second = runs(line(), reuse=False)
    assert runs(line()).tasks["plan"].reused_from == second.id


def test_a_result_is_not_reused_with_newer_work_of_what_it_needs(runs: Runs) -> None:
    async def fails_later(text: str) -> str:
        # It says the same of its plan as the first one.
        return await Team()(text) if text.startswith("Plan") else "I am done."

    runs(line(), reuse=False)
    newer = anyio.run(
        partial(
            run_graph,
            line(),
            store=runs.store,
            agents={"team": fails_later},
            input={"goal": "a login"},
            project=runs.folder,
        )
    )
    assert newer.state == "failed"

    # What the first run built came from its own plan, which is not the one that counts now.
    found = Ledger(runs.store).reusable(line(), input={"goal": "a login"})
    assert found == {"plan": Reused(newer.id, "plan")}
    done = runs(line())
    assert (done.state, runs.asked) == ("finished", ["Build", "Review"])
    assert runs(line()).tasks["review"].reused_from == done.id


@pytest.mark.parametrize("other", ["password=correct-horse-17", "<private>the salary</private>"])
def test_two_secrets_are_two_inputs(runs: Runs, other: str) -> None:
    first = runs(line(), goal="password=battery-staple-42", reuse=False)
    assert "staple" not in (runs.row(first.id, "plan").prompt or "")
    assert Ledger(runs.store).reusable(line(), input={"goal": other}) == {}
    runs(line(), goal=other)
    runs(line(), goal=other)
    assert runs.asked == ["Plan", "Build", "Review"]


def test_a_prompt_that_no_database_stores_as_it_is_can_be_reused(runs: Runs) -> None:
    odd = "odd \0 and \ud800 text"
    first = runs(line(), goal=odd, reuse=False)
    again = runs(line(), goal=odd)
    assert again.tasks["plan"].reused_from == first.id
    assert runs.row(again.id, "plan").prompt == runs.row(first.id, "plan").prompt


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"workspace": "worktree"}, id="a branch of its own"),
        pytest.param({"expands": True}, id="may add tasks"),
    ],
)
def test_work_that_is_not_all_in_the_project_is_done_again(
    runs: Runs, change: Mapping[str, JsonValue]
) -> None:
    runs(line(), reuse=False)
    usual = line().steps["build"]
    assert isinstance(usual, GraphTask)
    changed = line(GraphTask(**{**asdict(usual), **change}))
    # What follows has the same prompt, and its work would begin from other files.
    assert [*Ledger(runs.store).reusable(changed, input={"goal": "a login"})] == ["plan"]
    # Nor is it taken from such a task.
    ledger = Ledger(runs.store)
    source = runs(line(), reuse=False)
    row = runs.row(source.id, "build")
    spec = json.dumps({**json.loads(row.spec), **change})

    def mark(writing: WriteTransaction) -> None:
        writing.graphs.move_task(row._replace(spec=spec), was=row)

    runs.store.write(mark)
    assert [*ledger.reusable(line(), input={"goal": "a login"})] == ["plan"]


def with_gate() -> Graph:
    usual = line()
    return Graph(
        name="gated",
        protocol="goop_report",
        agents=usual.agents,
        tasks=(
            usual.tasks[0],
            replace(usual.tasks[1], needs=("plan", "go")),
            GraphTask("notes", agent="team", prompt="Notes about it", needs=("plan",)),
        ),
        gates=(GraphGate("go", question="Go on?", needs=("plan",)),),
    )


def test_a_person_is_asked_again_and_what_follows_is_done_again(runs: Runs) -> None:
    first = runs(with_gate(), reuse=False)
    Ledger(runs.store).answer(first.id, "go", "yes", by="ann")
    team = Team()
    anyio.run(partial(resume, runs.store, first.id, agents={"team": team}, project=runs.folder))

    again = runs(with_gate())
    assert (again.state, again.waiting_for, runs.asked) == ("waiting_for_person", ("go",), [])
    assert states(again) == {
        "plan": "accepted",
        "notes": "accepted",
        "go": "input_required",
        "build": "waiting",
    }
    Ledger(runs.store).answer(again.id, "go", "yes", by="ann")
    team.asked.clear()
    done = anyio.run(
        partial(resume, runs.store, again.id, agents={"team": team}, project=runs.folder)
    )
    assert (done.state, len(team.asked)) == ("finished", 1)


def test_what_a_person_wrote_or_accepted_is_not_reused(runs: Runs) -> None:
    by_hand = Graph(
        name="by hand",
        protocol="goop_report",
        agents=(GraphAgent("ann", run="person"),),
        tasks=(GraphTask("look", agent="ann", prompt="Look at it"),),
    )
    ledger = Ledger(runs.store)
    first = anyio.run(partial(run_graph, by_hand, store=runs.store, project=runs.folder))
    assert first.waiting_for == ("look",)
    assert finish_task(runs.store, first.id, "look", report(), by="ann", project=runs.folder)
    assert ledger.run(first.id).state == "finished"
    assert ledger.reusable(by_hand, input={}) == {}

    # So is what a person wrote in the place of an agent that could not go on.
    async def blocked(_: str) -> str:
        return report("BLOCKED", blockers="Which database?")

    stuck = anyio.run(
        partial(
            run_graph,
            line(),
            store=runs.store,
            agents={"team": blocked},
            input={"goal": "by hand"},
            project=runs.folder,
        )
    )
    assert stuck.waiting_for == ("plan",)
    assert finish_task(runs.store, stuck.id, "plan", report(), by="ann", project=runs.folder)
    assert runs.row(stuck.id, "plan").state == "accepted"
    assert ledger.reusable(line(), input={"goal": "by hand"}) == {}

    # Accepted by a person although the router asked: decided for that run.
    done = runs(line(), reuse=False)

    plan = runs.row(done.id, "plan")

    def decide(writing: WriteTransaction) -> None:
        writing.graphs.move_task(plan._replace(decision="accept"), was=plan)

    runs.store.write(decide)
    assert ledger.reusable(line(), input={"goal": "a login"}) == {}


def test_a_result_of_which_nothing_but_the_envelope_is_left_needs_its_record(runs: Runs) -> None:
    # Recorded: the text is in the project.
    recorded = runs(line(), reuse=False, keep="none", record=lambda _row: 7)
    assert json.loads(runs.row(recorded.id, "plan").result or "")["text"] == ""
    again = runs(line(), record=lambda _row: 8)
    assert (again.tasks["plan"].reused_from, runs.asked) == (recorded.id, [])
    # Under the number that it has.
    assert runs.row(again.id, "plan").report == 7

    runs(line(), goal="another", reuse=False, keep="none")
    assert Ledger(runs.store).reusable(line(), input={"goal": "another"}) == {}


def test_a_task_that_failed_or_still_runs_is_not_reused(runs: Runs) -> None:
    async def wrong(text: str) -> str:
        return report() if text.startswith("Plan") else "I am done."

    anyio.run(
        partial(
            run_graph,
            line(),
            store=runs.store,
            agents={"team": wrong},
            input={"goal": "a login"},
            project=runs.folder,
        )
    )
    assert [*Ledger(runs.store).reusable(line(), input={"goal": "a login"})] == ["plan"]
    done = runs(line())
    assert (done.state, runs.asked) == ("finished", ["Build", "Review"])


def test_a_reused_task_can_be_run_again_and_stays_when_the_graph_changes(runs: Runs) -> None:
    runs(line(), reuse=False)
    again = runs(line())
    changed = line(GraphTask("review", agent="team", prompt="Review more", needs=("build",)))
    assert Ledger(runs.store).kept_by(again.id, changed) == ["build", "plan"]

    Ledger(runs.store).retry(again.id, "review", by="ann")
    team: Agent = Team()
    done = anyio.run(
        partial(resume, runs.store, again.id, agents={"team": team}, project=runs.folder)
    )
    assert done.state == "finished"
    assert done.tasks["review"].reused_from is None
    assert done.tasks["plan"].reused_from is not None
    check_run(runs.store, again.id)


WORKER = f"""\
import sys
text = sys.stdin.read()
open("asked.txt", "a").write(text.splitlines()[0] + "\\n")
print({report()!r})
"""


def write_graph(folder: Path, review: str) -> None:
    (folder / "worker.py").write_text(WORKER)
    command = json.dumps([sys.executable, str(folder / "worker.py")])
    (folder / "login.toml").write_text(
        f"""\
graph = 1
name = "line"
protocol = "goop_report"
[agents.team]
run = "command"
command = {command}
[tasks.plan]
agent = "team"
prompt = "Plan ${{input.goal}}"
[tasks.review]
agent = "team"
needs = ["plan"]
prompt = "{review}"
"""
    )


def test_the_command_line_shows_and_reuses_what_is_known(tmp_path: Path) -> None:
    def goop(words: str) -> Ended:
        return run(*shlex.split(words), cwd=tmp_path, env={"XDG_STATE_HOME": str(tmp_path / "s")})

    def delegate(words: str) -> Ended:
        return goop(f"{words} --trust {Graph.load(tmp_path / 'login.toml').digest}")

    # As the page writes them.
    planned, reusing = (each.removeprefix("goop-mcp ") for each in EXAMPLE.splitlines())
    assert goop("init").code == 0
    write_graph(tmp_path, "Review it")
    nothing = goop(planned)
    assert nothing.out.endswith("\nreused\n  nothing\n")
    assert delegate(reusing.replace("--reuse ", "")).code == 0
    first = goop("runs --all").out.split()[0]
    (tmp_path / "asked.txt").unlink()

    write_graph(tmp_path, "Review more")
    plan = goop(planned)
    assert plan.out.endswith(f"\nreused\n  plan: the result of plan in {first}\n")
    shown = goop(f"{planned} --format json")
    assert json.loads(shown.out)["reused"] == {"plan": {"run": first, "task": "plan"}}
    # Its prompt cannot be known without the value.
    assert "\nreused\n  nothing\n" in goop("delegate login.toml --plan --reuse").out

    ended = delegate(reusing)
    assert ended.code == 0, ended
    assert f"reused: plan (the result of plan in {first}).\n" in ended.err
    assert (tmp_path / "asked.txt").read_text() == "Review more\n"

    second = next(
        each.split()[0] for each in goop("runs --all").out.splitlines() if first not in each
    )
    assert f"the result of plan in {first}" in goop(f"runs show {second}").out
    assert f"why: the result of plan in {first}" in goop(f"runs show {second} --task plan").out
    exported = [json.loads(each) for each in goop(f"runs export {second}").out.splitlines()]
    [reused] = [each for each in exported if each["what"] == "reused"]
    # Recorded once, in the round of the first run.
    assert reused["data"] == {"run": first, "task": "plan", "report": 1}
    assert [each["task"] for each in exported if each["what"] == "recorded"] == ["review"]


def test_the_line_that_names_reused_tasks_stays_short(tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text(report())
    tasks = "".join(
        f'[tasks.t{number:02}]\nagent = "team"\nprompt = "Do {number}"\n' for number in range(13)
    )
    (tmp_path / "many.toml").write_text(
        'graph = 1\nname = "many"\nprotocol = "goop_report"\n[agents.team]\nrun = "command"\n'
        f'command = ["cat", "report.txt"]\n{tasks}'
    )
    words = ["delegate", "many.toml", "--trust", Graph.load(tmp_path / "many.toml").digest]
    env = {"XDG_STATE_HOME": str(tmp_path / "s")}
    assert run(*words, cwd=tmp_path, env=env).code == 0
    ended = run(*words, "--reuse", cwd=tmp_path, env=env)
    assert ended.code == 0
    [line] = [each for each in ended.err.splitlines() if "reused: " in each]
    assert line.count("the result of") == 10
    assert line.endswith(", 3 more.")
    assert ended.out.count("the result of") == 13


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--check --reuse", "--plan --reuse shows what is reused"),
        ("--resume --reuse", "leave --reuse out, or say --new"),
    ],
)
def test_a_call_that_cannot_reuse_says_what_can(tmp_path: Path, words: str, message: str) -> None:
    write_graph(tmp_path, "Review it")
    ended = run("delegate", "login.toml", *words.split(), cwd=tmp_path)
    assert ended.code == 2
    assert message in ended.err

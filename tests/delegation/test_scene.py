"""A person delegates to a team of real programs: plan, three executors, review, test.

One executor fails and is optional, one is blocked until a person decides, the review sends the API
back once. Everything is done through the command line, in processes of their own.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from goop_mcp.delegation import Graph
from goop_mcp.store.interface import WriteTransaction
from tests.cli.running import (
    PROGRAM,
    Ended,
    answer_on_terminal,
    environment,
    run,
    run_on_terminal,
)
from tests.delegation.reports import report
from tests.delegation.runners import Place
from tests.delegation.team import write_team
from tests.delegation.test_agents import is_alive
from tests.postgres import Database

Call = Callable[..., Ended]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.delegation)])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """Return the settings of every command; on PostgreSQL the long way, with `make delegation`."""
    found = {"XDG_STATE_HOME": str(tmp_path / "state")}
    if request.param == "postgres":
        database: Database = request.getfixturevalue("database")
        found |= {"GOOP_DATABASE_URL": database.url(), "GOOP_PROJECT_ID": "shop"}
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    write_team(folder)
    return folder


@pytest.fixture
def goop(project: Path, state: dict[str, str]) -> Call:
    def call(*words: str) -> Ended:
        # Only a person answers.
        command = answer_on_terminal if words[:2] == ("runs", "answer") else run
        return command(*words, cwd=project, env=state)

    return call


def digest(project: Path) -> str:
    return Graph.load(project / "login.toml").digest


def table(goop: Call, run_id: str) -> dict[str, str]:
    """Return the state of each task, with its round where it is not the first."""
    lines = goop("runs", "export", run_id).out.splitlines()
    states: dict[str, str] = {}
    rounds: dict[str, int] = {}
    for event in map(json.loads, lines):
        if event["what"] == "state" and event["task"]:
            moved = event["data"]
            again = moved["to"] == "waiting"
            rounds[event["task"]] = rounds.get(event["task"], 1) + again
            states[event["task"]] = moved["to"]

    return {
        task: state + (f", round {rounds[task]}" if rounds[task] > 1 else "")
        for task, state in states.items()
    }


def asked(project: Path) -> list[str]:
    lines = (project / "asked.jsonl").read_text().splitlines()
    return [json.loads(line)[0] for line in lines]


def begun(goop: Call, project: Path) -> str:
    """Delegate until a person is needed, and return the id of the run."""
    ended = goop("delegate", "login.toml", "--input", "goal=a login", "--trust", digest(project))
    assert ended.code == 3, ended
    return ended.out.split("goop-mcp runs resume ")[1].split()[0]


def test_a_team_works_until_the_tests_with_a_failure_a_decision_and_a_round_of_feedback(
    goop: Call, project: Path
) -> None:
    run_id = begun(goop, project)
    assert table(goop, run_id) == {
        "plan": "accepted",
        "api": "accepted",
        "ui": "input_required",
        "docs": "failed",
    }
    assert "waiting for person" in goop("runs").out
    shown = goop("runs", "show", run_id)
    assert shown.code == 3
    assert "which color?" in shown.out
    assert "the disk of the docs is gone" in shown.out

    # Nobody works on the run while the person decides.
    answered = goop("runs", "answer", run_id, "ui", "retry", "--note", "It is decided: green.")
    assert answered.code == 0, answered
    ended = goop("runs", "resume", run_id)
    assert ended.code == 0, ended
    assert table(goop, run_id) == {
        "plan": "accepted",
        "api": "accepted, round 2",
        "ui": "accepted, round 2",
        "docs": "failed",
        "review": "accepted, round 2",
        "test": "accepted",
    }
    assert sorted(asked(project)) == sorted(
        ["plan", "api", "ui", "docs", "ui", "review", "api", "review", "test"]
    )
    # What was before is not shown as news.
    assert "plan: running" not in ended.out
    assert goop("runs").out == ""
    assert "finished" in goop("runs", "--all").out


def test_each_report_of_the_team_is_in_the_round_also_those_that_were_sent_back(
    goop: Call, project: Path, state: dict[str, str]
) -> None:
    assert goop("init").code == 0
    run_id = begun(goop, project)
    # What waits for the person is recorded as it comes.
    first, *others = in_round(goop)
    assert first == ("COMPLETE", "A login in three parts.")
    assert sorted(others) == [("BLOCKED", "No color."), ("COMPLETE", "First API.")]
    assert goop("runs", "answer", run_id, "ui", "retry", "--note", "It is decided: green.").out
    assert goop("runs", "resume", run_id).code == 0
    assert in_round(goop)[3:] == [
        ("COMPLETE", "The work is done."),
        ("PARTIAL", "No limits."),
        ("COMPLETE", "Second API."),
        # In the words of another task, but after its own rejection: it counts.
        ("COMPLETE", "The work is done."),
    ]
    # With PostgreSQL the documents of the project stand in its database.
    if "GOOP_DATABASE_URL" not in state:
        chronicle = (project / ".goopspec" / "CHRONICLE.md").read_text()
        assert "which color?" in chronicle
        assert "No limits." in chronicle
    shown = goop("runs", "show", run_id, "--task", "api").out
    assert f"recorded as reports {2 + others.index(('COMPLETE', 'First API.'))}, 6" in shown


def in_round(goop: Call) -> list[tuple[str, str]]:
    """Return status and summary of the reports in the project's round, the oldest first."""
    listed = json.loads(goop("reports", "list", "--format", "json").out)
    return [(each["status"], each["summary"]) for each in reversed(listed["reports"])]


def test_a_review_that_never_accepts_ends_at_a_person_who_sees_the_way_it_went(
    goop: Call, project: Path
) -> None:
    graph = project / "login.toml"
    limits = "[limits]\nmax_rounds = 1\n\n[agents.worker]"
    text = graph.read_text().replace("[agents.worker]", limits)
    # Without the blocked one; the review rejects a new thing each time.
    graph.write_text(text.replace('"ui", "docs"]', '"docs"]').replace("${ui.summary} ", ""))
    worker = project / "worker.py"
    rejects = 'print(REPORTS["rejected"].replace("No limits.", f"No limits, {time.time()}."))'
    worker.write_text(
        worker.read_text()
        .replace("import json,", "import time, json,")
        .replace('elif task == "review" and "Second API" not in message:', 'elif task == "review":')
        .replace('print(REPORTS["rejected"])', rejects)
    )
    run_id = begun(goop, project)
    shown = goop("runs", "show", run_id).out
    assert "input required (rounds)" in shown
    assert "more rounds than limits.max_rounds (1) (api → review → api → review → api)" in shown
    assert table(goop, run_id)["api"] == "accepted, round 2"

    # The person takes the work as it is.
    assert goop("runs", "answer", run_id, "review", "accept").code == 0
    shown = goop("runs", "show", run_id).out
    [line] = [each for each in shown.splitlines() if " review " in each]
    # The answer is shown once, with who gave it.
    assert "accepted by terminal" in line
    assert "decided" not in line
    assert goop("runs", "answer", run_id, "ui", "fail").code == 0
    assert goop("runs", "resume", run_id).code == 1
    assert table(goop, run_id)["test"] == "accepted"


def test_the_tasks_of_a_run_become_sessions_whose_results_are_one_answer(
    goop: Call, project: Path
) -> None:
    run_id = begun(goop, project)
    paths = goop("runs", "export", run_id, "--as", "sessions").out.split()
    assert [path.rpartition("-")[2] for path in paths] == ["api", "docs", "plan"]
    assert (project / paths[2] / "prompt.md").read_text() == "Plan a login"
    assert "<goop_report" in (project / paths[2] / "output.log").read_text()
    # A second time nothing is written again.
    assert goop("runs", "export", run_id, "--as", "sessions").out.split() == paths

    gathered = goop("handoff", "results")
    assert gathered.code == 0, gathered
    results = {each["session"].rpartition("-")[2]: each for each in json.loads(gathered.out)}
    assert {name: each["result"]["status"] for name, each in results.items()} == {
        "api": "COMPLETE",
        "docs": "BLOCKED",
        "plan": "COMPLETE",
    }
    assert results["plan"]["result"]["summary"] == "A login in three parts."
    assert "the disk of the docs is gone" in results["docs"]["result"]["errors"][0]
    assert [each["errors"] for each in results.values()] == [[], [], []]


def test_a_graph_that_nobody_trusted_runs_nothing(goop: Call, project: Path) -> None:
    ended = goop("delegate", "login.toml", "--input", "goal=x")
    assert ended.code == 3
    assert "nobody has trusted this graph, which runs" in ended.err
    assert f"--trust {digest(project)[:12]}" in ended.err
    assert goop("delegate", "login.toml", "--input", "goal=x", "--trust", "0" * 12).code == 3
    assert not (project / "asked.jsonl").exists()


def test_a_graph_that_changed_since_it_was_trusted_is_not_run(goop: Call, project: Path) -> None:
    run_id = begun(goop, project)
    graph = project / "login.toml"
    graph.write_text(graph.read_text().replace('"worker.py"', '"-c", "open(1)"'))
    assert goop("delegate", "login.toml", "--resume").code == 3
    assert goop("runs", "resume", run_id, "--graph", "login.toml").code == 3
    # The run itself is what it was.
    assert goop("runs", "answer", run_id, "ui", "fail").code == 0
    assert goop("runs", "resume", run_id).code == 1


def test_a_changed_prompt_runs_exactly_that_task_and_what_follows_again(
    goop: Call, project: Path
) -> None:
    run_id = begun(goop, project)
    goop("runs", "answer", run_id, "ui", "retry", "--note", "It is decided: green.")
    before = len(asked(project)) + len(["ui", "review", "api", "review", "test"])
    assert goop("runs", "resume", run_id).code == 0
    assert len(asked(project)) == before

    graph = project / "login.toml"
    text = graph.read_text()
    graph.write_text(text.replace("Review: ", "Review well: "))
    changed = digest(project)
    ended = goop("runs", "resume", run_id, "--graph", "login.toml", "--trust", changed)
    assert ended.code == 0, ended
    again = asked(project)[before:]
    # The optional task that failed is done again as well: it never was accepted.
    assert sorted(each for each in again if each != "docs") == ["review", "test"]


def test_a_run_that_is_not_done_is_not_begun_twice_by_accident(goop: Call, project: Path) -> None:
    run_id = begun(goop, project)
    ended = goop("delegate", "login.toml", "--input", "goal=x")
    assert ended.code == 2
    assert f"{run_id} of 'login' is not done; say --resume" in ended.err
    planned = goop("delegate", "login.toml", "--plan")
    assert f"open: {run_id}, of which --resume keeps api, plan\n" in planned.out
    assert goop("delegate", "login.toml", "--new", "--input", "goal=x").code == 3
    assert len(goop("runs").out.splitlines()) == 2


@pytest.mark.parametrize("typed", ["\n\x04", "perhaps\n\x04"])
def test_an_open_run_goes_on_only_when_a_person_says_so(
    goop: Call, project: Path, state: dict[str, str], typed: str
) -> None:
    run_id = begun(goop, project)
    before = asked(project)
    words = ("delegate", "login.toml", "--input", "goal=x")
    ended = run_on_terminal(*words, cwd=project, env=state, typed=typed)
    assert f"Go on with {run_id}? [y/n]" in ended.out
    assert ended.code != 0
    assert asked(project) == before
    assert len(goop("runs", "--all").out.splitlines()) == 1


def test_a_default_that_lets_the_work_go_on_is_named(goop: Call, project: Path) -> None:
    graph = project / "login.toml"
    gate = '[gates.ship]\nneeds = ["test"]\nquestion = "Ship?"\ntimeout = "1h"\ndefault = "yes"\n'
    graph.write_text(f"{graph.read_text()}\n{gate}")
    checked = goop("delegate", "login.toml", "--check")
    assert checked.code == 0
    assert "gates.ship: the default 'yes' is the answer that starts what follows" in checked.err


def test_a_missing_value_and_an_agent_that_is_not_there_are_refused_before_anything_runs(
    goop: Call, project: Path
) -> None:
    ended = goop("delegate", "login.toml", "--trust", digest(project))
    assert ended.code != 0
    assert "--input goal=" in ended.err
    graph = project / "login.toml"
    graph.write_text(graph.read_text().replace("command = [", 'command = ["no-such-program-x", '))
    ended = goop("delegate", "login.toml", "--input", "goal=x", "--trust", digest(project))
    assert "there is no program 'no-such-program-x'" in ended.err
    assert goop("runs", "--all").out == ""


def test_answers_that_make_no_sense_change_nothing(goop: Call, project: Path) -> None:
    run_id = begun(goop, project)
    for words, message in (
        (("ui", "perhaps"), "expected one of retry, accept, fail"),
        (("plan", "retry"), "plan does not wait for an answer: it is accepted"),
        (("nothing", "retry"), "nothing"),
    ):
        ended = goop("runs", "answer", run_id, *words)
        assert ended.code != 0
        assert message in ended.err
    assert goop("runs", "answer", run_id, "ui", "fail").code == 0
    second = goop("runs", "answer", run_id, "ui", "retry")
    assert second.code != 0
    assert "does not wait for an answer" in second.err


def test_a_cancelled_run_ends_and_a_task_of_it_can_be_run_again(goop: Call, project: Path) -> None:
    run_id = begun(goop, project)
    assert "ui" in goop("runs", "cancel", run_id).out
    assert goop("runs", "resume", run_id).code == 4
    assert goop("runs", "retry", run_id, "ui").code == 0
    assert goop("runs", "resume", run_id).code == 3
    events = [json.loads(line) for line in goop("runs", "export", run_id).out.splitlines()]
    [again] = [each["data"] for each in events if each["what"] == "again"]
    assert again["by"]


def test_the_first_interrupt_lets_calls_end_and_the_run_goes_on_later(
    goop: Call, project: Path, state: dict[str, str]
) -> None:
    trusted = digest(project)
    worker = project / "worker.py"
    worker.write_text(
        worker.read_text().replace("REPORTS =", "import time; time.sleep(1)\nREPORTS =")
    )
    command = [*PROGRAM, "delegate", "login.toml", "--input", "goal=x", "--trust", trusted]
    with subprocess.Popen(
        command, cwd=project, env=environment(state), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        until((project / "asked.jsonl").exists)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 130, (out, err)
    run_id = err.decode().split("goop-mcp runs resume ")[1].split(")")[0]
    assert table(goop, run_id)["plan"] == "accepted"
    assert asked(project) == ["plan"]
    assert goop("runs", "resume", run_id).code == 3
    assert asked(project).count("plan") == 1


def test_the_second_interrupt_ends_the_programs_and_loses_nothing(
    goop: Call, project: Path, state: dict[str, str]
) -> None:
    worker = project / "worker.py"
    good = worker.read_text()
    worker.write_text(
        good.replace(
            "REPORTS =",
            "open('pid', 'w').write(str(os.getpid())); import time; time.sleep(600)\nREPORTS =",
        )
    )
    trusted = digest(project)
    command = [*PROGRAM, "delegate", "login.toml", "--input", "goal=x", "--trust", trusted]
    with subprocess.Popen(
        command, cwd=project, env=environment(state), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        until(lambda: (project / "pid").exists() and (project / "pid").read_text() != "")
        process.send_signal(signal.SIGINT)
        # The call under way goes on, so that the first one ends nothing.
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 130, (out, err)
    pid = int((project / "pid").read_text())
    until(lambda: not is_alive(pid))
    worker.write_text(good)
    run_id = err.decode().split("goop-mcp runs resume ")[1].split(")")[0]
    assert goop("runs", "resume", run_id).code == 3
    assert table(goop, run_id)["plan"] == "accepted"


def test_what_an_agent_writes_cannot_control_the_terminal(goop: Call, project: Path) -> None:
    reports = json.loads((project / "reports.json").read_text())
    reports["blocked"] = reports["blocked"].replace(
        "which color?", "which \u202ecolor? " + "x" * 9_999
    )
    (project / "reports.json").write_text(json.dumps(reports))
    worker = project / "worker.py"
    worker.write_text(
        worker.read_text().replace('sys.exit("the disk', r'sys.exit("\x1b]0;owned\x07 the disk')
    )
    run_id = begun(goop, project)
    for words in (
        ("show", run_id),
        ("show", run_id, "--task", "docs", "--output"),
        ("export", run_id),
    ):
        shown = goop("runs", *words).out
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "\u202e" not in shown
    longest = max(map(len, goop("runs", "show", run_id).out.splitlines()))
    assert longest < 500


def test_a_run_in_the_background_is_found_again(goop: Call, project: Path) -> None:
    ended = goop(
        "delegate", "login.toml", "--input", "goal=x", "--trust", digest(project), "--detach"
    )
    assert ended.code == 0, ended
    run_id = ended.out.strip()
    shown = goop("runs", "show", run_id, "--watch")
    assert shown.code == 3
    assert "? ui" in shown.out


def test_a_terminal_shows_one_line_a_task_and_asks_for_trust(
    project: Path, state: dict[str, str]
) -> None:
    ended = run_on_terminal(
        "delegate", "login.toml", "--input", "goal=x", cwd=project, env=state, typed="y\n"
    )
    assert ended.code == 3, ended
    assert "Do you trust it?" in ended.out
    assert "worker.py" in ended.out
    last = ended.out[ended.out.rindex("✓ plan") :]
    assert "? ui" in last
    assert "✗ docs" in last


def test_events_are_lines_of_json_for_programs(goop: Call, project: Path) -> None:
    ended = goop(
        *("delegate", "login.toml", "--input", "goal=x", "--trust", digest(project)),
        *("--format", "jsonl"),
    )
    assert ended.code == 3
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert [each["seq"] for each in events] == sorted({each["seq"] for each in events})
    assert {each["what"] for each in events} >= {"state", "claimed", "asked", "answered", "run"}


def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds; a minute is only against hanging."""
    ends = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.05)


SMALL = """\
graph = 1
name = "small"
protocol = "goop_report"
[agents.worker]
run = "command"
command = [{python}, "worker.py"]
[tasks.api]
agent = "worker"
prompt = "Build it"
[tasks.test]
agent = "worker"
needs = ["api"]
prompt = "Test it"
"""


def recorded(goop: Call) -> list[int]:
    listed = json.loads(goop("reports", "list", "--format", "json").out)
    return sorted(each["report"] for each in listed["reports"])


def test_accepted_reports_are_recorded_in_the_round_once(
    goop: Call, project: Path, state: dict[str, str]
) -> None:
    assert goop("init").code == 0
    graph = project / "small.toml"
    graph.write_text(SMALL.format(python=json.dumps(sys.executable)))
    trust = Graph.load(graph).digest
    ended = goop("delegate", "small.toml", "--trust", trust, "--format", "jsonl")
    assert ended.code == 0, ended
    events = [json.loads(line) for line in ended.out.splitlines()]
    numbers = [each["data"]["report"] for each in events if each["what"] == "recorded"]
    assert sorted(numbers) == recorded(goop)
    assert len(numbers) == 2

    # The runner may be killed between the end of a task and its record: the next one records it.
    run_id = events[0]["run"]
    with Place(project, state.get("GOOP_DATABASE_URL")) as place:

        def forget(writing: WriteTransaction) -> None:
            row = writing.graphs.task(run_id, "api")
            assert row is not None
            writing.graphs.move_task(row._replace(report=None), was=row)

        place.store.write(forget)
    assert goop("runs", "resume", run_id).code == 0
    assert recorded(goop) == sorted(numbers)
    again = [json.loads(line) for line in goop("runs", "export", run_id).out.splitlines()]
    assert again[-1]["what"] == "recorded"
    assert again[-1]["data"]["report"] in numbers


def test_each_reply_of_a_run_counts_once_in_the_statistics(goop: Call, project: Path) -> None:
    assert goop("init").code == 0
    (project / "worker.py").write_text(
        "import sys\nfrom pathlib import Path\n"
        "asked = Path('asked')\n"
        "asked.write_text(asked.read_text() + 'x' if asked.exists() else 'x')\n"
        f"print({report()!r} if 'Build' in sys.stdin.read() and len(asked.read_text()) > 1"
        " else 'done')\n"
    )
    graph = project / "small.toml"
    graph.write_text(SMALL.format(python=json.dumps(sys.executable)))
    ended = goop("delegate", "small.toml", "--trust", Graph.load(graph).digest)
    assert ended.code == 1, ended

    counted = json.loads(goop("stats", "--format", "json").out)
    replies = counted["replies"]
    # The first task is accepted at the second attempt, the other one never, in three.
    assert (replies["accepted"], replies["rejected"]) == (1, 4)
    assert counted["retries"]["calls"] == 2
    assert [each["agent"] for each in counted["by_agent"]] == ["worker"]

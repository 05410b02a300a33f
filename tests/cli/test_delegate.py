"""`goop-mcp delegate --check` and `--plan`: nothing runs, and everything wrong is named."""

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.delegation.graphs import write_login
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "delegation.md").read_text(encoding="utf-8")


def test_the_first_graph_of_the_documentation_does_what_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "login.toml").write_text(PAGE.split("```toml\n")[1].partition("```")[0])
    shown = PAGE.split("```console\n")[1].partition("```")[0]
    commands = [each.partition("\n") for each in shown.split("$ goop-mcp ")[1:]]

    assert len(commands) == 2
    for words, _, output in commands:
        assert run(*shlex.split(words), cwd=tmp_path).out == output


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    return write_login(tmp_path)


def test_a_good_graph_is_counted(graph: Path) -> None:
    ended = run("delegate", str(graph), "--check", cwd=graph.parent)
    assert (ended.code, ended.err) == (0, "")
    assert "5 tasks, 1 gate, 3 agents, 4 waves" in ended.out


def test_everything_wrong_is_named_with_file_and_line(graph: Path) -> None:
    text = graph.read_text().replace('needs = ["plan"]', 'needs = ["plam"]')
    graph.write_text(text.replace('agent = "reviewer"', 'agent = "reviwer"'))
    ended = run("delegate", "login.toml", "--check", cwd=graph.parent)
    assert ended.code == 1
    assert ended.out == ""
    assert "login.toml:54: tasks.review.agent: there is no agent 'reviwer'" in ended.err

    graph.write_text(text)
    ended = run("delegate", "login.toml", "--check", cwd=graph.parent)
    lines = [line.partition(": ")[2] for line in ended.err.splitlines()]
    assert [line.partition(": ")[0] for line in lines] == [
        f"login.toml:{number}" for number in (36, 45, 49)
    ]


def test_the_plan_shows_waves_programs_and_what_is_missing(graph: Path) -> None:
    ended = run("delegate", "login.toml", "--plan", cwd=graph.parent)
    assert ended.code == 0
    assert "wave 2\n  api by executor (worktree), after plan\n" in ended.out
    assert "  ship asks a person: Ship it? (yes, no), after review\n" in ended.out
    assert "  planner: claude --agent goop-planner\n" in ended.out
    assert "missing: --input goal=…" in ended.out

    given = run("delegate", "login.toml", "--plan", "--input", "goal=a=b", cwd=graph.parent)
    assert "missing" not in given.out


@pytest.mark.parametrize(
    ("form", "begins"), [("mermaid", "flowchart TD\n"), ("svg", "<svg "), ("json", "{")]
)
def test_the_plan_is_drawn(graph: Path, form: str, begins: str) -> None:
    ended = run("delegate", "login.toml", "--plan", "--format", form, cwd=graph.parent)
    assert ended.code == 0
    assert ended.out.startswith(begins)
    if form == "json":
        assert json.loads(ended.out)["waves"][1] == ["api", "ui", "docs"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--plan", "--input", "goal"], "--input is 'goal'; expected NAME=VALUE"),
        (["--plan", "--input", "goal=1", "--input", "goal=2"], "--input goal is given twice"),
        (["--plan", "--input", "gaol=1"], "no prompt of the graph has ${input.gaol}"),
        (["--plan", "--check"], "expected one of --check and --plan"),
    ],
)
def test_a_wrong_call_says_what_is_expected(graph: Path, words: list[str], message: str) -> None:
    ended = run("delegate", "login.toml", *words, cwd=graph.parent)
    assert ended.code == 2
    assert message in ended.err


@pytest.mark.parametrize("action", ["show", "cancel", "resume", "export"])
def test_a_run_that_does_not_exist_is_a_negative_result(tmp_path: Path, action: str) -> None:
    ended = run("runs", action, "nope", cwd=tmp_path)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "goop-mcp: there is no run 'nope'; goop-mcp delegate GRAPH starts one.\n"


def test_a_graph_that_is_not_there_is_named(tmp_path: Path) -> None:
    ended = run("delegate", "none.toml", "--check", cwd=tmp_path)
    assert ended.code == 1
    assert "none.toml: cannot be read (no such file or directory)" in ended.err


def test_a_graph_from_elsewhere_may_not_name_python_functions(graph: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    ended = run("delegate", str(graph), "--check", cwd=project)
    assert ended.code == 1
    assert "outside of the project" in ended.err


@pytest.mark.parametrize("words", [["--plan"], []], ids=["plan", "trust"])
def test_a_graph_cannot_hide_what_it_runs(tmp_path: Path, words: list[str]) -> None:
    hidden = "\r  w: true\x1b[2K\x1b]0;title\x07\x9b2J\b\u202e\n  w: true"
    values = {
        "graph": 1,
        "name": "g",
        "agents": {"w": {"run": "command", "command": ["rm", "everything", hidden]}},
        "tasks": {"a": {"agent": "w"}},
        "gates": {"ask": {"question": f"Go on?{hidden}", "needs": ["a"]}},
    }
    (tmp_path / "g.json").write_text(json.dumps(values))
    ended = run("delegate", "g.json", *words, cwd=tmp_path)
    shown = ended.out + ended.err
    assert all(each.isprintable() for each in shown.splitlines())
    [line] = (each for each in shown.splitlines() if "rm everything" in each)
    assert r"\r  w: true\x1b[2K\x1b]0;title" in line

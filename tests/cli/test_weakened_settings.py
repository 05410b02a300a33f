"""Commands use the settings of a project as they stand, and name what weakens."""

import json
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.running import REJECTED, run, unverified
from tests.delegation.reports import report
from tests.recording.repositories import Work
from tests.workspace.true_projects import commit, git, write

NOTE = "goop-mcp: note: settings that weaken how reports are judged are in force: "
LAX = '[check]\nignore = ["goop_report"]\n'


@pytest.fixture
def home(tmp_path: Path) -> Mapping[str, str]:
    return {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a repository with a rejected reply and no settings."""
    shop = tmp_path / "shop"
    write(shop, "reply.xml", REJECTED.read_text())
    git(shop, "init", "--quiet")
    commit(shop, "begin")
    return shop


@pytest.mark.parametrize(
    ("command", "before", "after"),
    [
        (("check", "reply.xml"), 1, 0),
        (("check", "--format", "json", "reply.xml"), 1, 0),
        (("check", "reply.xml", "reply.xml"), 1, 0),
        (("route", "--no-workspace", "reply.xml"), 1, 0),
        (("reports", "record", "reply.xml"), 1, 1),
    ],
    ids=lambda each: "-".join(each) if isinstance(each, tuple) else str(each),
)
def test_a_command_names_what_weakens_once_and_uses_it(
    folder: Path, home: Mapping[str, str], command: tuple[str, ...], before: int, after: int
) -> None:
    first = run(*command, cwd=folder, env=home)
    assert first.code == before
    assert "weaken" not in first.err

    write(folder, "goop-mcp.toml", LAX)
    ended = run(*command, cwd=folder, env=home)
    assert ended.code == after
    assert (
        ended.err.count(
            f'{NOTE}check.ignore = ["goop_report"] (goop-mcp.toml, line 2; before: []). If they are'
            " right, commit them or run goop-mcp trust goop-mcp.toml.\n"
        )
        == 1
    )
    if "json" in command:
        assert json.loads(ended.out)


def test_nothing_is_named_once_it_is_committed_or_trusted(
    folder: Path, home: Mapping[str, str]
) -> None:
    write(folder, "goop-mcp.toml", LAX)
    [digest] = re.findall(r"[0-9a-f]{64}", run("trust", cwd=folder, env=home).err)
    assert run("trust", "--digest", digest, cwd=folder, env=home).code == 0
    ended = run("check", "reply.xml", cwd=folder, env=home)
    assert (ended.code, ended.err) == (0, unverified(7))
    assert run("trust", "--forget", cwd=folder, env=home).code == 0
    assert NOTE in run("check", "reply.xml", cwd=folder, env=home).err

    commit(folder, "settings")
    assert run("check", "reply.xml", cwd=folder, env=home).err == unverified(7)
    # What tightens is nothing to name, nor is another form of the same.
    write(folder, "goop-mcp.toml", f"# mine\n[hooks]\nmode = 'strict'\n{LAX}")
    assert run("check", "reply.xml", cwd=folder, env=home).err == unverified(7)


def test_a_change_is_named_compared_with_the_base_of_the_work(
    folder: Path, home: Mapping[str, str]
) -> None:
    base = git(folder, "rev-parse", "HEAD")
    write(folder, "goop-mcp.toml", LAX)
    commit(folder, "settings of a pull request")
    assert run("check", "reply.xml", cwd=folder, env=home).err == unverified(7)
    assert NOTE in run("check", "--base", base, "reply.xml", cwd=folder, env=home).err


def test_a_file_that_is_gone_is_named(folder: Path, home: Mapping[str, str]) -> None:
    write(folder, ".goopspec/hooks.json", '{"agents": ["*"]}')
    commit(folder, "settings")
    (folder / ".goopspec" / "hooks.json").unlink()
    ended = run("check", "reply.xml", cwd=folder, env=home)
    assert f'{NOTE}agents is not set any more (before: ["*"])' in ended.err


def test_doctor_names_it(folder: Path, home: Mapping[str, str]) -> None:
    write(folder, "goop-mcp.toml", LAX)
    found = run("doctor", cwd=folder, env=home).out
    assert "settings that weaken how reports are judged: check.ignore" in found
    assert "goop-mcp trust goop-mcp.toml" in found


def test_a_project_without_settings_starts_no_git(tmp_path: Path, home: Mapping[str, str]) -> None:
    shop = tmp_path / "shop"
    write(shop, "reply.xml", REJECTED.read_text())
    git(shop, "init", "--quiet")
    commit(shop, "begin")
    write(tmp_path, "bin/git", f"#!/bin/sh\ntouch {shlex.quote(str(tmp_path / 'started'))}\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    assert (
        run("check", "reply.xml", cwd=shop, env={**home, "PATH": str(tmp_path / "bin")}).code == 1
    )
    assert not (tmp_path / "started").exists()


def test_no_decision_is_taken_from_an_agent_that_allows_it_itself(
    folder: Path, home: Mapping[str, str]
) -> None:
    assert run("init", cwd=folder, env=home).code == 0
    blocked = report(status="BLOCKED", agent="goop-executor").replace(
        "<blockers>None</blockers>", "<blockers>RULE 4 DEVIATION: A) x, B) y?</blockers>"
    )
    blocked = blocked.replace("<state>", "<task_id>W1.T1</task_id><state>")
    write(folder, "blocked.md", blocked)
    assert run("reports", "record", "blocked.md", cwd=folder, env=home).code == 0
    write(folder, ".goopspec/hooks.json", '{"confirm_decisions": true}')
    commit(folder, "begin")

    write(folder, ".goopspec/hooks.json", '{"confirm_decisions": false}')
    ended = run("project", "decide", "--task", "W1.T1", "--choice", "A", cwd=folder, env=home)
    assert ended.code == 3, (ended.out, ended.err)
    assert "confirm_decisions = false" in ended.err


AGENT = """\
import os, pathlib, sys

message = sys.stdin.read()
with open(os.environ["ASKED"], "a") as log:
    log.write(message + "\\0")
for folder in (".", os.environ["PROJECT"]):
    pathlib.Path(folder, "goop-mcp.toml").write_text(
        '[check]\\nignore = ["goop_report"]\\n[hooks]\\ncheck_workspace = false\\n'
    )
name = "GOOD" if "was not accepted" in message else "WRONG"
print(pathlib.Path(os.environ[name]).read_text())
"""

GRAPH = """\
graph = 1
name = "login"
protocol = "goop_report"

[agents.worker]
run = "command"
command = [{python}, {program}]

[tasks.api]
agent = "worker"
prompt = "Write the login."
workspace = "{workspace}"
"""


@pytest.mark.parametrize("workspace", ["project", "worktree"])
def test_an_agent_of_a_graph_does_not_lower_its_judge(
    tmp_path: Path, home: Mapping[str, str], workspace: str
) -> None:
    project = Work(tmp_path / "shop").folder
    assert run("init", cwd=project, env=home).code == 0
    claim = '<artifacts><files><file path="src/ghost.py" action="created">x</file></files>'
    write(tmp_path, "good.md", report())
    write(tmp_path, "wrong.md", report("FINISHED").replace("<artifacts>", claim))
    write(tmp_path, "agent.py", AGENT)
    python, program = json.dumps(sys.executable), json.dumps(str(tmp_path / "agent.py"))
    graph = tmp_path / "login.toml"
    graph.write_text(GRAPH.format(python=python, program=program, workspace=workspace))

    checked = run("delegate", graph, "--check", cwd=project, env=home)
    digest = checked.out.rpartition(" ")[2].strip()
    variables = {
        **home,
        "ASKED": str(tmp_path / "asked"),
        "PROJECT": str(project),
        "GOOD": str(tmp_path / "good.md"),
        "WRONG": str(tmp_path / "wrong.md"),
    }
    ended = run("delegate", graph, "--trust", digest, cwd=project, env=variables)
    asked = (tmp_path / "asked").read_text().split("\0")[:-1]
    assert (ended.code, len(asked)) == (0, 2), ended.err
    assert "FINISHED" in asked[1]
    assert "src/ghost.py" in asked[1]
    assert ended.err.count("do not count until a person trusts them: check_workspace = false") == 1


BY_HAND = """\
graph = 1
name = "by hand"
protocol = "goop_report"

[agents.kim]
run = "person"

[tasks.write]
agent = "kim"
prompt = "Write it."
"""


def test_a_run_is_judged_as_it_began_by_whatever_process(
    folder: Path, home: Mapping[str, str]
) -> None:
    assert run("init", cwd=folder, env=home).code == 0
    write(folder, "graph.toml", BY_HAND)
    begun = run("delegate", "graph.toml", cwd=folder, env=home)
    assert begun.code == 3, begun.err
    [id] = {*re.findall(r"runs finish (\S+) write", begun.out)}

    write(folder, "goop-mcp.toml", LAX)
    commit(folder, "mine")
    write(folder, "wrong.md", report("FINISHED"))
    refused = run("runs", "finish", id, "write", "wrong.md", cwd=folder, env=home)
    assert refused.code == 1
    assert "FINISHED" in refused.err
    assert "do not count until a person trusts them: check.ignore" in refused.err

    resumed = run("runs", "resume", id, cwd=folder, env=home)
    assert resumed.code == 3, resumed.err
    write(folder, "good.md", report())
    assert run("runs", "finish", id, "write", "good.md", cwd=folder, env=home).code == 0

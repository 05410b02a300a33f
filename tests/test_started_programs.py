"""Every place that starts a program is known, with the reason why no text of an agent is an option.

A new place fails this test until it is in the table: read goop_mcp/command_words.py first.
"""

import ast
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.running import run
from tests.repository import ROOT

PACKAGE = ROOT / "goop_mcp"
STARTS = {
    "Popen", "run_program", "start_program", "open_process", "create_subprocess_exec",
    "create_subprocess_shell", "check_output", "check_call", "execv", "execve", "execvp",
    "execvpe", "posix_spawn", "posix_spawnp", "spawnv", "spawnve", "system", "popen",
}  # fmt: skip
ARGUMENTS = {
    "retry/programs.py": "starts what the others in this table give it",
    "retry/command_line.py": "guarded(); the known programs read standard input",
    "retry/acp.py": "the words of the graph; messages and sessions are JSON",
    "services/task_replies.py": "is_value() and a pattern for the session",
    "delegation/worktrees.py": "names of runs and tasks, which a graph refuses with a dash",
    "delegation/orphans.py": "a number",
    "workspace/git.py": "ids of hexadecimal digits; paths after --",
    "recording/git_calls.py": "is_value() for commits; paths after -- and in :(top,literal)",
    "recording/commands.py": "the command of the caller, word for word",
    "hosts/doctor/handshake.py": "what a person registered in a host",
    "hosts/doctor/judging.py": "--version",
}
GUARDED = {
    "retry/command_line.py": {"guarded", "is_value"},
    "services/task_replies.py": {"is_value"},
    # Its calls of git are made there.
    "recording/tree_digest.py": {"is_value"},
    "delegation/placeholders.py": {"opening"},
    "retry/workflow.py": {"opening"},
}


def sources() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def called(tree: ast.AST) -> set[str]:
    """Return the names of the functions that are called, without their modules."""
    functions = [each.func for each in ast.walk(tree) if isinstance(each, ast.Call)]
    return {each.id for each in functions if isinstance(each, ast.Name)} | {
        each.attr for each in functions if isinstance(each, ast.Attribute)
    }


def is_from_subprocess(tree: ast.AST) -> bool:
    """Whether `subprocess.run` or `subprocess.call` stands in a module."""
    return any(
        isinstance(each, ast.Attribute)
        and isinstance(each.value, ast.Name)
        and each.value.id == "subprocess"
        and each.attr in ("run", "call")
        for each in ast.walk(tree)
    )


def test_each_place_that_starts_a_program_says_why_its_words_are_no_options() -> None:
    starting = {
        name for name, tree in sources() if STARTS & called(tree) or is_from_subprocess(tree)
    }
    assert starting == set(ARGUMENTS)


def test_the_guards_are_used_where_the_table_says_so() -> None:
    names = {"guarded", "is_value", "opening"}
    using = {name: names & called(tree) for name, tree in sources() if names & called(tree)}
    using.pop("command_words.py", None)
    assert using == GUARDED


def test_no_shell_reads_what_is_started() -> None:
    for name, tree in sources():
        for each in ast.walk(tree):
            if isinstance(each, ast.keyword) and each.arg == "shell":
                assert isinstance(each.value, ast.Constant), name
                assert each.value.value is False, name


def test_the_scripts_and_recipes_put_the_end_of_the_options_before_names() -> None:
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert shlex.split(hook["entry"])[-1] == "--"
    assert "args" not in hook

    script = (ROOT / "packaging" / "action" / "check.sh").read_text(encoding="utf-8")
    expanded = re.findall(r"^.*\$\{files\[@\]\}.*$", script, re.MULTILINE)
    assert len(expanded) == 2
    assert all(' -- "${files[@]}"' in line for line in expanded)

    # A word of its own that is an argument of a script comes after `--`, or within an option.
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for fence in re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
            for command in re.split(r"&&|\n", fence):
                if re.search(r"\s\"\$1\"", command):
                    assert re.search(r" -- \"\$1\"", command), (page.name, command)


@pytest.mark.parametrize("name", ["--strict", "--help", "-v", "--output=made"])
def test_a_file_that_is_named_like_an_option_is_checked_by_the_hook(
    tmp_path: Path, name: str
) -> None:
    # pre-commit gives the names from the top of the repository.
    reply = f"{name}/replies/a.md"
    (tmp_path / reply).parent.mkdir(parents=True)
    (tmp_path / reply).write_text("The work is done.\n", encoding="utf-8")
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert re.search(hook["files"], reply)

    checked = run(*shlex.split(hook["entry"])[1:], reply, cwd=tmp_path)
    assert checked.code == 1
    assert reply in checked.out + checked.err
    assert not (tmp_path / "made").exists()
    # Options in `args` would stand after `--`: they are refused, with what to do.
    wrong = run("check", "--", "--verbose", reply, cwd=tmp_path)
    assert wrong.code == 2
    assert "in entry and not in args" in wrong.err


@pytest.mark.parametrize("id", ["-x", "--output=made", "-"])
def test_a_graph_gives_no_task_a_name_that_is_an_option(tmp_path: Path, id: str) -> None:
    # It becomes the name of a worktree and of a branch, and a word of the commands we print.
    graph = tmp_path / "graph.json"
    task = {"agent": "a", "prompt": "Work."}
    graph.write_text(
        json.dumps({"graph": 1, "name": "w", "agents": {"a": {"run": "host"}}, "tasks": {id: task}})
    )
    refused = run("delegate", graph, "--check", cwd=tmp_path)
    assert refused.code != 0
    assert "tasks" in refused.err

"""Every hook entry that is shipped, written or printed, run as hosts run it that know no `args`.

Such a host starts the command alone, in a shell or without one, and gives it the event. What a
model or a person wrote stands in that event, and must not be run.
"""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from goop_mcp.hosts.catalogue import is_our_element
from goop_mcp.hosts.launch import Launch
from tests.cli.running import Ended, run_command
from tests.hosts.hook_entries import (
    HookEntry,
    printed_entries,
    shipped_entries,
    unread_entries,
    written_entries,
)
from tests.hosts.hooks.hooks import CASES
from tests.hosts.machine import Machine
from tests.repository import ROOT

PLUGIN = ROOT / "packaging" / "plugins" / "claude-code" / "goop-mcp"
SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "fish", "cmd", "powershell", "pwsh", "env", "eval"}
INTERPRETERS = SHELLS | {"python", "python3", "node", "deno", "bun", "perl", "ruby", "php", "npx"}
FOLDER = 'it\'s a "folder" \\ for $HOME and `id`'
"""A name of which a shell would run or change each part if it were not quoted."""


def defects(entry: HookEntry) -> Iterator[str]:
    """Yield what a host could make of the entry other than running our hook."""
    command = entry.hook["command"]
    assert isinstance(command, str)
    try:
        words = shlex.split(command)
    except ValueError:
        yield "a command that no shell can read"
        return

    program = Path(words[0]).name.removesuffix(".exe")
    if "args" in entry.hook:
        yield "arguments outside of the command"
    if program in SHELLS or (program.rstrip(".0123456789") in INTERPRETERS and len(words) < 3):
        yield f"{program} would run what is on its standard input"
    if "hook" not in words or words[-1] not in {"claude-code", "codex", "opencode"}:
        yield "no subcommand with the name of a host"


def test_every_entry_is_one_command_without_an_interpreter_alone(machine: Machine) -> None:
    entries = [*shipped_entries(), *printed_entries(machine)]
    for command in (None, "uvx goop-mcp", shlex.quote(f"/opt/{FOLDER}/goop-mcp")):
        entries += written_entries(machine, command)

    assert {(entry.place, entry.event): list(defects(entry)) for entry in entries} == {
        (entry.place, entry.event): [] for entry in entries
    }
    places = {entry.place for entry in entries}
    assert {
        "docs/hosts/codex.md",
        "install codex",
        f"{PLUGIN.relative_to(ROOT)}/hooks/hooks.json",
    } <= places
    assert sum(place.endswith("settings.json") for place in places) == 2, "project and user"
    # Whose output this test reads as well: add what writes or prints another hook.
    assert unread_entries() == {"goop_mcp/hosts/catalogue.py"}


@pytest.mark.parametrize(
    "hook",
    [
        {"command": "sh", "args": ["x", "hook", "claude-code"]},
        {"command": "goop-mcp", "args": ["hook", "claude-code"]},
        {"command": "sh"},
        {"command": "/usr/bin/python3.11"},
        {"command": "goop-mcp"},
        {"command": "bash /x/goop-mcp hook claude-code"},
    ],
)
def test_an_entry_of_another_form_would_be_noticed(hook: dict[str, object]) -> None:
    assert list(defects(HookEntry("somewhere", "Stop", {"type": "command", **hook}))) != []


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Create a folder with a `goop-mcp` of this checkout; its name would not survive a shell."""
    folder = tmp_path / FOLDER
    folder.mkdir()
    start = f'PYTHONPATH="{ROOT}" PYTHONUTF8=1 exec "{sys.executable}" -m goop_mcp "$@"'
    (folder / "goop-mcp").write_text(f"#!/bin/sh\n{start}\n", encoding="utf-8")
    (folder / "goop-mcp").chmod(0o755)
    return folder


class OldHost:
    """A host that knows no `args`; `ran` is what exists once words of an event were run."""

    def __init__(self, machine: Machine, programs: Path) -> None:
        self.machine, self.programs = machine, programs
        self.ran = machine.project / "ran"
        self._plugin, self._sessions = programs / "plugin", 0
        shutil.copytree(PLUGIN, self._plugin)

    def event(self, name: str) -> bytes:
        """Return an event in which people and models wrote words that would leave a mark."""
        recorded = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
        touch = f"touch {self.ran.name}"
        words = f'$({touch}) `{touch}` "; {touch}; # ";open("{self.ran.name}","w")#\n{touch}\n'
        self._sessions += 1
        # In one session an agent is asked twice at most.
        written = {
            "session_id": str(self._sessions),
            "prompt": words,
            "last_assistant_message": words,
            "task_subject": words,
            "tool_input": {**recorded.get("tool_input", {}), "message": words},
        }
        return json.dumps({**recorded, **written, "cwd": str(self.machine.project)}).encode()

    def start(self, command: list[str], event: str) -> Ended:
        """Start a command as a hook and give it the event."""
        path = os.pathsep.join([str(self.programs), "/usr/bin", "/bin"])
        variables = {
            **self.machine.environment(path),
            "CLAUDE_PLUGIN_ROOT": str(self._plugin),
            "CLAUDE_PROJECT_DIR": str(self.machine.project),
        }
        return run_command(
            command, stdin=self.event(event), cwd=self.machine.project, env=variables
        )


@pytest.fixture
def old_host(machine: Machine, programs: Path) -> OldHost:
    return OldHost(machine, programs)


def assert_answered(ended: Ended, event: str) -> None:
    """Check that the report was judged, and that the answer stops nothing else."""
    assert ended.code == 0, ended.err
    answer = json.loads(ended.out or "{}")
    if event == "SubagentStop":
        assert answer["decision"] == "block"
        assert "No <goop_report> envelope was found" in answer["reason"]
    else:
        assert "decision" not in answer


def entries_of(kind: str, old_host: OldHost) -> list[HookEntry]:
    """Return the entries, written with a program in a folder with a difficult name."""
    if kind == "shipped":
        return shipped_entries()
    if kind == "printed":
        return printed_entries(old_host.machine)
    command = None if kind == "found" else shlex.quote(str(old_host.programs / "goop-mcp"))
    return written_entries(old_host.machine, command)


@pytest.mark.parametrize("kind", ["shipped", "printed", "written", "found"])
def test_a_shell_that_gets_the_command_runs_only_our_hook(old_host: OldHost, kind: str) -> None:
    entries = entries_of(kind, old_host)
    for entry in {(str(each.hook["command"]), each.event): each for each in entries}.values():
        ended = old_host.start(["/bin/sh", "-c", str(entry.hook["command"])], entry.event)
        assert not old_host.ran.exists(), entry
        assert_answered(ended, entry.event)


@pytest.mark.parametrize("kind", ["shipped", "printed", "written"])
def test_a_program_that_is_started_without_its_arguments_answers(
    old_host: OldHost, kind: str
) -> None:
    plugin = str(old_host.programs / "plugin")
    first = {
        (shlex.split(str(entry.hook["command"]))[0], entry.event)
        for entry in entries_of(kind, old_host)
        # One whose report is judged, and one that a wrong exit code would refuse.
        if entry.event in {"SubagentStop", "UserPromptSubmit"}
    }
    for program, event in first:
        ended = old_host.start([program.replace("${CLAUDE_PLUGIN_ROOT}", plugin)], event)
        assert not old_host.ran.exists(), program
        assert_answered(ended, event)
        assert ended.err.count("use goop-mcp hook HOST") == 1


def test_the_folder_of_the_plugin_may_be_put_into_the_command_as_text(old_host: OldHost) -> None:
    """Claude Code before 2.1.139 and Qwen Code do that; such a folder may have blanks."""
    folder = old_host.programs.parent / "a plugin's folder"
    shutil.copytree(PLUGIN, folder)
    commands = {
        str(entry.hook["command"]).replace("${CLAUDE_PLUGIN_ROOT}", str(folder))
        for entry in shipped_entries()
        if "PLUGIN_ROOT" in str(entry.hook["command"])
    }
    (command,) = commands
    assert_answered(old_host.start(["/bin/sh", "-c", command], "SubagentStop"), "SubagentStop")


def test_a_plugin_folder_that_is_gone_refuses_nothing(old_host: OldHost) -> None:
    """A shell that cannot open its script ends with 2, which would refuse every prompt."""
    (command,) = {
        str(entry.hook["command"]) for entry in shipped_entries() if entry.place.endswith(".json")
    }
    gone = command.replace("${CLAUDE_PLUGIN_ROOT}", "/nowhere")
    ended = old_host.start(["/bin/sh", "-c", gone], "UserPromptSubmit")
    assert (ended.code, ended.out) == (127, "")


def test_the_script_of_the_plugin_may_be_executed() -> None:
    assert os.access(PLUGIN / "scripts" / "goop-mcp", os.X_OK)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("D:\\tools\\goop-mcp.exe", "D:/tools/goop-mcp.exe hook claude-code"),
        ("C:\\Program Files\\goop-mcp.exe", '"C:/Program Files/goop-mcp.exe" hook claude-code'),
        ("goop-mcp", "goop-mcp hook claude-code"),
    ],
)
def test_on_windows_the_command_is_one_that_git_bash_and_cmd_read(
    command: str, expected: str
) -> None:
    """The form only: no Windows is there to run it."""
    launch = Launch(command=command, why="a test")
    line = launch.shell_line("hook", "claude-code", windows=True)
    assert line == expected
    assert is_our_element({"hooks": [{"type": "command", "command": line}]})

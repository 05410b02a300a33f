"""Hooks that an earlier version of goop-mcp wrote, with their arguments in a list of its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from goop_mcp.hosts.doctor.judging import ARGUMENTS_ARE_UNSAFE
from goop_mcp.hosts.records import InstallRecord, InstallRecords
from goop_mcp.hosts.targets import Target
from goop_mcp.workspace.replacing import sha256
from tests.hosts.machine import Machine
from tests.hosts.test_doctor import PROGRAM, examined, switch_plugin, warnings

EARLIER = (
    Path(__file__).parent.parent / "cases" / "hosts" / "claude_code" / "settings_with_args.json"
)
"""What `goop-mcp install claude-code --tasks --command goop-mcp` wrote then."""
SETTINGS = ".claude/settings.json"
BEFORE = b'{\n  // mine\n  "model": "opus"\n}\n'
FIX = "goop-mcp install claude-code --scope project; with --replace if they were written by hand"


def done(machine: Machine, *arguments: str) -> str:
    ended = machine.run_here(*arguments)
    assert ended.code == 0, ended.err
    return ended.out


@pytest.fixture
def settings(machine: Machine) -> Path:
    """Write the settings of a checkout, of which this machine has no record."""
    return machine.write(SETTINGS, EARLIER.read_bytes())


@pytest.fixture
def recorded(machine: Machine, settings: Path) -> Path:
    """Record that the earlier version wrote the settings here, into a file that existed."""
    written = json.loads(EARLIER.read_text(encoding="utf-8"))
    groups = [group for each in written["hooks"].values() for group in each]
    record = InstallRecord(
        before=BEFORE,
        after=sha256(EARLIER.read_bytes()),
        written=(*groups, "goop"),
        owners=("claude-code",),
    )
    records = InstallRecords(machine.home / ".local" / "state" / "goop-mcp")
    records.keep(Target(root=machine.project, name=SETTINGS, shown=SETTINGS), record)
    return settings


def hooks(settings: Path) -> list[dict[str, Any]]:
    events = json.loads(settings.read_text(encoding="utf-8"))["hooks"]
    return [hook for groups in events.values() for group in groups for hook in group["hooks"]]


def commands(settings: Path) -> set[str]:
    return {hook["command"] for hook in hooks(settings)}


@pytest.mark.parametrize("options", [[], ["--tasks"], ["--command", "goop-mcp"]])
def test_installing_again_replaces_all_of_them_where_they_were(
    machine: Machine, recorded: Path, options: list[str]
) -> None:
    number = len(hooks(recorded))
    output = done(machine, "install", "claude-code", *options)
    assert "by hand" not in output
    # The earlier version had none for reports that are handed back.
    assert (number, len(hooks(recorded))) == (7, 8)
    assert all(
        "args" not in hook and hook["command"].endswith(" hook claude-code")
        for hook in hooks(recorded)
    )

    once = machine.files()
    done(machine, "install", "claude-code", *options)
    assert machine.files() == once


def test_uninstalling_restores_the_bytes_from_before_either_version(
    machine: Machine, recorded: Path
) -> None:
    done(machine, "install", "claude-code")
    done(machine, "uninstall", "claude-code")
    assert recorded.read_bytes() == BEFORE


def test_uninstalling_at_once_restores_them_too(machine: Machine, recorded: Path) -> None:
    done(machine, "uninstall", "claude-code")
    assert recorded.read_bytes() == BEFORE


def test_what_people_added_since_survives_both(machine: Machine, recorded: Path) -> None:
    mine = {"hooks": [{"type": "command", "command": "mine", "args": ["hook"]}]}
    values = json.loads(recorded.read_text(encoding="utf-8"))
    values["hooks"]["Stop"].append(mine)
    recorded.write_text(json.dumps(values), encoding="utf-8")
    done(machine, "install", "claude-code")
    assert commands(recorded) >= {"mine"}
    done(machine, "uninstall", "claude-code")
    assert json.loads(recorded.read_text(encoding="utf-8"))["hooks"] == {"Stop": [mine]}


def test_those_of_a_checkout_are_replaced_without_a_record(
    machine: Machine, settings: Path
) -> None:
    assert "by hand" not in done(machine, "install", "claude-code")
    assert not any("args" in hook for hook in hooks(settings))


@pytest.mark.parametrize("before", [[], [["install", "claude-code"]]], ids=["at once", "renewed"])
def test_those_of_a_checkout_are_removed(
    machine: Machine, settings: Path, before: list[list[str]]
) -> None:
    for command in before:
        done(machine, *command)
    done(machine, "uninstall", "claude-code")
    assert not settings.exists() or "goop-mcp" not in settings.read_text(encoding="utf-8")


def by_hand(machine: Machine) -> Path:
    hook = {"type": "command", "command": "goop-mcp", "args": ["hook", "claude-code"]}
    group = {"hooks": [{**hook, "timeout": 99}]}
    return machine.write(SETTINGS, json.dumps({"hooks": {"Stop": [group]}}))


def test_one_that_was_written_by_hand_is_kept_and_named(machine: Machine) -> None:
    settings = by_hand(machine)
    assert "keeps hooks.Stop as written by hand" in done(machine, "install", "claude-code")
    assert [hook.get("args") for hook in hooks(settings)].count(["hook", "claude-code"]) == 1
    ((message, fix),) = unsafe(machine)
    assert message.startswith(f"{SETTINGS} has hooks with args: Stop; ")
    assert fix == FIX
    done(machine, "install", "claude-code", "--replace")
    assert unsafe(machine) == []


def unsafe(machine: Machine) -> list[tuple[str, str]]:
    path = f"{Path(PROGRAM).parent}:/usr/bin:/bin"
    found = warnings(examined(machine, code=0, path=path)["Claude Code"])
    return [(message, fix) for message, fix in found if "with args" in message]


@pytest.mark.parametrize("kept", ["settings", "recorded"])
def test_the_doctor_says_what_is_unsafe_about_them_and_how_to_renew_them(
    machine: Machine, request: pytest.FixtureRequest, kept: str
) -> None:
    request.getfixturevalue(kept)
    ((message, fix),) = unsafe(machine)
    assert message == (
        f"{SETTINGS} has hooks with args: SubagentStart, SubagentStop, Stop, SessionStart,"
        f" UserPromptSubmit, PostToolUse, TaskCompleted; {ARGUMENTS_ARE_UNSAFE}"
    )
    # These hooks came without slash commands, and none are to come with others.
    assert fix == FIX.replace("project;", "project --no-commands;")
    done(machine, "install", "claude-code")
    assert unsafe(machine) == []


def test_the_doctor_names_a_plugin_with_such_hooks(machine: Machine, tmp_path: Path) -> None:
    switch_plugin(machine, SETTINGS, on=True)
    folder = tmp_path / "cache" / "goop-mcp"
    entry = {"scope": "user", "installPath": str(folder), "version": "0.0.9"}
    file = machine.home / ".claude/plugins/installed_plugins.json"
    file.parent.mkdir(parents=True)
    plugins = {"version": 2, "plugins": {"goop-mcp@anywhere": [entry]}}
    file.write_text(json.dumps(plugins), encoding="utf-8")
    (folder / "hooks").mkdir(parents=True)
    kept = folder / "hooks" / "hooks.json"
    kept.write_bytes(EARLIER.read_bytes())
    ((message, fix),) = unsafe(machine)
    assert message.startswith(f"the plugin goop-mcp@anywhere of {SETTINGS} has hooks with args; ")
    assert fix == (
        "install it again: claude plugin uninstall goop-mcp@anywhere, then claude plugin install"
        " goop-mcp@anywhere"
    )

    kept.write_text('{"hooks": ["broken"', encoding="utf-8")
    assert unsafe(machine) == []

"""What the doctor finds, and the fixes that it prints."""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import apsw
import pytest

from goop_mcp.hosts.catalogue import HOSTS
from tests.hosts.machine import Machine
from tests.rights import ordinary_rights
from tests.workspace.projects import CASES

SLOW = "which some hosts do not wait for"
PROGRAM = str(Path(sys.prefix) / "bin" / "goop-mcp")


def examined(
    machine: Machine, *, code: int, path: str | None = None
) -> dict[str, list[dict[str, str]]]:
    """Return the checks by their subject."""
    ended = machine.run("doctor", "--format", "json", path=path)
    assert ended.code == code, ended.out + ended.err
    found: dict[str, list[dict[str, str]]] = {}
    results = json.loads(ended.out)
    assert results["healthy"] is (code == 0)
    for check in results["checks"]:
        found.setdefault(check["subject"], []).append(check)
        assert (check["fix"] is None) == (check["outcome"] == "ok")

    return found


def errors(checks: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [(check["message"], check["fix"]) for check in checks if check["outcome"] == "error"]


def warnings(checks: list[dict[str, str]]) -> list[tuple[str, str]]:
    """Return the warnings and fixes, except that a server is slow: the machine may be busy."""
    results = [check for check in checks if check["outcome"] == "warning"]
    return [
        (check["message"], check["fix"]) for check in results if not check["message"].endswith(SLOW)
    ]


def register(machine: Machine, command: object, **more: object) -> None:
    machine.write(
        ".cursor/mcp.json", json.dumps({"mcpServers": {"goop": {"command": command, **more}}})
    )


def script(machine: Machine, text: str) -> str:
    """Return the path of a program that stands in for goop-mcp."""
    program = machine.home / "bin" / "goop-mcp"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!{sys.executable}\n{text}")
    program.chmod(0o755)
    return str(program)


def test_a_machine_without_any_host_gets_the_command_to_install(machine: Machine) -> None:
    checks = examined(machine, code=0)
    assert warnings(checks["hosts"]) == [
        (
            "goop-mcp is not registered in any host here",
            "goop-mcp install HOST, with one of claude-code, opencode, cursor, vscode",
        )
    ]
    assert [check["outcome"] for check in [*checks["installation"], *checks["SQLite"]]] == [
        "ok",
        "ok",
    ]
    assert list(machine.project.iterdir()) == []


@pytest.mark.parametrize("host", HOSTS)
def test_each_server_is_started_and_lists_its_tools(machine: Machine, host: str) -> None:
    machine.run("install", host)
    (check,) = examined(machine, code=0)[HOSTS[host].title]
    assert "server goop answers in" in check["message"]
    assert "tools" in check["message"]


def test_an_error_and_its_fix_are_printed_in_one_line_each(machine: Machine) -> None:
    register(machine, "/nowhere/goop-mcp")
    ended = machine.run("doctor")
    assert ended.code == 1
    assert (
        "ERROR    Cursor: .cursor/mcp.json: server goop starts /nowhere/goop-mcp, which is not"
        " found on the PATH\n         fix: goop-mcp install cursor --scope project --replace\n"
        in ended.out
    )


def test_a_foreign_server_of_the_same_name_can_be_renamed_or_overwritten(machine: Machine) -> None:
    register(machine, "/bin/true")
    ((message, fix),) = errors(examined(machine, code=1)["Cursor"])
    assert message == ".cursor/mcp.json: server goop starts /bin/true, which is not goop-mcp"
    command = "goop-mcp install cursor --scope project --replace"
    assert fix == f"rename it, or overwrite it: {command}"
    assert machine.run(*command.split()[1:]).code == 0
    assert errors(examined(machine, code=0)["Cursor"]) == []


def test_a_configuration_that_cannot_be_read_is_reported_with_its_position(
    machine: Machine,
) -> None:
    machine.write(".vscode/mcp.json", '{\n  "servers": {]\n}')
    ((message, fix),) = errors(examined(machine, code=1)["VS Code"])
    assert ".vscode/mcp.json cannot be read: unexpected ']' (line 2, column 15)" in message
    assert fix == "fix .vscode/mcp.json; the host cannot read it either"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import sys; sys.exit('no module named lxml')", "it ends with 1: no module named lxml"),
        (
            "print('Welcome!', flush=True); input()",
            "it writes 'Welcome!' to standard output, which is for MCP only",
        ),
        ("pass", "it ends with 0 and prints nothing"),
    ],
)
def test_a_server_that_does_not_work_is_reported_with_its_last_output(
    machine: Machine, text: str, expected: str
) -> None:
    register(machine, script(machine, text))
    ((message, _),) = errors(examined(machine, code=1)["Cursor"])
    assert message == f".cursor/mcp.json: server goop does not work: {expected}"


OTHER_VERSION = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        info = {"name": "goop-mcp", "version": "0.0.1"}
        result = {"serverInfo": info, "tools": [{"name": "t"}]}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def test_another_version_is_reported(machine: Machine) -> None:
    register(machine, script(machine, OTHER_VERSION))
    ((message, fix),) = warnings(examined(machine, code=0)["Cursor"])
    assert "server goop starts goop-mcp 0.0.1, and this is" in message
    assert fix.startswith("install the newest one in both places")


def test_no_secret_is_shown(machine: Machine) -> None:
    text = "import os, sys; sys.exit('password=' + os.environ['GOOP_TOKEN'] + ' ghp_' + 'a1B2' * 9)"
    register(machine, script(machine, text), env={"GOOP_TOKEN": "hunter2-hunter2"})
    ended = machine.run("doctor")
    assert ended.code == 1
    assert "hunter2" not in ended.out
    assert "ghp_a1B2" not in ended.out


def test_variables_of_the_host_are_expanded(machine: Machine) -> None:
    text = (
        "import os, sys\nif os.environ['GOOP_PROJECT_DIR'] != os.getcwd():"
        f" sys.exit('wrong')\n{OTHER_VERSION}"
    )
    register(machine, script(machine, text), env={"GOOP_PROJECT_DIR": "${workspaceFolder}"})
    assert errors(examined(machine, code=0)["Cursor"]) == []


def test_a_registration_for_both_project_and_user_is_reported(machine: Machine) -> None:
    machine.run("install", "cursor")
    machine.run("install", "cursor", "--scope", "user")
    ((message, fix),) = warnings(examined(machine, code=0)["Cursor"])
    assert (
        message
        == "goop-mcp is registered 2 times: in .cursor/mcp.json as goop and ~/.cursor/mcp.json as"
        " goop"
    )
    first, second = (f"goop-mcp uninstall cursor --scope {scope}" for scope in ("project", "user"))
    assert fix == f"remove all but one of them, for example with {first} or {second}"


def test_a_second_entry_under_another_name_is_reported(machine: Machine) -> None:
    one = {"command": PROGRAM, "args": []}
    machine.write(".cursor/mcp.json", json.dumps({"mcpServers": {"goop": one, "old": one}}))
    ((message, _),) = warnings(examined(machine, code=0)["Cursor"])
    assert "registered 2 times" in message


def test_missing_hooks_and_a_missing_plugin_are_reported(machine: Machine) -> None:
    machine.run("install", "claude-code")
    machine.run("install", "opencode")
    machine.write(".claude/settings.json", "{}")
    (machine.project / ".opencode/plugins/goop.js").unlink()
    checks = examined(machine, code=0)
    ((message, fix),) = warnings(checks["Claude Code"])
    assert message.startswith(
        ".claude/settings.json lacks entries of ours: SubagentStart, SubagentStop, Stop"
    )
    assert fix == "goop-mcp install claude-code --scope project"
    assert warnings(checks["OpenCode"]) == [
        (
            ".opencode/plugins/goop.js is missing: bad reports are not sent back",
            "goop-mcp install opencode --scope project",
        )
    ]


def test_it_says_which_half_is_installed_and_keeps_to_it(machine: Machine) -> None:
    def installed() -> list[str]:
        return [each["message"] for each in examined(machine, code=0)["installed"]]

    machine.run("install", "claude-code", "--no-commands")
    (alone,) = installed()
    assert alone.startswith("Claude Code, project scope: reports alone, without slash commands")
    assert alone.endswith("goop-mcp install claude-code --scope project --commands")

    # The fix of something else does not add them.
    settings = machine.project / ".claude/settings.json"
    settings.write_text("{}", encoding="utf-8")
    ((_, fix),) = warnings(examined(machine, code=0)["Claude Code"])
    assert fix == "goop-mcp install claude-code --scope project --no-commands"
    machine.run(*fix.split()[1:])
    assert len(installed()) == 1
    assert not (machine.project / ".claude/commands").exists()

    machine.run("install", "claude-code", "opencode", "--commands")
    assert [text.partition(":")[2] for text in installed()] == [
        " the whole life of a project, with slash commands"
    ] * 2


def test_commands_that_are_missing_or_of_another_version_are_reported(machine: Machine) -> None:
    machine.run("install", "claude-code")
    folder = machine.project / ".claude/commands"
    (folder / "goop-accept.md").unlink()
    (folder / "goop-amend.md").unlink()
    older = folder / "goop-plan.md"
    older.write_text(older.read_text(encoding="utf-8") + "More.\n", encoding="utf-8")
    (folder / "goop-recall.md").write_text("Somebody's own.\n", encoding="utf-8")

    (missing, fix), (other, _) = warnings(examined(machine, code=0)["Claude Code"])
    assert missing == (
        ".claude/commands/goop-accept.md and 1 other commands are missing: the commands that"
        " messages name cannot be run"
    )
    assert fix == "goop-mcp install claude-code --scope project"
    assert other.startswith(".claude/commands/goop-plan.md is not of goop-mcp")


def test_hooks_that_an_older_version_registered_are_reported(machine: Machine) -> None:
    machine.run("install", "claude-code")
    settings = machine.project / ".claude/settings.json"
    older = settings.read_text(encoding="utf-8").replace('"Agent|Task"', '"Task"')
    settings.write_text(older, encoding="utf-8")
    assert warnings(examined(machine, code=0)["Claude Code"]) == [], "somebody may want it so"

    # What the record says is that an earlier installation wrote it.
    (record,) = (
        path
        for path in machine.home.rglob("record.json")
        if json.loads(path.read_text(encoding="utf-8"))["path"] == str(settings)
    )
    text = record.read_text(encoding="utf-8").replace('"Agent|Task"', '"Task"')
    record.write_text(text, encoding="utf-8")
    ((message, fix),) = warnings(examined(machine, code=0)["Claude Code"])
    assert message == (
        ".claude/settings.json has entries of another version of goop-mcp: PostToolUse"
    )
    assert fix == "goop-mcp install claude-code --scope project"

    machine.run("install", "claude-code")
    assert warnings(examined(machine, code=0)["Claude Code"]) == []


def test_a_plugin_of_another_version_is_reported(machine: Machine) -> None:
    switch_plugin(machine, ".claude/settings.json", on=True)
    installed = {"version": 2, "plugins": {"goop-mcp@anywhere": [{"version": "0.0.9"}]}}
    file = machine.home / ".claude/plugins/installed_plugins.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(installed), encoding="utf-8")
    path = os.pathsep.join([str(Path(PROGRAM).parent), os.environ["PATH"]])
    ((message, fix),) = warnings(examined(machine, code=0, path=path)["Claude Code"])
    assert "is of version 0.0.9, and this is" in message
    assert fix == "claude plugin update goop-mcp@anywhere"


def test_an_outdated_plugin_is_reported(machine: Machine) -> None:
    machine.run("install", "opencode")
    machine.write(".opencode/plugins/goop.js", "// old goop-mcp\n")
    ((message, _),) = warnings(examined(machine, code=0)["OpenCode"])
    assert message.startswith(".opencode/plugins/goop.js is not the file of goop-mcp")


def test_a_plugin_that_somebody_else_wrote_is_overwritten_by_the_fix(machine: Machine) -> None:
    machine.run("install", "opencode")
    machine.write(".opencode/plugins/goop.js", "// mine\n")
    ((message, fix),) = warnings(examined(machine, code=0)["OpenCode"])
    assert message == (
        ".opencode/plugins/goop.js is not a file of goop-mcp: bad reports are not sent back"
    )

    command = fix.rpartition(": goop-mcp ")[2]
    machine.run(*command.split())
    assert warnings(examined(machine, code=0)["OpenCode"]) == []


def test_hooks_that_start_nothing_or_are_duplicated_are_reported(machine: Machine) -> None:
    machine.run("install", "claude-code", "--command", "/gone/goop-mcp")
    settings = machine.project / ".claude/settings.json"
    values = json.loads(settings.read_text())
    values["hooks"]["Stop"] *= 2
    settings.write_text(json.dumps(values))
    checks = examined(machine, code=1)["Claude Code"]
    assert (
        ".claude/settings.json has 2 entries of ours in hooks.Stop",
        "remove all but one from .claude/settings.json",
    ) in (warnings(checks))
    assert any(
        "starts /gone/goop-mcp in hooks.SubagentStop, which does not exist" in message
        for message, _ in errors(checks)
    )


@pytest.mark.parametrize(
    ("host", "name", "known"),
    [("claude-code", "claude", "2.1.329 (Claude Code)"), ("opencode", "opencode", "1.18.33")],
)
def test_every_version_of_a_host_is_compared_with_what_it_records(
    machine: Machine, tmp_path: Path, host: str, name: str, known: str
) -> None:
    assert machine.run_here("install", host, "--command", PROGRAM).code == 0
    program = tmp_path / "bin" / name
    program.parent.mkdir()
    path = os.pathsep.join([str(program.parent), str(Path(PROGRAM).parent), "/usr/bin", "/bin"])

    def found(version: str) -> str:
        program.write_text(f'#!/bin/sh\necho "{version}"\n', encoding="utf-8")
        program.chmod(0o755)
        return machine.run("doctor", path=path).out

    assert f"compared with what version {known.split(maxsplit=1)[0]} records" in found(known)
    newer = " ".join(found("9.9.9").split())
    tested, *_ = known.split()
    assert f"compared with what version 9.9.9 records (tested with {tested})" in newer

    hooks = machine.project / ".goopspec" / "hooks.json"
    hooks.parent.mkdir(exist_ok=True)
    hooks.write_text('{"evidence": "off"}', encoding="utf-8")
    assert "9.9.9" not in found("9.9.9")


@pytest.mark.parametrize(
    ("host", "name", "older"),
    [("claude-code", "claude", "2.1.9 (Claude Code)"), ("opencode", "opencode", "1.0.200")],
)
def test_the_oldest_version_that_works_is_named(
    machine: Machine, tmp_path: Path, host: str, name: str, older: str
) -> None:
    known = HOSTS[host]
    sentence = f"eports are sent back in version {known.oldest} of {known.title} and newer ones"
    installed = machine.run("install", host, "--command", PROGRAM)
    assert f"\nR{sentence}.\n" in installed.out

    program = tmp_path / "bin" / name
    program.parent.mkdir()
    path = os.pathsep.join([str(program.parent), str(Path(PROGRAM).parent), "/usr/bin", "/bin"])
    for printed, outcome, more in (
        (older, "warning", f", and this is {older.split(maxsplit=1)[0]}"),
        (known.oldest, "ok", ""),
        ("99.0.0-beta", "ok", ""),
        ("unknown", "ok", ""),
    ):
        program.write_text(f'#!/bin/sh\necho "{printed}"\n', encoding="utf-8")
        program.chmod(0o755)
        (check,) = examined(machine, code=0, path=path)["versions"]
        assert (check["outcome"], check["message"]) == (outcome, f"r{sentence}{more}")

    program.unlink()
    (check,) = examined(machine, code=0, path=path)["versions"]
    assert check["outcome"] == "ok"


def test_two_programs_on_the_path_are_reported(machine: Machine, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        (folder / "goop-mcp").write_text("#!/bin/sh\n")
        (folder / "goop-mcp").chmod(0o755)

    path = os.pathsep.join([*map(str, folders), "/usr/bin", "/bin"])
    ((message, fix),) = warnings(examined(machine, code=0, path=path)["PATH"])
    assert (
        message == f"2 different programs goop-mcp are found; {folders[0]}/goop-mcp is started,"
        f" {folders[1]}/goop-mcp is not"
    )
    assert fix == "uninstall those that are not needed"


def test_a_hook_of_a_program_in_a_folder_that_looks_like_a_variable_is_found(
    machine: Machine,
) -> None:
    folder = machine.home / "${HOME} $(id) it's"
    folder.mkdir()
    (folder / "goop-mcp").symlink_to(PROGRAM)
    machine.run("install", "claude-code", "--command", shlex.quote(str(folder / "goop-mcp")))
    # Claude Code itself expands variables in the entry of the server.
    messages = [message for message, _ in errors(examined(machine, code=1)["Claude Code"])]
    assert [each for each in messages if "hooks" in each] == []


def test_a_path_without_the_program_is_reported(machine: Machine) -> None:
    ((message, _),) = warnings(examined(machine, code=0, path="/usr/bin:/bin")["PATH"])
    assert message == f"goop-mcp is not on it, so hosts start it as {PROGRAM}"


def test_a_folder_of_the_path_that_may_not_be_entered_has_no_programs(
    machine: Machine, tmp_path: Path
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0)
    path = os.pathsep.join([str(locked), "/usr/bin", "/bin"])
    with ordinary_rights():
        ((message, _),) = warnings(examined(machine, code=0, path=path)["PATH"])
    assert message == f"goop-mcp is not on it, so hosts start it as {PROGRAM}"


def test_a_broken_state_is_reported_with_the_newest_checkpoint(machine: Machine) -> None:
    broken = machine.write(".goopspec/state.json", '{\n  "version": 2,,\n}')
    for age, name in ((200, "old"), (100, "new")):
        checkpoint = machine.write(f".goopspec/checkpoints/{name}.json", "{}")
        os.utime(checkpoint, (1_000_000 - age, 1_000_000 - age))

    ((message, fix),) = errors(examined(machine, code=1)["project"])
    assert message == ".goopspec/state.json is broken in line 2, column 16: unexpected ','"
    assert (
        fix == "fix that place by hand, run goop-mcp project resume if goop-mcp saved a"
        " checkpoint, or take over what you need from .goopspec/checkpoints/new.json (saved"
        " 1970-01-12 13:45 UTC)"
    )
    assert broken.read_text() == '{\n  "version": 2,,\n}'


def test_a_checkpoint_that_cannot_be_read_is_not_offered(machine: Machine) -> None:
    shutil.copytree(CASES / "checkpoints", machine.project, dirs_exist_ok=True)
    ((_, fix),) = errors(examined(machine, code=1)["project"])
    assert (
        fix == "fix that place by hand, run goop-mcp project resume if goop-mcp saved a"
        " checkpoint, or take over what you need from .goopspec/checkpoints/cp-2.json (saved"
        " 2026-01-18 16:00 UTC, phase execute)"
    )


def test_an_invalid_hooks_file_is_reported(machine: Machine) -> None:
    machine.write(".goopspec/hooks.json", '{"ask_again": 99}')
    ((message, _),) = warnings(examined(machine, code=0)["project"])
    assert ".goopspec/hooks.json: ask_again is 99; expected a whole number from 0 to 7" in message


def test_a_file_that_is_not_a_database_is_reported(machine: Machine) -> None:
    machine.write(".goopspec/goop.db", b"no database, but long enough to be taken for one" * 100)
    ((message, fix),) = errors(examined(machine, code=1)["database"])
    assert message.startswith(".goopspec/goop.db")
    assert fix


def test_a_database_of_a_newer_version_is_reported(machine: Machine) -> None:
    (machine.project / ".goopspec").mkdir()
    with apsw.Connection(str(machine.project / ".goopspec/goop.db")) as connection:
        connection.execute(f"PRAGMA application_id={0x676F6F70}; PRAGMA user_version=99")

    ((message, fix),) = errors(examined(machine, code=1)["database"])
    assert "has version 99 of the tables" in message
    assert fix == "install the newest goop-mcp, then restart the hosts"


def test_a_project_that_does_not_exist_is_a_usage_error(machine: Machine) -> None:
    ended = machine.run("doctor", "--project", "nowhere")
    assert (ended.code, ended.out) == (2, "")


def switch_plugin(machine: Machine, name: str, *, on: bool) -> None:
    machine.write(
        name, json.dumps({"enabledPlugins": {"goop-mcp@anywhere": on, "other@anywhere": True}})
    )


def test_a_plugin_alone_is_a_registration(machine: Machine) -> None:
    switch_plugin(machine, ".claude/settings.json", on=True)
    checks = examined(machine, code=0, path=str(Path(PROGRAM).parent))
    assert "hosts" not in checks
    (check,) = checks["Claude Code"]
    assert check["message"].startswith(
        "the plugin goop-mcp@anywhere of .claude/settings.json is on and starts "
    )


def test_a_plugin_that_finds_no_program_is_an_error(machine: Machine) -> None:
    switch_plugin(machine, ".claude/settings.json", on=True)
    ((message, fix),) = errors(examined(machine, code=1, path="")["Claude Code"])
    assert "finds none of goop-mcp, uvx, pipx on the PATH" in message
    assert "pipx install goop-mcp" in fix


def test_a_plugin_and_hooks_in_the_settings_are_reported(machine: Machine) -> None:
    (machine.home / ".claude").mkdir()
    (machine.home / ".claude" / "settings.json").write_text(
        '{"enabledPlugins": {"goop-mcp@goop-tools": true}}'
    )
    machine.run("install", "claude-code")
    path = os.pathsep.join([str(Path(PROGRAM).parent), os.environ["PATH"]])
    assert warnings(examined(machine, code=0, path=path)["Claude Code"]) == [
        (
            (
                "the hooks in .claude/settings.json and the plugin goop-mcp@goop-tools of"
                " ~/.claude/settings.json check the same reports: an agent is asked twice"
            ),
            (
                "keep one: goop-mcp uninstall claude-code --scope project or claude plugin disable"
                " goop-mcp@goop-tools"
            ),
        )
    ]


def test_a_plugin_that_the_project_switches_off_does_not_count(machine: Machine) -> None:
    (machine.home / ".claude").mkdir()
    (machine.home / ".claude" / "settings.json").write_text(
        '{"enabledPlugins": {"goop-mcp@anywhere": true}}'
    )
    switch_plugin(machine, ".claude/settings.local.json", on=False)
    machine.run("install", "claude-code")
    assert warnings(examined(machine, code=0)["Claude Code"]) == []


@pytest.mark.parametrize("host", ["claude-code", "opencode"])
def test_hooks_for_both_project_and_user_are_reported(machine: Machine, host: str) -> None:
    machine.run("install", host)
    machine.run("install", host, "--scope", "user")
    results = [message for message, _ in warnings(examined(machine, code=0)[HOSTS[host].title])]
    assert any("check the same reports" in message for message in results)


def test_a_custom_command_that_was_installed_is_recognised(machine: Machine) -> None:
    wrapper = machine.home / "start it"
    wrapper.write_text(f'#!/bin/sh\nexec "{PROGRAM}" "$@"\n')
    wrapper.chmod(0o755)
    machine.run("install", "claude-code", "--command", f"'{wrapper}'")
    (check,) = examined(machine, code=0)["Claude Code"]
    assert "server goop answers in" in check["message"]

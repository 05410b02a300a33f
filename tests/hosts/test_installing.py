import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from goop_mcp.hosts.catalogue import HOSTS, Scope
from goop_mcp.hosts.installing import Registration, carry_out, plan_install, plan_uninstall
from goop_mcp.hosts.jsonc import Document, parse
from goop_mcp.hosts.launch import Launch
from goop_mcp.hosts.records import InstallRecords
from goop_mcp.hosts.targets import ConfigurationError
from goop_mcp.services.commands import command_file
from goop_mcp.services.prompts import command_names
from goop_mcp.validation.safe_json import JsonValue
from tests.cli.running import PROGRAM, Ended, environment, run_command_on_terminal
from tests.hosts.configurations import CONFIGURATIONS
from tests.hosts.machine import Machine
from tests.repository import ROOT
from tests.rights import ordinary_rights

SERVERS = {
    "claude-code": "mcpServers",
    "opencode": "mcp",
    "cursor": "mcpServers",
    "vscode": "servers",
}
FILES = {
    "claude-code": ".mcp.json",
    "opencode": "opencode.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
}
configured = pytest.mark.parametrize("name", CONFIGURATIONS)
every_host = pytest.mark.parametrize("host", HOSTS)


def done(machine: Machine, *arguments: str) -> str:
    ended = machine.run(*arguments)
    assert ended.code == 0, ended.err
    return ended.out


def done_in_process(machine: Machine, *arguments: str) -> str:
    """Do what `done` does, in this process: faster, for tests of every configuration."""
    ended = machine.run_here(*arguments)
    assert ended.code == 0, ended.err
    return ended.out


def refused(machine: Machine, *arguments: str) -> str:
    """Return why the command failed, which must not have changed anything."""
    before = machine.files()
    ended = machine.run(*arguments)
    assert ended.code == 1
    assert machine.files() == before
    return ended.err


def read(text: str) -> Document:
    document = parse(text)
    assert isinstance(document, Document)
    return document


def server(machine: Machine, host: str) -> JsonValue:
    text = (machine.project / FILES[host]).read_bytes().decode()
    return read(text).get((SERVERS[host], "goop"))


@every_host
def test_the_server_is_registered_in_the_form_of_the_host(machine: Machine, host: str) -> None:
    done(machine, "install", host, "--command", "uvx goop-mcp")
    folder = {"env": {"GOOP_PROJECT_DIR": "${workspaceFolder}"}}
    assert (
        server(machine, host)
        == {
            "claude-code": {"type": "stdio", "command": "uvx", "args": ["goop-mcp"]},
            "opencode": {
                "type": "local",
                "command": ["uvx", "goop-mcp"],
                "enabled": True,
                "timeout": 10000,
            },
            "cursor": {"command": "uvx", "args": ["goop-mcp"], **folder},
            "vscode": {"type": "stdio", "command": "uvx", "args": ["goop-mcp"], **folder},
        }[host]
    )


@every_host
def test_a_new_file_is_removed_with_the_folders_created_for_it(machine: Machine, host: str) -> None:
    done(machine, "install", host, "--instructions")
    assert machine.files()
    done(machine, "uninstall", host)
    assert machine.files() == {}
    assert machine.folders() == set()


@every_host
def test_for_one_user_nothing_is_written_to_the_project(machine: Machine, host: str) -> None:
    done(machine, "install", host, "--scope", "user")
    assert machine.files()
    assert list(machine.project.iterdir()) == []
    done(machine, "uninstall", host, "--scope", "user")
    assert machine.files() == {}


@configured
def test_uninstalling_leaves_every_byte_as_it_was(machine: Machine, name: str) -> None:
    host, path, text = CONFIGURATIONS[name]
    machine.write(path, text)
    before = machine.files()
    done_in_process(machine, "install", host, "--instructions")
    assert machine.files() != before
    done_in_process(machine, "uninstall", host)
    assert machine.files() == before


@configured
def test_installing_twice_equals_once(machine: Machine, name: str) -> None:
    host, path, text = CONFIGURATIONS[name]
    machine.write(path, text)
    done_in_process(machine, "install", host, "--instructions")
    once = machine.files()
    output = done_in_process(machine, "install", host, "--instructions")
    assert machine.files() == once
    assert {line.split()[0] for line in output.splitlines()[:2]} == {"unchanged"}


@configured
def test_what_was_there_keeps_its_meaning_and_its_comments(machine: Machine, name: str) -> None:
    host, path, text = CONFIGURATIONS[name]
    file = machine.write(path, text)
    done_in_process(machine, "install", host, "--instructions")
    after = file.read_bytes().decode()
    left = iter(after)
    # All characters except blanks are still there in order, with new ones between them.
    assert all(character in left for character in text if not character.isspace())
    assert ("\r\n" in after, after.startswith("\ufeff")) == (
        "\r\n" in text,
        text.startswith("\ufeff"),
    )


@configured
def test_what_people_add_meanwhile_survives_uninstalling(machine: Machine, name: str) -> None:
    host, path, text = CONFIGURATIONS[name]
    file = machine.write(path, text)
    done_in_process(machine, "install", host, "--instructions")
    added = b"- mine\n" if path.endswith(".md") else b"\n"
    file.write_bytes(file.read_bytes() + added)
    done_in_process(machine, "uninstall", host)
    after = file.read_bytes().decode()
    if path.endswith(".md"):
        assert after.split() == [*text.split(), "-", "mine"]
    else:
        assert dict(read(after).value) == dict(read(text).value)


@configured
def test_without_the_record_only_our_entries_go(machine: Machine, name: str) -> None:
    host, path, text = CONFIGURATIONS[name]
    file = machine.write(path, text)
    done_in_process(machine, "install", host, "--instructions")
    for kept in (machine.home / ".local").rglob("record.json"):
        kept.unlink()

    done_in_process(machine, "uninstall", host)
    after = file.read_bytes().decode()
    assert "goop-mcp" not in after
    kept_lines = [
        line for line in text.splitlines() if "//" in line and line.strip().startswith("//")
    ]
    assert all(line in after for line in kept_lines)


def test_a_dry_run_shows_the_difference_and_changes_nothing(machine: Machine) -> None:
    machine.write("opencode.json", '{\n  "model": "a/b"\n}\n')
    before = machine.files()
    short = done(machine, "install", "opencode", "--dry-run")
    assert len(short.splitlines()) < 10
    assert "would change opencode.json" in short
    output = done(machine, "install", "opencode", "--print")
    assert machine.files() == before
    assert '-  "model": "a/b"\n+  "model": "a/b",\n+  "mcp": {\n+    "goop": {\n' in output
    assert "+++ .opencode/plugins/goop.js" in output
    assert not (machine.home / ".local").exists()


def test_a_copy_of_each_changed_file_is_kept_for_its_owner_only(machine: Machine) -> None:
    machine.write(
        ".cursor/mcp.json", '{"mcpServers": {"a": {"command": "a", "env": {"KEY": "s3cret"}}}}\n'
    )
    output = done(machine, "install", "cursor")
    copy = machine.home / output.partition("(backup: ~/")[2].partition(")")[0]
    assert copy.read_text() == '{"mcpServers": {"a": {"command": "a", "env": {"KEY": "s3cret"}}}}\n'
    assert copy.stat().st_mode & 0o077 == 0
    assert "s3cret" not in output
    assert machine.project not in copy.parents


def test_another_server_of_the_name_is_kept_unless_it_is_to_be_replaced(
    machine: Machine,
) -> None:
    machine.write(
        ".mcp.json",
        '{\n  "mcpServers": {\n    "goop": {"command": "other", "args": ["x"]}\n  }\n}\n',
    )
    output = refused(machine, "install", "claude-code")
    assert ".mcp.json has another server called goop (line 3, column 13); rename it" in output
    done(machine, "install", "claude-code", "--replace", "--command", "goop-mcp")
    assert server(machine, "claude-code") == {"type": "stdio", "command": "goop-mcp", "args": []}
    done(machine, "uninstall", "claude-code")
    assert server(machine, "claude-code") == {"command": "other", "args": ["x"]}


def test_an_entry_of_ours_that_was_written_by_hand_is_kept(machine: Machine) -> None:
    by_hand = {"command": "uvx", "args": ["goop-mcp@0.1.0"], "env": {"GOOP_LOG_LEVEL": "DEBUG"}}
    machine.write(".cursor/mcp.json", json.dumps({"mcpServers": {"goop": by_hand}}))
    output = done(machine, "install", "cursor")
    assert "keeps the entry goop of line 1, written by hand; --replace overwrites it" in output
    assert server(machine, "cursor") == by_hand
    done(machine, "uninstall", "cursor", "--dry-run")
    assert server(machine, "cursor") == by_hand


def test_an_entry_that_was_installed_follows_a_new_command(machine: Machine) -> None:
    machine.write("opencode.json", '{"model": "a/b"}\n')
    done(machine, "install", "opencode", "--command", "uvx goop-mcp")
    done(machine, "install", "opencode", "--command", "/opt/goop/bin/goop-mcp")
    entry = server(machine, "opencode")
    assert isinstance(entry, dict)
    assert entry["command"] == ["/opt/goop/bin/goop-mcp"]
    done(machine, "uninstall", "opencode")
    assert (machine.project / "opencode.json").read_text() == '{"model": "a/b"}\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            '{\n  "mcpServers": {\n    "a": {"command": "x"}\n',
            "it ends in the middle (line 4, column 1)",
        ),
        ('{"mcpServers": {,}}', "unexpected ',' (line 1, column 17)"),
        ("[]", "it is not a JSON object (line 1, column 1)"),
        (
            '{"mcpServers": {}, "mcpServers": {}}',
            "key 'mcpServers' stands twice (line 1, column 20)",
        ),
        ('{"a": /* never closed }', "unexpected '/' (line 1, column 7)"),
        ("mcpServers: {}\n", "it is not a JSON object (line 1, column 1)"),
    ],
)
def test_a_file_that_cannot_be_read_is_reported_with_the_position_and_not_changed(
    machine: Machine, text: str, why: str
) -> None:
    machine.write(".mcp.json", text)
    assert (
        refused(machine, "install", "claude-code")
        == f"goop-mcp: .mcp.json cannot be read: {why}; fix it first, it was not changed.\n"
    )
    refused(machine, "uninstall", "claude-code")


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        (
            ".mcp.json",
            '{\n  "mcpServers": []\n}',
            "mcpServers that is not an object (line 2, column 17)",
        ),
        (
            ".claude/settings.json",
            '{"hooks": "none"}',
            "hooks that is not an object (line 1, column 11)",
        ),
        (
            ".claude/settings.json",
            '{"hooks": {"Stop": {}}}',
            "hooks.Stop that is not a list (line 1, column 20)",
        ),
        (
            ".claude/settings.json",
            '{"enabledMcpjsonServers": true}',
            "enabledMcpjsonServers that is not a list",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(
    machine: Machine, path: str, text: str, why: str
) -> None:
    machine.write(path, text)
    assert f"{path} has {why}" in refused(machine, "install", "claude-code")


def test_an_error_in_one_file_keeps_all_others_unchanged(machine: Machine) -> None:
    machine.write(".claude/settings.json", "{")
    refused(machine, "install", "claude-code")
    assert not (machine.project / ".mcp.json").exists()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"a": "\xff"}', "is not UTF-8 text: byte 0xff in line 1"),
        ('{"a": 1}'.encode("utf-16"), "is not UTF-8 text"),
    ],
)
def test_a_file_in_another_encoding_is_refused(machine: Machine, content: bytes, why: str) -> None:
    machine.write(".vscode/mcp.json", content)
    assert f".vscode/mcp.json {why}" in refused(machine, "install", "vscode")


def test_a_read_only_file_is_refused(machine: Machine) -> None:
    machine.write(".cursor/mcp.json", "{}").chmod(0o444)
    assert ".cursor/mcp.json is read-only; make it writable first" in refused(
        machine, "install", "cursor"
    )


def test_a_link_out_of_the_project_is_refused(machine: Machine) -> None:
    outside = machine.home / "mcp.json"
    outside.write_text("{}")
    (machine.project / ".mcp.json").symlink_to(outside)
    assert ".mcp.json leads out of its folder through a link" in refused(
        machine, "install", "claude-code"
    )
    assert outside.read_text() == "{}"


def test_a_folder_that_leads_out_of_the_project_is_refused(machine: Machine) -> None:
    (machine.home / "shared").mkdir()
    (machine.project / ".cursor").symlink_to(machine.home / "shared")
    assert ".cursor/mcp.json leads out of its folder" in refused(machine, "install", "cursor")
    assert list((machine.home / "shared").iterdir()) == []


def test_a_link_to_a_dotfile_stays_a_link(machine: Machine) -> None:
    kept = machine.home / "dotfiles" / "mcp.json"
    kept.parent.mkdir()
    kept.write_text("{}\n")
    (machine.home / ".cursor").mkdir()
    link = machine.home / ".cursor" / "mcp.json"
    link.symlink_to(kept)
    done(machine, "install", "cursor", "--scope", "user")
    assert link.is_symlink()
    assert "goop" in kept.read_text()
    done(machine, "uninstall", "cursor", "--scope", "user")
    assert (link.is_symlink(), kept.read_text()) == (True, "{}\n")


def test_a_folder_in_place_of_the_file_is_refused(machine: Machine) -> None:
    (machine.project / ".mcp.json").mkdir()
    assert ".mcp.json" in refused(machine, "install", "claude-code")


def test_another_plugin_of_the_name_is_refused(machine: Machine) -> None:
    machine.write(".opencode/plugins/goop.js", "export const Mine = async () => ({})\n")
    output = refused(machine, "install", "opencode")
    assert ".opencode/plugins/goop.js is not a file of goop-mcp; rename it" in output
    done(machine, "uninstall", "opencode")
    assert (machine.project / ".opencode/plugins/goop.js").exists()


def test_without_a_folder_for_backups_nothing_is_changed(machine: Machine) -> None:
    machine.write(".cursor/mcp.json", "{}")
    (machine.home / ".local").write_text("in the way")
    assert "so nothing was changed; make that folder writable" in refused(
        machine, "install", "cursor"
    )


def test_markers_that_do_not_pair_up_are_refused(machine: Machine) -> None:
    machine.write("AGENTS.md", "# A\n\n<!-- goop-mcp: begin -->\nold\n")
    output = refused(machine, "install", "opencode", "--instructions")
    assert "AGENTS.md has markers of goop-mcp that do not pair up (line 3)" in output


def test_the_block_of_instructions_is_what_the_prompt_command_prints(machine: Machine) -> None:
    machine.write("AGENTS.md", "# Rules\n")
    done(machine, "install", "vscode", "--instructions")
    printed = machine.run("prompt").out
    assert (
        machine.project / "AGENTS.md"
    ).read_text() == f"# Rules\n\n<!-- goop-mcp: begin -->\n{printed}<!-- goop-mcp: end -->\n"


def test_an_older_block_is_replaced_where_it_is(machine: Machine) -> None:
    machine.write("AGENTS.md", "a\n<!-- goop-mcp: begin -->\nold\n<!-- goop-mcp: end -->\nb\n")
    done(machine, "install", "opencode", "--instructions")
    text = (machine.project / "AGENTS.md").read_text()
    assert (text.startswith("a\n<!--"), text.endswith("-->\nb\n"), "old" in text.splitlines()) == (
        True,
        True,
        False,
    )


def test_instructions_that_two_hosts_share_stay_until_the_last_one_goes(machine: Machine) -> None:
    done(machine, "install", "opencode", "--instructions")
    done(machine, "install", "cursor", "--instructions")
    assert "AGENTS.md\n          stays as it is for cursor" in done(
        machine, "uninstall", "opencode"
    )
    assert (machine.project / "AGENTS.md").exists()
    done(machine, "uninstall", "cursor")
    assert not (machine.project / "AGENTS.md").exists()


def test_the_hooks_are_those_of_the_plugin(machine: Machine) -> None:
    done(machine, "install", "claude-code", "--command", "goop-mcp")
    shipped = json.loads(
        (ROOT / "packaging/plugins/claude-code/goop-mcp/hooks/hooks.json").read_text(
            encoding="utf-8"
        )
    )
    installed = json.loads((machine.project / ".claude/settings.json").read_text(encoding="utf-8"))
    assert {name: _shape(groups) for name, groups in installed["hooks"].items()} == {
        name: _shape(groups) for name, groups in shipped["hooks"].items()
    }


def _shape(groups: list[dict[str, Any]]) -> list[tuple[str | None, list[str], int]]:
    """Return the matcher, the end of the command and the timeout in seconds of each group."""
    return [
        (group.get("matcher"), hook["command"].split()[-2:], hook["timeout"])
        for group in groups
        for hook in group["hooks"]
    ]


def test_concurrent_installs_leave_one_entry_and_can_be_undone(machine: Machine) -> None:
    machine.write(".mcp.json", '{"mcpServers": {}}\n')
    machine.write(".claude/settings.json", "{}\n")
    before = machine.files()
    command = [*PROGRAM, "install", "claude-code", "--instructions"]
    running = [
        subprocess.Popen(
            command,
            cwd=machine.project,
            env=environment(machine.environment()),
            stdout=subprocess.DEVNULL,
        )
        for _ in range(4)
    ]
    assert [process.wait(60) for process in running] == [0, 0, 0, 0]
    hooks = read((machine.project / ".claude/settings.json").read_text()).get(("hooks", "Stop"))
    assert isinstance(hooks, list)
    assert len(hooks) == 1
    done(machine, "uninstall", "claude-code")
    assert machine.files() == before


def test_uninstalling_what_was_never_installed_is_reported(machine: Machine) -> None:
    assert (
        done(machine, "uninstall", "vscode")
        == "goop-mcp is not registered in VS Code for project scope.\n"
    )


def test_uninstall_names_the_scope_in_which_it_is_installed(machine: Machine) -> None:
    done(machine, "install", "claude-code", "--scope", "user")
    done(machine, "install", "cursor")
    assert done(machine, "uninstall", "claude-code") == (
        "goop-mcp is not registered in Claude Code for project scope.\n"
        "Claude Code has it for user scope; to remove it: goop-mcp uninstall claude-code --scope"
        " user\n"
    )
    done(machine, "uninstall", "claude-code", "--scope", "user")
    assert "to remove it: goop-mcp uninstall cursor --scope project" in done(
        machine, "uninstall", "--scope", "user"
    )


def test_uninstall_without_a_name_restores_the_files_of_all_hosts(machine: Machine) -> None:
    machine.write("opencode.json", '{"theme": "dark"}')
    before = machine.files()
    done(machine, "install", "claude-code", "opencode", "cursor")
    installed = machine.files()
    assert "would remove .cursor/mcp.json" in done(machine, "uninstall", "--dry-run")
    assert machine.files() == installed
    output = done(machine, "uninstall")
    assert "restored  opencode.json\n" in output
    assert "VS Code" not in output
    assert machine.files() == before
    assert done(machine, "uninstall") == (
        "goop-mcp is not registered in any host for project scope.\n"
    )


def test_the_registered_command_is_shown_with_the_reason(machine: Machine) -> None:
    output = done(machine, "install", "cursor")
    assert f"starts it as: {Path(sys.prefix, 'bin', 'goop-mcp')}" in output
    assert "because this is the program of the virtual environment in use" in output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["install", "cursro"], "there is no host 'cursro'; did you mean 'cursor'?"),
        (
            ["install"],
            "missing argument 'claude-code|opencode|cursor|vscode…'; see goop-mcp install --help.",
        ),
        (
            ["install", "codex"],
            "Codex is set up by hand: put {",
        ),
        (
            ["install", "cursor", "--command", "'x"],
            '--command "\'x" is not a command; expected a command such as',
        ),
        (
            ["install", "cursor", "--command", ""],
            "--command '' is not a command; expected a command such as",
        ),
        (
            ["install", "vscode", "--scope", "user", "--instructions"],
            "VS Code has no file of instructions for user scope",
        ),
        (
            ["uninstall", "cursor", "--project", "nowhere"],
            "--project is 'nowhere', which is not a folder",
        ),
    ],
)
def test_a_usage_error_is_reported(machine: Machine, arguments: list[str], expected: str) -> None:
    ended = machine.run(*arguments)
    assert ended.code == 2
    assert expected in ended.err


def test_a_folder_without_permission_is_refused(machine: Machine) -> None:
    machine.project.chmod(0o555)
    with ordinary_rights():
        assert "cannot be written: its folder is read-only" in refused(
            machine, "install", "claude-code"
        )


@pytest.mark.parametrize(
    ("host", "name"), [("claude-code", ".claude"), ("opencode", ".opencode/plugins")]
)
def test_a_file_in_place_of_a_folder_is_refused_before_anything_is_written(
    machine: Machine, host: str, name: str
) -> None:
    machine.write(name, "")
    assert f"cannot be written: {name} is not a folder; move it away" in refused(
        machine, "install", host
    )
    assert "cannot be written" in refused(machine, "install", host, "--dry-run")


@pytest.mark.parametrize("text", [None, '{\n  // mine\n  "mcpServers": {}\n}\n'])
def test_an_error_at_the_second_file_restores_the_first(machine: Machine, text: str | None) -> None:
    if text is not None:
        machine.write(".mcp.json", text)

    registration, records = (
        claude_code_registration(machine),
        InstallRecords(machine.home / ".local" / "state"),
    )
    changes = plan_install(registration, Launch(command="goop-mcp", why="a test"), records)
    machine.write(".claude", "somebody was faster")
    before = machine.files()

    with pytest.raises(
        ConfigurationError, match=r"settings\.json was not written.*; no file was changed$"
    ):
        carry_out(changes, records)

    assert machine.files() == before
    assert all(records.read(change.target) is None for change in changes)


def test_an_error_at_the_second_file_of_an_uninstall_leaves_the_first_installed(
    machine: Machine,
) -> None:
    registration, records = (
        claude_code_registration(machine),
        InstallRecords(machine.home / ".local" / "state"),
    )
    carry_out(
        plan_install(registration, Launch(command="goop-mcp", why="a test"), records), records
    )
    changes = plan_uninstall(registration, records)
    known = [records.read(change.target) for change in changes]
    (machine.project / ".claude" / "settings.json").unlink()
    (machine.project / ".claude" / "settings.json").mkdir()
    before = machine.files()
    with pytest.raises(ConfigurationError, match=r"settings\.json cannot be removed"):
        carry_out(changes, records)

    assert machine.files() == before
    assert records.read(changes[0].target) == known[0]


def claude_code_registration(machine: Machine) -> Registration:
    host, environment = HOSTS["claude-code"], {"HOME": str(machine.home)}
    return Registration(
        host=host, scope=Scope.PROJECT, project=machine.project, environment=environment
    )


def test_a_dry_run_reports_that_nothing_was_written(machine: Machine) -> None:
    assert done(machine, "install", "opencode", "--dry-run").endswith(
        "Nothing was written, because of --dry-run. --print shows the differences.\n"
    )
    planned = done(machine, "install", "opencode", "--dry-run")
    assert "Start it again" not in planned
    assert "would create opencode.json\n" in planned
    assert "would create .opencode/command/goop-*.md (22 files)\n" in planned
    assert machine.files() == {}
    done(machine, "install", "opencode")
    assert "Nothing was written" not in done(machine, "install", "opencode", "--dry-run")


def test_several_hosts_are_uninstalled_in_one_call(machine: Machine) -> None:
    done(machine, "install", "cursor", "vscode")
    output = done(machine, "uninstall", "opencode", "cursor", "vscode")
    assert output == (
        "OpenCode:\ngoop-mcp is not registered in OpenCode for project scope.\n"
        "Cursor:\nremoved   .cursor/mcp.json\nVS Code:\nremoved   .vscode/mcp.json\n"
    )
    assert machine.files() == {}
    assert machine.run_here("uninstall", "cursor", "vscoed").code == 2


@pytest.mark.parametrize(
    ("scope", "sentence"),
    [
        ("project", "\nRestart Claude Code and trust the folder when it asks.\n"),
        ("user", "\nRestart Claude Code.\n"),
    ],
)
def test_the_next_step_in_claude_code_depends_on_the_scope(
    machine: Machine, scope: str, sentence: str
) -> None:
    assert sentence in done(machine, "install", "claude-code", "--scope", scope)


def test_a_second_install_reports_that_there_was_nothing_to_do(machine: Machine) -> None:
    done(machine, "install", "opencode")
    output = done(machine, "install", "opencode")
    assert "\nNothing had to be changed.\n" in output
    assert output.endswith("goop-mcp doctor checks the connection.\n")
    assert "starts it as" not in output


def test_a_path_of_this_machine_in_shared_files_is_reported(machine: Machine) -> None:
    shared, own = (
        done(machine, "install", "cursor"),
        done(machine, "install", "cursor", "--scope", "user"),
    )
    portable = done(machine, "install", "vscode", "--command", "goop-mcp")
    warning = "Others who share these files lack that path"
    assert [warning in output for output in (shared, own, portable)] == [True, False, False]


def test_a_plugin_that_does_the_same_is_reported(machine: Machine) -> None:
    machine.write(".claude/settings.local.json", '{"enabledPlugins": {"goop-mcp@anywhere": true}}')
    output = done(machine, "install", "claude-code")
    assert "The plugin goop-mcp@anywhere is on, too (.claude/settings.local.json)" in output
    assert (
        "  claude plugin disable goop-mcp@anywhere\n"
        "  goop-mcp uninstall claude-code --scope project\n" in output
    )


# Commands

FOLDERS = {
    ("claude-code", "project"): ".claude/commands",
    ("claude-code", "user"): ".claude/commands",
    ("opencode", "project"): ".opencode/command",
    ("opencode", "user"): ".config/opencode/command",
}


@pytest.mark.parametrize(("host", "scope"), FOLDERS)
def test_every_command_is_installed_and_removed(machine: Machine, host: str, scope: str) -> None:
    output = done(machine, "install", host, "--scope", scope)
    folder = (machine.project if scope == "project" else machine.home) / FOLDERS[(host, scope)]
    assert {path.stem for path in folder.iterdir()} == set(command_names())
    assert f"/goop-*.md ({len(command_names())} files)" in output

    done(machine, "uninstall", host, "--scope", scope)
    assert not folder.exists()


def paths(machine: Machine) -> set[str]:
    return set(machine.files())


@pytest.mark.parametrize(("host", "scope"), FOLDERS)
def test_commands_are_left_out_added_and_removed_without_another_change(
    machine: Machine, host: str, scope: str
) -> None:
    here = ("install", host, "--scope", scope)
    theirs = machine.write(f"{FOLDERS[(host, 'project')]}/goop-plan.md", "Plan as we do here.\n")
    before = machine.files()

    output = done(machine, *here, "--no-commands")
    assert f"to have them: goop-mcp {' '.join(here)} --commands" in output
    alone = machine.files()
    assert not any("goop-status.md" in path for path in alone)

    done(machine, *here, "--commands")
    whole = machine.files()
    assert {path: whole[path] for path in alone} == alone
    added = {Path(path).stem for path in whole.keys() - alone.keys()}
    own = {"goop-plan"} if scope == "project" else set()
    assert added == set(command_names()) - own

    dry = done(machine, *here, "--no-commands", "--dry-run")
    assert f"would remove {'~/' if scope == 'user' else ''}" in dry
    assert machine.files() == whole
    assert f"({len(added)} files)" in done(machine, *here, "--no-commands")
    assert machine.files() == alone
    assert "Nothing had to be changed." in done(machine, *here, "--no-commands")

    # Without an option and a terminal they are installed, and all is removed together.
    done(machine, *here)
    assert paths(machine) == set(whole)
    done(machine, "uninstall", host, "--scope", scope)
    assert machine.files() == before
    assert theirs.read_text(encoding="utf-8") == "Plan as we do here.\n"


def test_a_person_at_a_terminal_is_asked_which_half(machine: Machine) -> None:
    folder = machine.project / ".claude/commands"

    def asked(typed: str, *arguments: str) -> Ended:
        return run_command_on_terminal(
            [*PROGRAM, "install", "claude-code", *arguments],
            cwd=machine.project,
            env=machine.environment(),
            typed=typed,
        )

    first = asked("\n")
    assert "1 or 2? [1]" in first.out
    assert (first.code, folder.exists()) == (0, False)
    assert asked("2\n").code == 0
    assert len(list(folder.iterdir())) == len(command_names())
    # An empty answer keeps what is there.
    assert "1 or 2? [2]" in asked("\n").out
    assert len(list(folder.iterdir())) == len(command_names())
    before = machine.files()
    wrong = asked("both\n")
    assert wrong.code == 2
    assert "'both' is not an answer; expected 1 or 2" in wrong.out
    assert machine.files() == before
    assert asked("1\n").code == 0
    assert not folder.exists()
    # Who states which is not asked.
    assert "1 or 2?" not in asked("", "--commands").out
    assert "1 or 2?" not in asked("", "--dry-run").out


def test_a_host_without_commands_is_refused_the_option(machine: Machine) -> None:
    ended = machine.run_here("install", "cursor", "--no-commands")
    assert ended.code == 2
    assert "slash commands are not installed in Cursor; leave out --no-commands" in ended.err
    assert machine.run_here("install", "cursor", "claude-code", "--no-commands").code == 0


def test_a_command_that_somebody_else_wrote_is_kept(machine: Machine) -> None:
    theirs = machine.write(".claude/commands/goop-plan.md", "Plan as we do here.\n")
    output = done(machine, "install", "claude-code")
    assert "kept, as it was written by somebody else; --replace overwrites it" in output
    assert (machine.project / ".claude/commands/goop-status.md").exists()

    done(machine, "uninstall", "claude-code")
    assert theirs.read_text(encoding="utf-8") == "Plan as we do here.\n"
    assert machine.files().keys() == {f"{machine.project.name}/.claude/commands/goop-plan.md"}


def test_a_command_that_was_changed_by_hand_is_kept_until_it_is_replaced(machine: Machine) -> None:
    done(machine, "install", "opencode")
    command = machine.project / ".opencode/command/goop-plan.md"
    original = command.read_text(encoding="utf-8")
    command.write_text(f"{original}\nAlways plan two waves.\n", encoding="utf-8")

    output = done(machine, "install", "opencode")
    assert "kept, as it was changed by hand" in output
    assert "two waves" in command.read_text(encoding="utf-8")

    assert "(backup: " in done(machine, "install", "opencode", "--replace")
    assert command.read_text(encoding="utf-8") == original


def test_a_command_of_an_older_version_is_renewed(machine: Machine) -> None:
    older = command_file("goop-plan", "opencode").replace("Plan", "Once plan")
    command = machine.write(".opencode/command/goop-plan.md", older)
    done(machine, "install", "opencode")
    assert command.read_text(encoding="utf-8") == command_file("goop-plan", "opencode")


@pytest.mark.parametrize("scope", ["project", "user"])
def test_the_hook_on_tasks_is_installed_only_when_asked_for_and_removed_with_the_rest(
    machine: Machine, scope: str
) -> None:
    before = machine.files()
    done_in_process(machine, "install", "claude-code", "--scope", scope)
    folder = machine.project if scope == "project" else machine.home
    settings = folder / ".claude" / "settings.json"
    assert "TaskCompleted" not in settings.read_text(encoding="utf-8")

    printed = done_in_process(machine, "install", "claude-code", "--scope", scope, "--tasks")
    assert 'The check of tasks begins with "tasks": true in .goopspec/hooks.json.' in printed
    hooks = read(settings.read_text(encoding="utf-8")).get(("hooks", "TaskCompleted"))
    assert isinstance(hooks, list)
    assert len(hooks) == 1
    # Installing again without the option keeps it.
    done_in_process(machine, "install", "claude-code", "--scope", scope)
    assert "TaskCompleted" in settings.read_text(encoding="utf-8")

    done_in_process(machine, "uninstall", "claude-code", "--scope", scope)
    assert machine.files() == before


def test_a_host_without_tasks_has_no_hook_on_them(machine: Machine) -> None:
    ended = machine.run_here("install", "cursor", "--tasks")
    assert ended.code == 2
    assert "Cursor has no hook on its tasks; leave out --tasks" in ended.err


def test_several_hosts_are_installed_at_once(machine: Machine) -> None:
    output = done(machine, "install", "claude-code", "cursor", "vscode")
    for name in (".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json"):
        assert (machine.project / name).is_file()
    assert "Judged: subagents named goop-*, memory-distiller, and the main agent where" in output

    # A typing error in one name leaves nothing half done.
    before = machine.files()
    assert machine.run("install", "opencode", "curser").code == 2
    assert machine.files() == before


def test_it_says_what_to_do_where_nobody_is_judged(machine: Machine) -> None:
    output = done(machine, "install", "vscode")
    assert "Judged: nobody by itself, because VS Code cannot hold an agent back; have" in output
    machine.write("goop-mcp.toml", "[hooks]\nagents = []\n")
    output = done(machine, "install", "opencode")
    assert "Judged: nobody, because agents is empty; list them in goop-mcp.toml, line 2" in output


def test_it_names_the_file_that_lists_who_is_judged(machine: Machine) -> None:
    machine.write(".goopspec/hooks.json", '{"agents": ["backend-*"]}')
    output = done(machine, "install", "claude-code")
    assert 'list all in .goopspec/hooks.json: {"agents": ["goop-*"' in output
    # A table in the options counts where both have the key.
    machine.write("goop-mcp.toml", '[hooks]\nask_again = 1\nagents = ["api-*"]\n')
    output = done(machine, "install", "claude-code")
    assert "subagents named api-*, and the main agent where its message has an envelope" in output
    assert 'list all in goop-mcp.toml, line 3: agents = ["goop-*", "backend-*"]' in output

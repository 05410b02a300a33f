"""How the program starts and ends: without a command, interrupted, with nobody reading."""

import errno
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from goop_mcp import __version__
from goop_mcp.cli.program import COMMANDS
from tests.cli.running import (
    ACCEPTED,
    CASES,
    PROGRAM,
    REJECTED,
    REPAIRABLE,
    SECONDS,
    environment,
    run,
    run_command,
    run_in_shell,
    run_on_terminal,
)
from tests.repository import ROOT

LONGEST_END = 10
"""Seconds that a program has to end after an interrupt, before it is interrupted again."""
HEAVY = {"anyio", "asyncio", "jinja2", "markdown_it", "mcp", "pydantic", "starlette"}


def test_the_version_is_printed() -> None:
    assert run("--version").out == f"goop-mcp {__version__}\n"


def test_without_a_command_a_terminal_shows_help() -> None:
    ended = run_on_terminal()
    assert ended.code == 0
    assert ended.out.startswith("Usage: goop-mcp [OPTIONS] [COMMAND] [ARGS]...\n")


def test_without_a_command_and_without_standard_input_help_is_shown() -> None:
    assert run_in_shell('"$@" <&-').out.startswith("Usage: goop-mcp ")


def test_without_a_command_a_pipe_is_served_as_an_mcp_client() -> None:
    client = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    ended = run(stdin=json.dumps(request).encode() + b"\n")
    assert ended.code == 0
    assert json.loads(ended.out.splitlines()[0])["result"]["serverInfo"]["name"] == "goop-mcp"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    ended = run(command, "--help")
    assert ended.code == 0
    assert ended.out.startswith(f"Usage: goop-mcp {command} ")


def test_help_lists_every_command() -> None:
    listed = run("--help").out.partition("Commands:\n")[2]
    assert [line.split()[0] for line in listed.splitlines()] == list(COMMANDS)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["check", str(ACCEPTED)], ["repair", str(ACCEPTED)], ["rules"], ["schema"]],
)
def test_no_command_loads_what_it_does_not_need(arguments: list[str]) -> None:
    script = (
        "import sys; from goop_mcp.cli import main; main(sys.argv[1:]); print(*sys.modules,"
        " file=sys.stderr)"
    )
    ended = run_command([sys.executable, "-c", script, *arguments])
    assert ended.code == 0
    assert HEAVY & set(ended.err.split()) == set()


def open_as_soon_as_read(fifo: Path, process: subprocess.Popen[str]) -> int:
    """Return the writing end of `fifo` once `process` has opened it for reading."""
    for _ in range(SECONDS * 20):
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise

        with suppress(subprocess.TimeoutExpired):
            pytest.fail(f"the program ended with {process.wait(0.05)} before it read")

    pytest.fail(f"the program read nothing for {SECONDS} seconds")


def interrupted(process: subprocess.Popen[str]) -> str:
    """Interrupt `process` until it ends, and return what it prints on stderr meanwhile.

    An interrupt that comes just before a call that waits is seen after that call, or when the next
    one cuts it short.
    """
    try:
        for _ in range(SECONDS // LONGEST_END):
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                return process.communicate(timeout=LONGEST_END)[1]

        pytest.fail(f"the program went on for {SECONDS} seconds")
    finally:
        process.kill()


def test_an_interrupt_ends_with_130_and_without_a_traceback(tmp_path: Path) -> None:
    fifo = tmp_path / "reply.md"
    os.mkfifo(fifo)
    command = [*PROGRAM, "check", str(fifo)]

    with subprocess.Popen(
        command, cwd=ROOT, env=environment(), stderr=subprocess.PIPE, text=True
    ) as process:
        writer = open_as_soon_as_read(fifo, process)
        errors = interrupted(process)

    os.close(writer)
    assert (process.returncode, errors.strip()) == (130, "")


@pytest.mark.parametrize(
    "module", ["click.core", "goop_mcp.cli.program", "goop_mcp.settings", "mcp"]
)
def test_an_interrupt_while_the_program_is_loaded_ends_with_130_and_without_a_traceback(
    module: str,
) -> None:
    # The interpreter names each module on stderr once it is loaded.
    command = [sys.executable, "-X", "importtime", "-m", "goop_mcp", "serve"]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.split()[-1] == module:
                break

        errors = interrupted(process)

    assert "Traceback" not in errors
    assert process.returncode == 130


@pytest.mark.parametrize("format", ["text", "json", "sarif", "github"])
def test_a_reader_that_stops_early_changes_nothing(format: str) -> None:
    script = f'("$@" check --format {format} {REJECTED.name}; echo $? >&2) | true'
    ended = run_in_shell(script, cwd=CASES)
    assert ended.err == "1\n"


def test_a_reader_that_stops_in_the_middle_of_a_long_output_sees_no_traceback() -> None:
    script = f'("$@" check --format json {" ".join([REJECTED.name] * 100)}; echo $? >&2) | head -1'
    ended = run_in_shell(script, cwd=CASES)
    assert (ended.out, ended.err) == ("[\n", "1\n")


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="the system has no device that is always full"
)
@pytest.mark.parametrize("command", ["check", "repair"])
def test_a_full_disk_is_reported_and_exits_2(command: str) -> None:
    ended = run_in_shell(f'"$@" {command} {ACCEPTED.name} > /dev/full', cwd=CASES)
    assert ended.code == 2
    assert ended.err.endswith(
        "goop-mcp: the output cannot be written (No space left on device); write it elsewhere.\n"
    )


def test_a_terminal_with_few_characters_gets_escapes() -> None:
    few = {
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "ascii",
    }
    ended = run("check", stdin=REPAIRABLE.encode(), env=few)
    assert ended.code == 0
    assert r"<summary>\u6f22\u5b57 a && b.</summary>" in ended.out


def test_a_repaired_text_is_utf_8_whatever_the_encoding_of_the_terminal() -> None:
    ended = run(
        "repair",
        "-",
        stdin=REPAIRABLE.encode(),
        env={"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    )
    assert "漢字 a &amp;&amp; b." in ended.out


# Help and completion


def test_help_is_that_of_the_command_named() -> None:
    assert run("help").out == run("--help").out
    assert run("help", "memory", "save").out == run("memory", "save", "--help").out
    ended = run("help", "memory", "sav")
    assert (ended.code, ended.err) == (
        2,
        "goop-mcp: there is no memory command 'sav'; did you mean 'save'?\n",
    )


@pytest.mark.parametrize("group", ["evidence", "handoff", "memory", "project", "reports"])
def test_a_group_alone_shows_its_commands(group: str) -> None:
    ended = run(group)

    assert (ended.code, ended.err) == (2, "")
    assert ended.out == run(group, "--help").out


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("goop-mcp ch", {"check"}),
        ("goop-mcp memory s", {"save", "search", "show"}),
        ("goop-mcp check --protocol f", {"factory"}),
        ("goop-mcp check --agent goop-exp", {"goop-explorer"}),
        ("goop-mcp check --phase ex", {"execute"}),
        ("goop-mcp install c", {"claude-code", "cursor"}),
        ("goop-mcp uninstall open", {"opencode"}),
        ("goop-mcp rules goop_report/unknown-s", {"goop_report/unknown-status"}),
        ("goop-mcp schema agent", {"agent_request"}),
        ("goop-mcp prompt goop_r", {"goop_report"}),
    ],
)
def test_the_shell_completes_words(typed: str, offered: set[str]) -> None:
    words = typed.split()
    ended = run(
        env={
            "_GOOP_MCP_COMPLETE": "bash_complete",
            "COMP_WORDS": typed,
            "COMP_CWORD": str(len(words) - 1),
        }
    )

    assert {line.partition(",")[2] for line in ended.out.splitlines()} >= offered
    assert all(line.partition(",")[2].startswith(words[-1]) for line in ended.out.splitlines())

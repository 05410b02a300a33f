"""Run the real program in a pipe or on a terminal, and collect its output and exit code."""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.repository import ROOT

CASES = ROOT / "tests" / "cases" / "goop_report"
ACCEPTED = CASES / "016_executor_complete.xml"
REJECTED = CASES / "derived_bad_status.xml"
PROGRAM = [sys.executable, "-m", "goop_mcp"]
SECONDS = 300
TERMINAL_ROWS, TERMINAL_COLUMNS = 50, 80

REPAIRABLE = """\
Done. 終わり

<goop_report version="0.1.6">
  <Status>COMPLETE</Status>
  <agent>goop-executor</agent>
  <task_id>W1.T2</task_id>
  <state><phase>execute</phase></state>
\t<summary>漢字 a && b.</summary>
  <artifacts>
    <files><file path="a.py" action="created">A</file></files>
    <commits><commit sha="a1b2c3d">feat(a): add a</commit></commits>
  </artifacts>
  <memory><saved type="note" importance="0.4">A note</saved></memory>
  <verification><check name="tests" passed="true">12 passed</check></verification>
  <handoff>
    <ready>true</ready>
    <next_action agent="goop-tester">W1.T3</next_action>
    <suggest_new_session>false</suggest_new_session>
  </handoff>
</goop_report>
"""
"""A reply with two errors of form; the second one follows a tab and wide characters."""

REPAIRED = (
    REPAIRABLE.replace("<Status>", "<status>")
    .replace("</Status>", "</status>")
    .replace("&&", "&amp;&amp;")
)


@dataclass(frozen=True, slots=True)
class Ended:
    """The exit code of a run, and its output decoded from UTF-8.

    On a terminal `out` holds stderr as well.
    """

    code: int
    out: str
    err: str = ""


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a run, without settings that would change the output.

    `make` exports MAKEFLAGS to the tests it starts, and a recorded run names it.
    """
    changing = {"NO_COLOR", "COLUMNS", "LINES", "MAKEFLAGS", "MFLAGS"}
    kept = {name: value for name, value in os.environ.items() if name not in changing}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "TERM": "xterm", **(extra or {})}


def unverified(claims: int) -> str:
    """Return what `check` says of accepted replies with so many claims, without --workspace."""
    return (
        f"goop-mcp: note: not verified: {claims} of {claims} claims; --workspace verifies them.\n"
    )


def run(
    *arguments: str | Path,
    stdin: bytes = b"",
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
) -> Ended:
    """Run `goop-mcp` with `arguments` in pipes."""
    return run_command([*PROGRAM, *map(str, arguments)], stdin=stdin, cwd=cwd, env=env)


def run_in_shell(script: str, *, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> Ended:
    """Run a line of the shell, in which "$@" is `goop-mcp`."""
    return run_command(["/bin/sh", "-c", script, "sh", *PROGRAM], cwd=cwd, env=env)


def run_command(
    command: list[str],
    *,
    stdin: bytes = b"",
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
) -> Ended:
    """Run `command` and wait until it has ended."""
    ended = subprocess.run(
        command,
        input=stdin,
        cwd=cwd,
        env=environment(env),
        check=False,
        capture_output=True,
        timeout=SECONDS,
    )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def run_on_terminal(
    *arguments: str | Path,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    typed: str = "",
) -> Ended:
    """Run `goop-mcp` with `arguments` on a terminal of 80 columns, where somebody has typed."""
    command = [*PROGRAM, *map(str, arguments)]
    return run_command_on_terminal(command, cwd=cwd, env=env, typed=typed)


def answer_on_terminal(
    *arguments: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> Ended:
    """Run `goop-mcp` with `arguments` on a terminal, where a person confirms what it asks.

    What it prints stands in `out` and `err`: a terminal shows both.
    """
    ended = run_on_terminal(*arguments, cwd=cwd, env=env, typed="y\n")
    return Ended(ended.code, ended.out, ended.out)


def interrupt_on_terminal(
    *arguments: str | Path, at: str, cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> Ended:
    """Run `goop-mcp` with `arguments` on a terminal, and interrupt it once it has printed `at`."""
    return run_until_asked(
        *arguments,
        at=at,
        cwd=cwd,
        env=env,
        does=lambda process, _: process.send_signal(signal.SIGINT),
    )


def run_until_asked(
    *arguments: str | Path,
    at: str,
    does: Callable[[subprocess.Popen[bytes], int], None],
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
) -> Ended:
    """Run `goop-mcp` on a terminal; `does` gets process and terminal once it has printed `at`."""
    terminal, side_of_program = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, *map(str, arguments)],
        stdin=side_of_program,
        stdout=side_of_program,
        stderr=side_of_program,
        cwd=cwd,
        env=environment(env),
    ) as process:
        os.close(side_of_program)
        written = b""
        while at.encode() not in written and select.select([terminal], [], [], SECONDS)[0]:
            written += os.read(terminal, 65_536)
        does(process, terminal)
        written += _read_all(terminal)
        code = process.wait(SECONDS)

    os.close(terminal)
    return Ended(code, written.decode().replace("\r\n", "\n"))


def run_command_on_terminal(
    command: list[str],
    *,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    typed: str = "",
) -> Ended:
    """Run `command` on a terminal of 80 columns, where somebody has typed."""
    terminal, side_of_program = pty.openpty()
    termios.tcsetwinsize(terminal, (TERMINAL_ROWS, TERMINAL_COLUMNS))

    with subprocess.Popen(
        command,
        stdin=side_of_program,
        stdout=side_of_program,
        stderr=side_of_program,
        cwd=cwd,
        env=environment(env),
    ) as process:
        os.close(side_of_program)
        os.write(terminal, typed.encode())
        written = _read_all(terminal)
        code = process.wait(SECONDS)

    os.close(terminal)

    return Ended(code, written.decode().replace("\r\n", "\n"))


def _read_all(terminal: int) -> bytes:
    """Return what is written to the terminal until nothing holds it open."""
    written = b""
    while select.select([terminal], [], [], SECONDS)[0]:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:
            # Linux answers with an input/output error once the other side is closed.
            return written

        if not piece:
            return written

        written += piece

    raise TimeoutError(f"the program printed nothing for {SECONDS} seconds")

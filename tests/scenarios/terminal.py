"""A person at a terminal who runs a command and answers its question."""

import os
import pty
import shlex
import subprocess
import sys

from tests.repository import ROOT
from tests.server.http.serving import PATIENCE, environment

__all__ = ["answer_at_terminal"]

_QUESTION = "[y/N] "


def answer_at_terminal(command: str, *options: str, accept: bool) -> int:
    """Run `command` of goop-mcp on a pseudo-terminal, answer y or n, and return its exit code.

    `options` are added to it.
    """
    words = shlex.split(command)
    assert words[0] == "goop-mcp", f"{command} is no command for people"
    terminal, end = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "goop_mcp", *words[1:], *options],
            stdin=end,
            stdout=end,
            stderr=end,
            cwd=ROOT,
            env=environment(TERM="dumb"),
            start_new_session=True,
        )
    finally:
        os.close(end)

    try:
        shown = _read_until(terminal, _QUESTION)
        assert shown.endswith(_QUESTION), f"{command} asked nothing: {shown}"
        os.write(terminal, b"y\n" if accept else b"n\n")
        _read_until(terminal, None)
    finally:
        os.close(terminal)

    return process.wait(timeout=PATIENCE)


def _read_until(terminal: int, text: str | None) -> str:
    """Return what appears up to `text`, or up to the end of the program."""
    shown = bytearray()
    while text is None or not shown.endswith(text.encode()):
        try:
            part = os.read(terminal, 4096)
        except OSError:
            # Linux reports the end of the other side as an error.
            break
        if not part:
            break
        shown += part

    return shown.decode(errors="replace")

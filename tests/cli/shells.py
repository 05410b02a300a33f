"""Ask a real shell what it offers where somebody presses the key for completion."""

import os
import re
import select
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

from tests.cli.running import PROGRAM, SECONDS, environment, run_command

_PROMPT, _MARK, _LIST = "ready>", "<listed>", "\x18l\x18m"
_SIZE = "stty rows 500 columns 200\n"
"""Every list fits on the terminal, so that no shell asks before it shows one."""

_CONTROL = re.compile(r"\x1b(?:\[[0-9;?]*[a-zA-Z]|[=>])|\r|\x07")
_WRITTEN_TWICE = re.compile(r".\x08")
_FILES: Final = MappingProxyType(
    {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}
)
_KEYS: Final = MappingProxyType(
    {
        # The list is what the key Tab shows where several words fit; here also where one does.
        "bash": rf"""
            PS1='{_PROMPT}' PROMPT_COMMAND=
            bind 'set enable-bracketed-paste off' 'set page-completions off'
            bind 'set completion-query-items 0' '"\C-xl": possible-completions'
            listed() {{ READLINE_LINE= READLINE_POINT=0; echo '{_MARK}'; }}
            bind -x '"\C-xm": listed'
        """,
        "zsh": rf"""
            PS1='{_PROMPT}' LISTMAX=100000
            listed() {{ BUFFER=; zle -I; print -r -- '{_MARK}' }}
            zle -N listed
            bindkey '^Xl' list-choices '^Xm' listed
        """,
    }
)


def offered(shell: str, lines: str, typed: Iterable[str], folder: Path) -> dict[str, set[str]]:
    """Return the words that `shell` shows after each typed text, with `lines` in its file.

    It runs in `folder`, which is its home as well.
    """
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")

    programs = folder / ".bin"
    programs.mkdir()
    program = programs / "goop-mcp"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    variables = environment(
        {
            "HOME": str(folder),
            "ZDOTDIR": str(folder),
            "XDG_CONFIG_HOME": str(folder / ".config"),
            "XDG_DATA_HOME": str(folder / ".local"),
            "PATH": f"{programs}:{os.environ['PATH']}",
        }
    )
    file = folder / _FILES[shell]
    file.parent.mkdir(parents=True, exist_ok=True)
    keys = _SIZE + _KEYS[shell] if shell in _KEYS else ""
    file.write_text(f"{lines}{keys}", encoding="utf-8")
    if shell == "fish":
        return {each: _asked_fish(each, folder, variables) for each in typed}

    started = {"bash": ["bash", "--noprofile", "-i"], "zsh": ["zsh", "-d", "-i"]}
    return _typed(started[shell], typed, folder, variables)


def _asked_fish(typed: str, folder: Path, variables: dict[str, str]) -> set[str]:
    """Ask it what the key would show; after a tab stands the description."""
    command = ["fish", "-c", f"complete --do-complete {shlex.quote(typed)}"]
    ended = run_command(command, cwd=folder, env=variables)
    assert (ended.code, ended.err) == (0, "")
    return {line.partition("\t")[0] for line in ended.out.splitlines()}


def _typed(
    command: list[str], typed: Iterable[str], folder: Path, variables: dict[str, str]
) -> dict[str, set[str]]:
    # The terminal belongs to a process of its own: a test process with threads cannot fork safely.
    holding = [sys.executable, "-c", "import pty, sys; pty.spawn(sys.argv[1:])"]
    with subprocess.Popen(
        [*holding, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=variables,
        bufsize=0,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        screen = _Screen(process.stdout.fileno())
        # What stands before the first prompt is a complaint about the lines of the page.
        begun = screen.read_until(_PROMPT)
        assert "not found" not in begun, begun

        found = {}
        for each in typed:
            process.stdin.write(f"{each}{_LIST}".encode())
            shown = _WRITTEN_TWICE.sub("", screen.read_until(_MARK))
            # The line is there once more after the list.
            found[each] = set(shown.replace(each, " ").replace(_PROMPT, " ").split())
            screen.read_until(_PROMPT)

        process.stdin.write(b"exit\n")
        process.stdin.close()
        process.stdout.read()

    return found


class _Screen:
    """What a shell has shown."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._unread = ""

    def read_until(self, end: str) -> str:
        """Return what comes next, up to and without `end`."""
        while end not in self._unread:
            ready = select.select([self._source], [], [], SECONDS)[0]
            assert ready, f"the shell shows only {self._unread!r}"
            piece = os.read(self._source, 65_536)
            assert piece, f"the shell ended after {self._unread!r}"
            self._unread += _CONTROL.sub("", piece.decode())

        before, _, self._unread = self._unread.partition(end)
        return before

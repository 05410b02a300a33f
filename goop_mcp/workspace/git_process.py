"""How git is started, so that it runs nothing that a repository names and fetches nothing.

Filters are the exception: git needs them to compare files and to check them out. What starts such a
command asks `goop_mcp.recording.configured_programs` first.
"""

import os
import sys
from collections.abc import Mapping
from typing import Final

__all__ = ["NOTHING_RUNS", "NO_FETCH", "git_program"]

NOTHING_RUNS: Final = (
    "--no-pager",
    "-c",
    f"core.hooksPath={os.devnull}",
    # Both forms: the program that a repository names, and the daemon of git itself.
    "-c",
    "core.fsmonitor=false",
)
"""Options of git, before its subcommand."""

NO_FETCH: Final[Mapping[str, str]] = {
    # A partial clone fetches missing objects from a remote that the repository names, with programs
    # that it names. Older versions of git have no switch against that, so that every transport is
    # refused as well.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""Environment variables for git."""


def git_program() -> str | None:
    """Return the path of git, None if it is not installed."""
    name = "git.exe" if sys.platform == "win32" else "git"
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        # A relative entry of PATH depends on the current folder. That may be the project, which
        # could bring a program named git.
        is_absolute = folder[:1] == os.sep or folder[1:2] == ":"
        program = f"{folder}{os.sep}{name}"
        if not is_absolute or not os.access(program, os.X_OK):
            continue
        # A folder of that name may be entered, which is the same permission.
        if not os.access(f"{program}{os.sep}.", os.F_OK):
            return program

    return None

"""Programs that check the built files, run without the settings of this checkout."""

import os
import re
import shutil
import subprocess
import venv
from collections.abc import Sequence
from pathlib import Path

from tests.npm import NO_NPM
from tests.repository import CACHE as FOLDER
from tests.repository import ROOT

__all__ = [
    "CACHE",
    "MCPB",
    "ProgramFailedError",
    "clean_environment",
    "install_mcpb",
    "install_tools",
    "run",
    "tool",
]

CACHE = FOLDER / "packaging"
TOOLS = (
    "build>=1.3,<2",
    "twine>=6,<8",
    "check-wheel-contents>=0.6.3,<0.7",
    "skillsaw>=0.22,<0.23",
    "uv>=0.9,<0.14",
)
MCPB = "@anthropic-ai/mcpb@2.1.2"

_LONGEST = 900
_SHOWN = 600
_INSTALLED = ", ".join(re.split("[>=]", each)[0] for each in TOOLS)


class ProgramFailedError(Exception):
    """Raised when a program exits with a code other than 0; has the end of its output."""


def clean_environment() -> dict[str, str]:
    """Return the environment without variables that point to this checkout or configure it."""
    ours = ("PYTHON", "GOOP_", "CLAUDE_", "VIRTUAL_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {"PYTHONUTF8": "1", "NO_COLOR": "1"}


def run(command: Sequence[str | Path], *, cwd: Path = ROOT) -> str:
    """Return what a program prints; nothing of this checkout reaches it.

    Raises ProgramFailedError.
    """
    words = [str(word) for word in command]
    try:
        ended = subprocess.run(
            words,
            cwd=cwd,
            env=clean_environment(),
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=_LONGEST,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramFailedError(f"{Path(words[0]).name}: {error}") from error

    if ended.returncode:
        output = (ended.stderr.strip() or ended.stdout.strip())[-_SHOWN:]
        raise ProgramFailedError(f"{Path(words[0]).name} ended with {ended.returncode}: {output}")

    return ended.stdout


def tool(name: str) -> Path:
    """Return the command of one of TOOLS."""
    return CACHE / "tools" / "bin" / name


def install_tools() -> str:
    """Install TOOLS into an environment of their own unless they are there, and say so.

    Raises ProgramFailedError.
    """
    folder, stamp = CACHE / "tools", CACHE / "tools" / "installed"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == repr(TOOLS):
        return _INSTALLED

    venv.create(folder, with_pip=True, clear=True)
    run([tool("python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS])
    stamp.write_text(repr(TOOLS), encoding="utf-8")

    return _INSTALLED


def install_mcpb() -> Path:
    """Return the command of MCPB, installed unless it is there.

    Raises ProgramFailedError, also without npm.
    """
    folder = CACHE / MCPB.rpartition("@")[0].replace("/", "-")
    command = folder / "node_modules" / ".bin" / "mcpb"
    if not command.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise ProgramFailedError(NO_NPM)

        folder.mkdir(parents=True, exist_ok=True)
        run([npm, "install", "--prefix", folder, "--no-audit", "--no-fund", MCPB])

    return command

"""Compare a recorded run with the plain command, and the digest of a work tree with git itself."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Final

from benchmarks.tables import Bound, Table
from benchmarks.timing import Clock, process_clock, program_environment, take_turns
from goop_mcp.recording.tree_digest import digest_work_tree

__all__ = ["run"]

_TURNS: Final = 15
_LONGEST_RUN: Final = 60
_FILES: Final = 1_000
_DIGESTED: Final = 5_000
_FOLDERS: Final = 50
_BARE: Final = "python -c pass"
_STATUS: Final = f"git status, {_DIGESTED:,} files"
# Longer than the start of the recorder takes: tests that end at once are rare.
_COMMAND: Final = (sys.executable, "-c", "import time; time.sleep(0.3)")
_SHORT: Final = (sys.executable, "-c", "pass")
# What the script of an installed goop-mcp does.
_RECORDER: Final = (
    sys.executable,
    "-c",
    "import re, sys; from goop_mcp.__main__ import main; sys.argv[:] = ['', 'run', '--name', 'x',"
    " '--', *sys.argv[1:]]; sys.exit(main())",
)
# How often the start of a bare interpreter goes into what the recorder adds: 60 ms where it starts
# in 10 ms.
_BOUND_OF_A_RUN: Final = Bound(goal=6, defect=12)
_BOUND_OF_A_SHORT_RUN: Final = Bound(goal=15, defect=25)
_BOUND_OF_A_DIGEST: Final = Bound(goal=3, defect=6)


def run() -> Table:
    """Measure whole processes from start to end, and the digest within this one."""
    notes = [
        f"goop-mcp run in a repository of {_FILES:,} files; what it adds to the command, compared"
        " with a bare interpreter",
        f"the digest of {_DIGESTED:,} unchanged files, compared with git status",
    ]
    table = Table("recorder", ("", "wall p10 ms", "added ms", "× floor"), notes)
    git = shutil.which("git")
    if git is None:
        raise RuntimeError("the recorder needs git, which is not installed")

    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small", Path(folder) / "large"
        _make_repository(git, small, _FILES)
        _make_repository(git, large, _DIGESTED)
        clocks: dict[str, Clock] = {
            _BARE: _clock(_SHORT, small),
            "command of 0.3 s": _clock(_COMMAND, small),
            "command of 0.3 s, recorded": _clock((*_RECORDER, *_COMMAND), small),
            "python -c pass, recorded": _clock((*_RECORDER, *_SHORT), small),
            _STATUS: _clock((git, "status", "--porcelain"), large),
            f"digest of {_DIGESTED:,} files": _digest_clock(large),
        }
        wall = take_turns(clocks, turns=_TURNS)

    bare, status = wall[_BARE].p10, wall[_STATUS].p10
    floors = {
        "command of 0.3 s, recorded": (wall["command of 0.3 s"].p10, bare, _BOUND_OF_A_RUN),
        "python -c pass, recorded": (bare, bare, _BOUND_OF_A_SHORT_RUN),
        f"digest of {_DIGESTED:,} files": (0.0, status, _BOUND_OF_A_DIGEST),
    }
    for name in clocks:
        shown = f"{wall[name].p10 * 1e3:.0f}"
        if name not in floors:
            table.add(name, shown, "", "")
            continue

        without, floor, bound = floors[name]
        added = wall[name].p10 - without
        ratio = added / floor
        table.add(name, shown, f"{added * 1e3:.0f}", f"{ratio:.1f}", judgement=bound.judge(ratio))

    return table


def _make_repository(git: str, folder: Path, files: int) -> None:
    for number in range(files):
        path = folder / f"part{number % _FOLDERS}" / f"file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"x = {number}\n", encoding="utf-8")

    # As in a project that uses recorded runs.
    (folder / ".gitignore").write_text(".goopspec/\n", encoding="utf-8")
    start = (git, "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run((*start, *words), check=True, timeout=_LONGEST_RUN)


def _clock(command: tuple[str, ...], folder: Path) -> Clock:
    environment = program_environment() | {"XDG_STATE_HOME": str(folder.parent)}
    return process_clock(command, folder=folder, environment=environment)


def _digest_clock(folder: Path) -> Clock:
    def read() -> float:
        began = perf_counter()
        tree = digest_work_tree(folder)
        seconds = perf_counter() - began
        if not tree.digest:
            raise RuntimeError(f"the work tree has no digest: {tree.why}")
        return seconds

    return read

"""Compare `goop-mcp check` on a folder of 2,000 replies with validating the same texts."""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Final

import goop_mcp
from benchmarks.tables import Bound, Table
from benchmarks.timing import program_environment, take_turns
from tests.repository import ROOT

__all__ = ["run"]

_FILES: Final = 2_000
_TURNS = 5
_LONGEST_RUN = 60
_BOUND: Final = Bound(goal=3, defect=4)
_FLOOR: Final = "validate, the same texts"
_CHECK: Final = "check, 2,000 files, 200 rejected"


def run() -> Table:
    """Measure processor time: the program reads files and writes 200 blocks of findings."""
    table = Table(
        "check_many", ("", "cpu p10 ms", "× validate"), ["judged by processor time, a whole run"]
    )
    cases = ROOT / "tests" / "cases" / "goop_report"
    good, bad = (
        (cases / name).read_text(encoding="utf-8")
        for name in ("016_executor_complete.xml", "derived_bad_status.xml")
    )
    texts = [good if number % 10 else bad for number in range(_FILES)]

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, text in enumerate(texts):
            (folder / f"{number:04}.md").write_text(text, encoding="utf-8")

        timings = take_turns(
            {_FLOOR: lambda: _validate(texts), _CHECK: lambda: _check(folder)}, turns=_TURNS
        )

    floor = timings[_FLOOR].p10
    for what, timing in timings.items():
        ratio = timing.p10 / floor
        judgement = "" if what == _FLOOR else _BOUND.judge(ratio)
        table.add(what, f"{timing.p10 * 1e3:.0f}", f"{ratio:.2f}", judgement=judgement)

    return table


def _validate(texts: list[str]) -> float:
    start = process_time()
    for text in texts:
        goop_mcp.validate(text)
    return process_time() - start


def _check(folder: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(
        [sys.executable, "-m", "goop_mcp", "check", "."],
        cwd=folder,
        env=program_environment(),
        check=False,
        capture_output=True,
        text=True,
        timeout=_LONGEST_RUN,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # What was printed is part of what is measured: fewer blocks would be a faster program.
    assert ended.stdout.count(": error: ") == _FILES // 10, ended.stderr

    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

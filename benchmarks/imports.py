"""Compare loading goop_mcp and starting its command line with the libraries alone."""

import subprocess
import sys
from typing import Final

from benchmarks.replies import REPORT_FILE
from benchmarks.tables import Bound, Table
from benchmarks.timing import Timing, process_clock, take_turns

__all__ = ["run"]

_TURNS = 15
_HEAVY: Final = ("mcp", "pydantic", "click", "markdown_it", "jinja2")
_BARE, _LXML, _OURS, _CHECK = (
    "python -c pass",
    "import lxml.etree",
    "validate one reply",
    "goop-mcp check FILE",
)
_RETRY = "import goop_mcp.retry"
_FLOOR = "floor: import lxml.etree, pydantic and models"
_VALIDATE: Final = (
    "import sys, goop_mcp; goop_mcp.validate(open(sys.argv[1], encoding='utf-8').read())"
)
_BOUNDS: Final = {_OURS: Bound(goal=1.5, defect=1.5)}
_COMMANDS: Final = {
    _BARE: ("-c", "pass"),
    _LXML: ("-c", "import lxml.etree"),
    _FLOOR: ("-c", "import lxml.etree, benchmarks.report_models"),
    _OURS: ("-c", _VALIDATE, str(REPORT_FILE)),
    _RETRY: ("-c", "import goop_mcp.retry"),
    _CHECK: ("-m", "goop_mcp", "check", str(REPORT_FILE)),
}


def run() -> Table:
    """Measure whole processes; what is compared is their time over that of a bare interpreter."""
    timings = take_turns(
        {
            name: process_clock((sys.executable, *arguments))
            for name, arguments in _COMMANDS.items()
        },
        turns=_TURNS,
    )
    table = Table(
        "imports",
        ("", "p10 ms", "median ms", "over bare p10 ms", "× floor p10", "× bare p10"),
        ["processes from start to end; × floor: both over a bare interpreter"],
    )
    for name, timing in timings.items():
        _add(table, name, timing, timings)

    loaded = [name for name in _HEAVY if name in _loaded_by_ours()]
    table.add(
        f"loaded by {_OURS}: {', '.join(loaded) or 'none of ' + ', '.join(_HEAVY)}",
        *[""] * 5,
        judgement="DEFECT" if loaded else "ok",
    )

    return table


def _add(table: Table, name: str, timing: Timing, timings: dict[str, Timing]) -> None:
    bare = timings[_BARE].p10
    over, floor = timing.p10 - bare, timings[_FLOOR].p10 - bare
    table.add(
        name,
        f"{timing.p10 * 1e3:.0f}",
        f"{timing.median * 1e3:.0f}",
        f"{over * 1e3:.0f}",
        f"{over / floor:.2f}",
        f"{timing.p10 / bare:.1f}",
        judgement=_BOUNDS[name].judge(over / floor) if name in _BOUNDS else "",
    )


def _loaded_by_ours() -> list[str]:
    command = [sys.executable, "-c", f"{_VALIDATE}; print(*sys.modules)", str(REPORT_FILE)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

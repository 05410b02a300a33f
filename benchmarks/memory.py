"""How far hostile texts make a process grow, and how fast those over the limit are refused.

Each text is read in a process of its own that has read an everyday reply before.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import goop_mcp
from benchmarks.hostile_texts import ENVELOPES, REPLIES
from benchmarks.replies import REPLY
from benchmarks.tables import Bound, Table

__all__ = ["run"]

_MB: Final = 1_000_000
_OVER_THE_LIMIT: Final = 10 * _MB
_LARGEST_REPLY: Final = 2_090_000
_LARGEST_ENVELOPE: Final = 520_000
_GROWTH = Bound(goal=50, defect=50)
_GROWTH_WITHIN_LIMITS = Bound(goal=50, defect=200)
_REFUSAL = Bound(goal=50, defect=50)
_HUGE: Final = (
    "prose before",
    "prose before, not ASCII",
    "fences",
    "<goop_report> never closed",
    "<<<<",
    "escaped by a host",
    "{{{{",
    "blank lines",
    "candidates",
    "valid files",
    "& on each line",
    "one long element",
)
_LARGE_REPLIES: Final = (
    "prose before",
    "<goop_report> never closed, lines",
    "words in a status never closed",
    "escaped by a host",
    "{{{{",
    "candidates, small",
)
_LARGE_ENVELOPES: Final = (
    "valid files",
    "foreign elements",
    "tags in wrong case",
    "& on each line",
    "< on one line",
    "long name, many children",
)
_TEXTS: Final = {
    _OVER_THE_LIMIT: _HUGE,
    _LARGEST_REPLY: _LARGE_REPLIES,
    _LARGEST_ENVELOPE: _LARGE_ENVELOPES,
}
_ADDRESS_SPACE: Final = 3_000 * _MB
_LONGEST: Final = 5
_CLEAR_PEAK: Final = "5"


def run() -> Table:
    """Measure texts far over the limit and the largest ones that are read."""
    table = Table(
        "memory",
        ("", "text MB", "growth MB", "ms", "answer"),
        [
            f"growth of resident memory; 10 MB: below {_GROWTH.defect} MB and {_REFUSAL.defect} ms",
            (
                f"within the limits: goal {_GROWTH_WITHIN_LIMITS.goal} MB, defect"
                f" {_GROWTH_WITHIN_LIMITS.defect} MB"
            ),
        ],
    )
    for names, size in (
        (_HUGE, _OVER_THE_LIMIT),
        (_LARGE_REPLIES, _LARGEST_REPLY),
        (_LARGE_ENVELOPES, _LARGEST_ENVELOPE),
    ):
        for name in names:
            _add(table, name, size)

    return table


def _add(table: Table, name: str, size: int) -> None:
    cells = (name, f"{size / _MB:.1f}")
    try:
        command = [sys.executable, "-m", "benchmarks.memory", name, str(size)]
        ended = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, timeout=_LONGEST, check=True
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        stopped = (
            f"no answer within {_LONGEST} s"
            if isinstance(error, subprocess.TimeoutExpired)
            else "failed"
        )
        table.add(*cells, "", "", stopped, judgement="DEFECT")
        return

    growth, milliseconds, answer = json.loads(ended.stdout)
    if size == _OVER_THE_LIMIT:
        judgement = max(_GROWTH.judge(growth), _REFUSAL.judge(milliseconds), key=_severity)
    else:
        judgement = _GROWTH_WITHIN_LIMITS.judge(growth)

    table.add(*cells, f"{growth:.1f}", f"{milliseconds:.1f}", answer, judgement=judgement)


def _severity(judgement: str) -> int:
    return ("ok", "over the goal", "DEFECT").index(judgement)


def _read_once(name: str, size: int) -> tuple[float, float, str]:
    """Return growth in MB, processor time in ms, and the answer to one text."""
    goop_mcp.validate(REPLY)
    text = next(text.build(size) for text in (*REPLIES, *ENVELOPES) if text.name == name)
    before = _clear_peak()
    began = time.thread_time()
    verdict = goop_mcp.validate(text)
    milliseconds = (time.thread_time() - began) * 1e3

    return (
        _peak() - before,
        milliseconds,
        verdict.findings[0].rule if verdict.findings else verdict.verdict,
    )


def _clear_peak() -> float:
    """Reset the peak size of the process if the system can do that; return the peak in MB."""
    handle = Path("/proc/self/clear_refs")
    if handle.exists():
        handle.write_text(_CLEAR_PEAK)
    return _peak()


def _peak() -> float:
    """Return the largest resident size in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / _MB

    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest * (1 if sys.platform == "darwin" else 1024) / _MB


def _main(name: str, size: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    print(json.dumps(_read_once(name, int(size))))


if __name__ == "__main__":
    _main(*sys.argv[1:])

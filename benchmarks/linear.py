"""Whether time grows with the size of the text and no faster, for texts that try to make it.

Each text is read in a process of its own, so that one that hangs can be stopped, at four sizes in
turns. Its growth is the time per byte at the largest size over that at a tenth of it: 1 is linear,
10 is quadratic.
"""

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import goop_mcp
from benchmarks.hostile_texts import ENVELOPES, REPLIES, HostileText, Mode
from benchmarks.tables import Bound, Table

__all__ = ["run"]

_GROWTH: Final = Bound(goal=1.5, defect=2)
_CLEARLY_OVER: Final = 3
_SIZES_OF_REPLIES: Final = (64_000, 100_000, 256_000, 1_000_000)
_SIZES_OF_ENVELOPES: Final = (32_000, 50_000, 128_000, 500_000)
_FEWEST_TURNS, _MOST_TURNS = 3, 9
_SECONDS_A_TEXT = 0.2
_SLOW_CALL = 1.0
# By the clock: a machine with other work must not look like a text that hangs.
_LONGEST_TEXT = 12


@dataclass(frozen=True, slots=True)
class _Measured:
    """Best seconds by size, as far as the process came, and its answer or why there is none."""

    best: dict[int, float]
    answer: str

    def growth(self, sizes: Sequence[int]) -> float:
        """Return the growth, infinite when there was no answer to the largest text."""
        largest, tenth = sizes[-1], sizes[1]
        if largest not in self.best:
            return math.inf
        return self.best[largest] * tenth / (self.best[tenth] * largest)


def run() -> Table:
    """Measure every text in the modes that make a difference to it, and judge its growth."""
    table = Table(
        "linear",
        ("", "largest kB", "ms there", "ns a byte", "growth", "answer"),
        [
            (
                "best of several in processor time; growth: time a byte at the largest size over"
                " that at a tenth of it"
            ),
            (
                f"stopped: a call over {_SLOW_CALL:.0f} s before the largest size, or no end within"
                f" {_LONGEST_TEXT} s"
            ),
        ],
    )
    for texts, sizes in ((REPLIES, _SIZES_OF_REPLIES), (ENVELOPES, _SIZES_OF_ENVELOPES)):
        for text in texts:
            for mode in text.modes:
                _add(table, text, mode, sizes)

    return table


def _add(table: Table, text: HostileText, mode: Mode, sizes: Sequence[int]) -> None:
    measured = _measure(text, mode, sizes)
    growth = measured.growth(sizes)
    if _GROWTH.defect <= growth < _CLEARLY_OVER:
        # A second look: the noise of a neighbour is no defect.
        growth = min(growth, _measure(text, mode, sizes).growth(sizes))

    times = [
        (f"{size // 1000}", f"{s * 1e3:.1f}", f"{s / size * 1e9:.1f}")
        for size, s in measured.best.items()
    ]
    table.add(
        text.name if mode == "lenient" else f"{text.name}, {mode}",
        *(times[-1] if times else ("", "", "")),
        f"{growth:.2f}" if growth < math.inf else "",
        measured.answer,
        judgement=_GROWTH.judge(growth),
    )


def _measure(text: HostileText, mode: Mode, sizes: Sequence[int]) -> _Measured:
    """Read `text` in another process, and return what it measured until its end or time limit."""
    command = [sys.executable, "-m", "benchmarks.linear", text.name, mode, *map(str, sizes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            output, _ = process.communicate(timeout=_LONGEST_TEXT)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()

    best: dict[int, float] = {}
    answer = ""
    for line in output.splitlines():
        size, seconds, answer = json.loads(line)
        best[size] = min(seconds, best.get(size, math.inf))

    if sizes[-1] not in best:
        answer = "failed" if process.returncode > 0 else "stopped"
    return _Measured(best, answer)


def _answer_in_turns(
    name: str, mode: Mode, sizes: Sequence[int]
) -> Iterator[tuple[int, float, str]]:
    """Yield size, seconds and answer of each call, until enough of them are made."""
    build = next(text.build for text in (*REPLIES, *ENVELOPES) if text.name == name)
    texts = {size: build(size) for size in sizes}
    spent = 0.0

    for turn in range(_MOST_TURNS):
        if turn >= _FEWEST_TURNS and spent > _SECONDS_A_TEXT:
            return

        for size, text in texts.items():
            began = time.thread_time()
            verdict = goop_mcp.validate(text, mode=mode)
            seconds = time.thread_time() - began
            yield size, seconds, _shown(verdict)
            spent += seconds
            if seconds > _SLOW_CALL:
                return


def _shown(verdict: goop_mcp.Verdict) -> str:
    errors = verdict.of_severity(goop_mcp.Severity.ERROR)
    return errors[0].rule if errors else verdict.verdict


def _main(name: str, mode: str, *sizes: str) -> None:
    for measured in _answer_in_turns(
        name, "strict" if mode == "strict" else "lenient", [int(size) for size in sizes]
    ):
        print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    _main(*sys.argv[1:])

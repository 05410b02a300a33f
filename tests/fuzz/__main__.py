"""Validate generated replies and check that every law holds.

Usage: `python -m tests.fuzz [--inputs N] [--seconds S] [--seed K]`. Each reply that breaks a law is
written to a folder, so that it can become a test case. Exit code 1 when there was one.
"""

import argparse
import os
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.laws import broken_laws
from tests.fuzz.replies import reply
from tests.repository import ROOT

_SHARE = 500


@dataclass
class Share:
    """The result for some replies: their count, and number and problem of each that broke a law."""

    tried: int = 0
    broken: list[tuple[int, str]] = field(default_factory=list)


def judge_share(seed: int, first: int, count: int) -> Share:
    """Judge `count` replies, from the number `first` on."""
    share = Share()
    for number in range(first, first + count):
        chance = random.Random(f"laws:{seed}:{number}")
        share.broken += [(number, problem) for problem in broken_laws(reply(seed, number), chance)]
        share.tried += 1

    return share


def main() -> int:
    """Print what came of all replies, and return the exit code."""
    asked = _arguments()
    started, total, shown = time.monotonic(), Share(), 0

    try:
        for share in _shares(asked, deadline=started + asked.seconds):
            total.tried += share.tried
            total.broken += share.broken
            if total.tried >= shown + 50_000:
                shown = total.tried
                sys.stdout.write(
                    f"{shown:>9,} replies, {time.monotonic() - started:.0f} s, {len(total.broken)}"
                    " broken\n"
                )
                sys.stdout.flush()
    except BrokenProcessPool:
        total.broken.append(
            (-1, "a process was killed: by its limit of processor time, or for want of memory")
        )

    for number, problem in total.broken[: asked.shown]:
        sys.stdout.write(f"seed {asked.seed}, reply {number}: {problem[:300]}\n")
        _keep(asked.folder, asked.seed, number)

    kinds = Counter(problem.split(":")[0][:60] for _, problem in total.broken)
    sys.stdout.write("".join(f"{count:>9,}  {kind}\n" for kind, count in kinds.most_common(20)))
    seconds = time.monotonic() - started
    sys.stdout.write(
        f"{total.tried:,} of {asked.inputs:,} replies in {seconds:.0f} s, {len(total.broken)}"
        " broken laws\n"
    )

    return int(bool(total.broken))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="how many replies at most")
    parser.add_argument("--seconds", type=float, default=1200.0, help="how long at most")
    parser.add_argument("--seed", type=int, default=1, help="another number makes other replies")
    parser.add_argument("--first", type=int, default=0, help="the number of the first reply")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--shown", type=int, default=50, help="how many broken laws are listed")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build" / "fuzz", help="where such replies are kept"
    )

    return parser.parse_args()


def _shares(asked: argparse.Namespace, *, deadline: float) -> Iterator[Share]:
    limit = int(asked.seconds) + 120
    with ProcessPoolExecutor(asked.processes, initializer=_limit, initargs=(limit,)) as pool:
        last = asked.first + asked.inputs
        todo = iter(range(asked.first, last, _SHARE))
        running = []

        for first in todo:
            running.append(pool.submit(judge_share, asked.seed, first, min(_SHARE, last - first)))
            if len(running) >= 2 * asked.processes:
                yield running.pop(0).result()
            if time.monotonic() > deadline:
                break

        for future in running:
            if not future.cancel():
                yield future.result()


def _limit(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def _keep(folder: Path, seed: int, number: int) -> None:
    if number >= 0:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{seed}-{number}.txt").write_bytes(
            reply(seed, number).encode("utf-8", "surrogatepass")
        )


if __name__ == "__main__":
    sys.exit(main())

"""Run hostile and honest clients together and print a table; exit with 1 if a bound is broken."""

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.soak.run import HONEST, HOSTILE, MOST_GROWTH_MB, MOST_RATIO, Outcome, soak


def main() -> int:
    """Do it for as long as is wanted, and return the exit code."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=15.0, help="how long in all; a tenth of it is quiet"
    )
    seconds = parser.parse_args().minutes * 60
    with tempfile.TemporaryDirectory() as folder:
        outcome = soak(Path(folder), quiet=seconds / 10, mixed=seconds * 9 / 10)

    holds = (
        outcome.ratio <= MOST_RATIO and outcome.growth <= MOST_GROWTH_MB and not outcome.has_failed
    )
    Console().print(table(outcome))
    Console().print("holds" if holds else "does not hold", style="green" if holds else "red")

    return 0 if holds else 1


def table(outcome: Outcome) -> Table:
    """Return what was measured, for people."""
    found = Table("what", "quiet", f"with {HOSTILE} hostile tokens", "promise")
    quiet, mixed, memory = outcome.quiet, outcome.mixed, outcome.memory
    found.add_row(
        f"calls of {HONEST} honest clients", str(len(quiet.seconds)), str(len(mixed.seconds)), ""
    )
    found.add_row(
        "p99 of a call",
        f"{quiet.p99 * 1e3:.1f} ms",
        f"{mixed.p99 * 1e3:.1f} ms",
        f"<= {MOST_RATIO:g} times",
    )
    found.add_row("ratio", "", f"{outcome.ratio:.2f}", "")
    found.add_row(
        "longest call",
        f"{max(quiet.seconds) * 1e3:.1f} ms",
        f"{max(mixed.seconds) * 1e3:.1f} ms",
        "",
    )
    found.add_row("answers", str(dict(quiet.statuses)), str(dict(mixed.statuses)), "200 only")
    middle = memory[len(memory) // 3]
    found.add_row(
        "memory",
        f"{memory[0]:.0f} MB",
        f"{middle:.0f} to {memory[-1]:.0f} MB, at most {max(memory):.0f} MB",
        "",
    )
    found.add_row(
        "growth of what is kept", "", f"{outcome.growth:.1f} MB", f"<= {MOST_GROWTH_MB:g} MB"
    )
    found.add_row(
        "attacks", "", ", ".join(f"{name} {count:,}" for name, count in outcome.attacks.items()), ""
    )
    found.add_row("lines of the log", "", f"{len(outcome.log.splitlines()):,}", "")

    return found


if __name__ == "__main__":
    sys.exit(main())

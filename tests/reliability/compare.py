"""Give goop-mcp and the reference server the same work and print what survives.

Usage: `python -m tests.reliability.compare`.

Exit code 1 when ours lost anything, 77 when the reference server cannot be had on this machine.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.reliability.products import OURS, REFERENCE, Product, reference_program
from tests.reliability.works import WORKS, Outcome, Work, do_work
from tests.repository import NOT_TESTED

_PRODUCTS: Final[tuple[Product, ...]] = (OURS, REFERENCE)


def main() -> int:
    """Print one row a work as soon as it is done, in Markdown, and return the exit code."""
    if missing := reference_program():
        sys.stderr.write(f"not tested: {missing}\n")
        return NOT_TESTED

    _print(["the same work, through MCP", *(product.name for product in _PRODUCTS)])
    _print(["---", *("---" for _ in _PRODUCTS)])
    whole = True

    for work in WORKS:
        outcomes = {product.name: _runs(product, work) for product in _PRODUCTS}
        runs = f", {work.runs} runs" if work.runs > 1 else ""
        _print([f"{work.name}{runs}", *(_summary(each) for each in outcomes.values())])
        whole &= all(_is_whole(work, outcome) for outcome in outcomes[OURS.name])

    return int(not whole)


def _runs(product: Product, work: Work) -> list[Outcome]:
    outcomes = []
    for seed in range(work.runs):
        with TemporaryDirectory(prefix="goop-compare-") as folder:
            outcomes.append(do_work(product, work, Path(folder), seed=seed))
    return outcomes


def _is_whole(work: Work, outcome: Outcome) -> bool:
    missing = 0 if work.killed else work.servers * work.saves - len(outcome.acknowledged)
    return not (missing or outcome.lost or outcome.doubled or outcome.strays)


def _summary(outcomes: list[Outcome]) -> str:
    """Return the shares that survived and, after kills, of how many and what was left."""
    shares = [f"{outcome.survived:.1%}".replace(".0%", "%") for outcome in outcomes]
    kept = [
        f"{len(each.acknowledged) - len(each.lost):,} of {len(each.acknowledged):,}"
        for each in outcomes
    ]
    strays = sum(len(outcome.strays) for outcome in outcomes)
    left = f", {strays} stray files" if strays else ""

    return (f"{kept[0]} ({shares[0]})" if len(outcomes) == 1 else ", ".join(shares)) + left


def _print(cells: list[str]) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

"""Measure ours beside the peers and print the tables: run by `make bench-peers` in an environment that has them all.

Exit code 1 when a bound is broken. A peer that is not installed is left out, and the reason is said.
"""

import logging
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from itertools import chain
from typing import Final

from benchmarks.machine import describe_machine
from benchmarks.peers import overhead, reading
from benchmarks.peers.contender import Contender

_FILES: Final = ("ours", "pydantic_ai", "langchain", "instructor", "guardrails", "by_hand")


def main() -> int:
    """Run everything and return the exit code."""
    _silence()
    contenders = _load()
    packages = sorted({each.package for group in contenders.values() for each in group})
    print(describe_machine())
    print(", ".join(f"{package} {version(package)}" for package in packages))
    defects: list[str] = []
    for table in chain(overhead.run(contenders["json"]), reading.run(contenders)):
        print(f"\n{table.render()}", flush=True)
        defects += table.defects
    for defect in defects:
        print(f"DEFECT  {defect}")
    return 1 if defects else 0


def _load() -> dict[str, Sequence[Contender]]:
    contenders: dict[str, list[Contender]] = {"json": [], "xml": []}
    for name in _FILES:
        try:
            module = import_module(f"benchmarks.peers.contenders.{name}")
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        for syntax, group in module.CONTENDERS.items():
            contenders[syntax] += group
    return dict(contenders)


def _silence() -> None:
    """Keep the peers from logging, warning and telling their makers about it: none of that is measured."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    os.environ.update(GUARDRAILS_RUN_SYNC="true", LANGSMITH_TRACING="false", OTEL_SDK_DISABLED="true")


if __name__ == "__main__":
    sys.exit(main())

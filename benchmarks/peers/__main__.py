"""Compare with the peers and print tables: `make bench-peers` runs it where all are installed.

Exit code 1 if a bound is broken, or if a peer is not installed: it is left out, and the reason
printed.
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
    contenders, missing = _load()
    packages = sorted({each.package for group in contenders.values() for each in group})
    print(describe_machine())
    print(", ".join(f"{package} {version(package)}" for package in packages))
    defects: list[str] = []
    for table in chain(overhead.run(contenders["json"]), reading.run(contenders)):
        print(f"\n{table.render()}", flush=True)
        defects += table.defects

    for defect in defects:
        print(f"DEFECT  {defect}")

    for reason in missing:
        print(f"not measured: {reason}", file=sys.stderr)

    return 1 if defects or missing else 0


def _load() -> tuple[dict[str, Sequence[Contender]], list[str]]:
    """Return the contenders by the syntax that they read, and why others are missing."""
    contenders: dict[str, list[Contender]] = {"json": [], "xml": []}
    missing: list[str] = []

    for name in _FILES:
        try:
            module = import_module(f"benchmarks.peers.contenders.{name}")
        except ImportError as error:
            missing.append(
                f"{name} ({str(error).lower()}); run make bench-peers, which installs it"
            )
            continue

        for syntax, group in module.CONTENDERS.items():
            contenders[syntax] += group

    return dict(contenders), missing


def _silence() -> None:
    """Switch off logs, warnings and telemetry of the peers, which are not measured."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    os.environ.update(
        GUARDRAILS_RUN_SYNC="true", LANGSMITH_TRACING="false", OTEL_SDK_DISABLED="true"
    )


if __name__ == "__main__":
    sys.exit(main())

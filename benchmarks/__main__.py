"""Run all benchmarks, or those that are named: `python -m benchmarks [NAME…]`.

Exit code 1 when a defect bound is broken, 2 for a name that does not exist. A missed goal is shown
and changes nothing.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from benchmarks import (
    asking,
    check_many,
    delegation,
    families,
    history,
    hook,
    imports,
    linear,
    live_pages,
    memories,
    memory,
    memory_servers,
    observing,
    recorder,
    route,
    server,
    stats,
    store,
    tokens,
    validate,
    workbench,
)
from benchmarks.machine import describe_machine
from benchmarks.tables import Table

BENCHMARKS: Final[dict[str, Callable[[], Table]]] = {
    "validate": validate.run,
    "families": families.run,
    "route": route.run,
    "linear": linear.run,
    "memory": memory.run,
    "memories": memories.run,
    "asking": asking.run,
    "memory_servers": memory_servers.run,
    "imports": imports.run,
    "check_many": check_many.run,
    "hook": hook.run,
    "server": server.run,
    "store": store.run,
    "store_postgres": store.run_on_postgres,
    "observing": observing.run,
    "recorder": recorder.run,
    "stats": stats.run,
    "history": history.run,
    "tokens": tokens.run,
    "workbench": workbench.run,
    "live_pages": live_pages.run,
    "delegation": delegation.run,
}


def main(names: Sequence[str]) -> int:
    """Run the benchmarks called `names`, all when there are none, and return the exit code."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(
            f"no benchmark is called {unknown[0]}; there are {', '.join(BENCHMARKS)}",
            file=sys.stderr,
        )
        return 2

    began = time.monotonic()
    print(describe_machine())
    defects: list[str] = []

    for name in names or BENCHMARKS:
        table = BENCHMARKS[name]()
        print(f"\n{table.render()}", flush=True)
        defects += table.defects

    print(f"\n{time.monotonic() - began:.0f} s; {len(defects)} defects")
    for defect in defects:
        print(f"DEFECT  {defect}")

    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

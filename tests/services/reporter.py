"""An orchestrator for tests to kill: it records reports in sequence and acknowledges each.

`python -m tests.services.reporter PROJECT NAME COUNT [FAILPOINT NTH]` kills itself when it
reaches the failpoint for the n-th time.
"""

import os
import sys
from pathlib import Path

from goop_mcp.store.failpoints import Failpoint
from tests.services.reporting import record, report, working_in
from tests.workspace.recorder import die_at


def record_many(project: Path, name: str, count: int) -> None:
    """Record `count` reports, and append the summary of each to a file of acknowledgements."""
    acknowledged = os.open(project / f"{name}.ack", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with working_in(project) as project_context:
        for number in range(count):
            summary = f"Report {name}-{number}."
            new_session = "true" if number % 2 else "false"
            recorded = record(project_context, report(summary=summary, new_session=new_session))
            if recorded.status != "recorded":
                raise SystemExit(f"{summary} is {recorded.status}")

            os.write(acknowledged, f"{summary}\n".encode())


if __name__ == "__main__":
    if len(sys.argv) > 4:
        die_at(Failpoint(sys.argv[4]), int(sys.argv[5]))
    record_many(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))

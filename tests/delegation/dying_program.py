"""`goop-mcp`, which stops as it records a report of a task.

`python -m tests.delegation.dying_program MOMENT TASK NUMBER WORDS`, where WORDS are those of the
command line: `before` the NUMBERth report of the task is recorded or `after` it, the process ends
itself with SIGKILL; with `pause` whoever records it waits before, until there is a file `go` here.
There it holds no lock of the database, if it is to be stopped as a whole.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from goop_mcp.cli import main, running
from goop_mcp.store.graph_rows import GraphReportRow
from tests.delegation.runners import within


def _stop_as_it_records(moment: str, task: str, number: str) -> None:
    names = vars(running)
    record_task = names["record_task"]
    left = int(number)

    def record(context: object, report: GraphReportRow, **named: Any) -> int:  # noqa: ANN401
        nonlocal left
        left -= report.task == task
        if report.task != task or left:
            return int(record_task(context, report, **named))
        names["record_task"] = record_task
        if moment == "pause":
            Path("paused").touch()
            within(120, Path("go").exists)
            return int(record_task(context, report, **named))

        if moment == "after":
            record_task(context, report, **named)
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    names["record_task"] = record


if __name__ == "__main__":
    _stop_as_it_records(*sys.argv[1:4])
    main(sys.argv[4:])

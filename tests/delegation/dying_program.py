"""`goop-mcp`, which ends itself with SIGKILL as it records its first report of a task.

`python -m tests.delegation.dying_program MOMENT WORDS`, where MOMENT is `before` or `after` that
report is recorded, and WORDS are those of the command line.
"""

import os
import signal
import sys
from typing import Any

from goop_mcp.cli import main, running


def _die_as_it_records(moment: str) -> None:
    names = vars(running)
    record_task = names["record_task"]

    def record(*given: Any, **named: Any) -> int:  # noqa: ANN401
        if moment == "after":
            record_task(*given, **named)
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    names["record_task"] = record


if __name__ == "__main__":
    _die_as_it_records(sys.argv[1])
    main(sys.argv[2:])

"""A writer for tests to kill: it records entries in sequence and acknowledges each.

`python -m tests.workspace.recorder PROJECT NAME COUNT [FAILPOINT NTH]` kills itself when it reaches
the failpoint for the n-th time.
"""

import os
import signal
import sys
from pathlib import Path

from goop_mcp.store.failpoints import Failpoint, install
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import NewEvent
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.projections import ProjectionPlan, plan_projections
from tests.workspace.projects import NOW, as_it_is

STEPS = [
    point for point in Failpoint if point not in {Failpoint.ARCHIVE_APPEND, Failpoint.ARCHIVE_FSYNC}
]
"""Those that a project with few entries reaches; tests/workspace/test_archive.py has the others."""


def die_at(wanted: Failpoint, nth: int) -> None:
    """Kill this process at the n-th time that `wanted` is reached."""
    reached = 0

    def count(point: Failpoint) -> None:
        nonlocal reached
        reached += point is wanted
        if reached == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    install(count)


def record(project: Path, name: str, count: int) -> None:
    """Record `count` entries, and append the text of each to a file of acknowledgements."""
    files, store = ProjectFiles(project), open_store(None, project=project)
    acknowledged = os.open(project / f"{name}.ack", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    for number in range(count):
        text = f"- entry {name}-{number}."
        event = NewEvent(
            kind="report", author=name, text=text, created_at=NOW, document="CHRONICLE.md"
        )

        def change(writing: WriteTransaction, event: NewEvent = event) -> ProjectionPlan:
            writing.add_event(event)
            return plan_projections(writing, files, now=NOW, redact=as_it_is)

        def apply(plan: ProjectionPlan) -> None:
            plan.apply(files)

        store.write(change, then=apply)
        os.write(acknowledged, f"{text}\n".encode())

    store.close()


if __name__ == "__main__":
    if len(sys.argv) > 4:
        die_at(Failpoint(sys.argv[4]), int(sys.argv[5]))
    record(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))

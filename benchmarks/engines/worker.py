"""The arguments of a process that works on the job: `FOLDER URL RUN TASKS SECONDS`.

Both engines call the same work, which writes down when it begins and ends. The line `start` is
written after all imports, the line `done` has the processor time since then.
"""

import asyncio
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PARALLEL", "Order"]

PARALLEL = 10


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is given; `run` is the id of a run, or of a workflow."""

    folder: Path
    url: str
    run: str
    tasks: int
    seconds: float

    @classmethod
    def read(cls) -> "Order":
        """Return what the arguments of this process say."""
        folder, url, run, tasks, seconds = sys.argv[1:]
        return cls(Path(folder), url, run, int(tasks), float(seconds))

    def note(self, what: str, **values: object) -> None:
        """Append a line to the log in one piece, as several processes write to it."""
        line = json.dumps({"what": what, "at": time.time(), "pid": os.getpid(), **values})
        file = os.open(self.folder / "log.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, line.encode() + b"\n")
        os.close(file)

    async def work(self, task: int) -> None:
        """Do one task."""
        self.note("begin", task=task)
        await asyncio.sleep(self.seconds)
        self.note("end", task=task)

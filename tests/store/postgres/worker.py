"""A process that saves memories in PostgreSQL until it is told to stop, and notes what was acknowledged.

`python -m tests.store.postgres.worker URL NAME THREADS FILE`: each thread saves `NAME-THREAD-NUMBER`, again and again
with the same key while the error says that it may be repeated, and appends what it was told to FILE. Ends when its
input does; prints how many errors were retried.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from goop_mcp.errors import StoreError
from goop_mcp.store.postgres import PostgresStore
from tests.store.postgres.samples import memory, save


class Saving:
    """What the threads share."""

    def __init__(self, url: str, *, name: str, file: Path) -> None:
        self.store = PostgresStore(url, project_id="shop")
        self.name, self.stop, self.retried = name, threading.Event(), 0
        # One write of a line at the end of the file is whole, whoever else writes.
        self.acknowledged = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def run(self, thread: int) -> None:
        """Save one memory after the other until it is time to stop."""
        number = 0
        while not self.stop.is_set():
            self._save(f"{self.name}-{thread}-{number}")
            number += 1

    def _save(self, title: str) -> None:
        while not self.stop.is_set():
            try:
                saved = self.store.write(partial(save, memory(title)), timeout=10)
            except StoreError as error:
                if not error.retryable:
                    raise
                self.retried += 1
                self.stop.wait(0.01)
            else:
                os.write(self.acknowledged, f"{title} {saved.id} {saved.revision}\n".encode())
                return


def main(url: str, name: str, threads: str, file: str) -> None:
    """Save until the input ends."""
    saving = Saving(url, name=name, file=Path(file))
    with ThreadPoolExecutor(int(threads)) as pool:
        running = [pool.submit(saving.run, thread) for thread in range(int(threads))]
        sys.stdin.read()
        saving.stop.set()
        for thread in running:
            thread.result(30)
    saving.store.close()
    sys.stdout.write(f"{saving.retried}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A process that saves memories in PostgreSQL until its input ends, and writes acknowledgements.

`python -m tests.store.postgres.worker URL NAME THREADS FILE`: a save that fails is repeated with
the same key as long as the error says that it may be. Prints how many were.
"""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from goop_mcp.errors import StoreError
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import StoredMemory
from tests.store.fault_injection.acknowledged import AckFile
from tests.store.postgres.samples import memory, save

_A_MOMENT = 0.01


class Saving:
    """What the threads share."""

    def __init__(self, store: Store, acks: AckFile) -> None:
        self._store, self._acks = store, acks
        self.stop, self.repeated = threading.Event(), 0

    def run(self, name: str) -> None:
        """Save one memory after the other until it is time to stop."""
        number = 0
        while not self.stop.is_set():
            saved = self._save(f"{name}-{number}")
            if saved is not None:
                self._acks.add(saved)

            number += 1

    def _save(self, name: str) -> StoredMemory | None:
        while not self.stop.is_set():
            try:
                return self._store.write(partial(save, memory(name)), timeout=10)
            except StoreError as error:
                if not error.retryable:
                    raise

                self.repeated += 1
                self.stop.wait(_A_MOMENT)

        return None


def main(url: str, name: str, threads: str, file: str) -> None:
    """Save until the input ends."""
    store = open_store(url, project=Path.cwd(), project_id="shop")
    saving = Saving(store, AckFile(Path(file)))

    with ThreadPoolExecutor(int(threads)) as pool:
        running = [pool.submit(saving.run, f"{name}-{thread}") for thread in range(int(threads))]
        sys.stdin.read()
        saving.stop.set()
        for thread in running:
            thread.result(30)

    store.close()
    sys.stdout.write(f"{saving.repeated}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

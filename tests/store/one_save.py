"""Use a store once: `python -m tests.store.one_save PROJECT read|save|hold [UID]`.

With UID it becomes that user first, for which it must be started by root. It prints one line: the
result, or the name and text of an error.
"""

import os
import sys
import time
from pathlib import Path

from goop_mcp.errors import StoreError
from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.store.opening import open_store
from tests.store.rows import add_named

LONGEST_HOLD = 60


def use(store: Store, what: str) -> str:
    """Return the result of one use; `hold` keeps a transaction open until it is killed."""
    try:
        if what == "read":
            return f"revision {store.read(lambda reading: reading.revision())}"
        if what == "hold":
            store.write(hold)
        return f"saved {add_named(store, 'other')}"
    except StoreError as error:
        return f"{type(error).__name__}: {error}"


def hold(_: WriteTransaction) -> None:
    """Keep other writers waiting."""
    say("holding")
    time.sleep(LONGEST_HOLD)


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def become(user: int) -> None:
    """Give up all rights but those of `user`."""
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


if __name__ == "__main__":
    # Everything is imported by now: the other user may not be allowed to read the interpreter's
    # files.
    opened = open_store(None, project=Path(sys.argv[1]))
    if len(sys.argv) > 3:
        become(int(sys.argv[3]))
    say(use(opened, sys.argv[2]))

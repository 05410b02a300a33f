"""A server that ends itself with SIGKILL at a point of a write that the test has chosen.

`python -m tests.scenarios.killed_server ORDERS serve …`: the file ORDERS has one line, "ID NUMBER".
When the line changes, points are counted from 0, and the server is killed at the point with that
number; a negative number lets it live. All points are appended to a file next to it.
"""

import os
import signal
import sys
from pathlib import Path

from goop_mcp.__main__ import main
from goop_mcp.store.failpoints import Failpoint, install

__all__ = ["Orders"]


class Orders:
    """The file with the orders for servers; the points they passed, and where they were killed."""

    def __init__(self, path: Path) -> None:
        """Give no order yet."""
        self.path, self._passed = path, path.with_suffix(".passed")
        self._id = 0
        self.let_live()

    def let_live(self) -> None:
        """Let the server live from now on; its points are counted from 0."""
        self.kill_at(-1)

    def kill_at(self, number: int) -> None:
        """Let the server be killed at the point with this number, from 0."""
        self._id += 1
        self._passed.write_bytes(b"")
        # Renamed, so that the server never reads half a line.
        new = self.path.with_suffix(".new")
        new.write_text(f"{self._id} {number}", encoding="ascii")
        new.replace(self.path)

    @property
    def passed(self) -> list[Failpoint]:
        """The points since the last order, up to the one at which the server was killed."""
        return [Failpoint(line) for line in self._passed.read_text(encoding="ascii").splitlines()]


class _Obedience:
    """Follows the orders in a file at each point."""

    def __init__(self, path: Path) -> None:
        self._path, self._id, self._left = path, "", -1
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._passed = os.open(path.with_suffix(".passed"), flags)

    def __call__(self, point: Failpoint) -> None:
        id, number = self._path.read_text(encoding="ascii").split()
        if id != self._id:
            self._id, self._left = id, int(number)

        os.write(self._passed, f"{point}\n".encode("ascii"))
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1


if __name__ == "__main__":
    install(_Obedience(Path(sys.argv.pop(1))))
    sys.exit(main())

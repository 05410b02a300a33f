"""Start the program with a writer that waits for others one second instead of thirty."""

import sys
from collections.abc import Callable
from typing import Final, TypeVar

from goop_mcp.cli import main
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.sqlite import SqliteStore

_PATIENCE: Final = 1.0

_T = TypeVar("_T")

_write = SqliteStore.write


def _write_soon(
    store: SqliteStore,
    change: Callable[[WriteTransaction], _T],
    *,
    then: Callable[[_T], None] | None = None,
    timeout: float = 30,
) -> _T:
    return _write(store, change, then=then, timeout=min(timeout, _PATIENCE))


if __name__ == "__main__":
    # The one thing that differs from the program.
    SqliteStore.write = _write_soon  # type: ignore[method-assign, assignment]
    sys.exit(main())

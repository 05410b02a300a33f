"""The program: `goop-mcp` and `python -m goop_mcp`.

An interrupt while it is loaded ends it as one later would.
"""

import gc
import os
import signal
import sys
from types import FrameType

__all__ = ["main"]

_INTERRUPTED = 130


def main() -> int:
    """Load the command line, run it with the arguments of the process and return its exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)

    gc.disable()  # it would look through what is loaded, and nothing of that ever goes
    if _is_hook(sys.argv[1:]):
        # A host waits for it at every turn
        from goop_mcp.hosts.claude_code.hook import main as answer  # noqa: PLC0415

        # The host waits for the end of the process; there is nothing to clear away that the system
        # does not.
        os._exit(answer(sys.argv[2:]))

    # Loaded under the handler above
    from goop_mcp.cli import main as run  # noqa: PLC0415

    gc.enable()
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()


def _is_hook(arguments: list[str]) -> bool:
    """Tell whether an event of a host is to be answered: without the command line, which takes longer to load."""
    return arguments[:1] == ["hook"] and not {"-h", "--help"} & set(arguments)


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())

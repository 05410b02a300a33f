"""The program: `goop-mcp` and `python -m goop_mcp`."""

import gc
import os
import sys
from importlib import import_module

from goop_mcp.hosts import hooks

__all__ = ["main"]

_INTERRUPTED = 130


def main() -> int:
    """Load the command line, run it with the arguments of the process and return its exit code."""
    # Imported modules are never freed, so that collections during imports only take time.
    gc.disable()

    # A host waits for the hook at every turn, and the command line takes longer to import than the
    # hook to answer.
    if _is_hook(sys.argv[1:]):
        # The host waits for the end of the process. Its normal shutdown would take time and release
        # nothing that the system does not release anyway.
        os._exit(hooks.hook.main(sys.argv[2:]))

    # Loaded here, because the hook need not wait for it.
    import signal  # noqa: PLC0415

    # An interrupt during the imports would print a traceback of them.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)

    # The command that is to be recorded waits for this start, and needs no library to be found.
    if sys.argv[1:2] == ["run"]:
        code = import_module("goop_mcp.services.run_arguments").main(sys.argv[2:], before=_end)
        if code is not None:
            # As for the hook: nobody needs what a shutdown would do.
            os._exit(code)

    # Imported here, after the handler above is installed.
    from goop_mcp.cli import main as run  # noqa: PLC0415

    gc.enable()
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()


def _is_hook(arguments: list[str]) -> bool:
    """Return whether the arguments call the hook, not its help."""
    return arguments[:1] == ["hook"] and not {"-h", "--help"} & set(arguments)


def _end(_number: int, _frame: object) -> None:
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())

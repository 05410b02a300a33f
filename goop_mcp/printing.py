"""Keep what foreign code prints out of standard output, which other programs read."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress

__all__ = ["printed_to_stderr"]

_STDOUT, _STDERR = 1, 2


@contextmanager
def printed_to_stderr() -> Iterator[None]:
    """Send whatever is printed to standard error until the end of the block.

    That includes what is printed in C, and by programs that are started in the block.
    """
    # What is still in the buffer was printed before.
    with suppress(AttributeError, OSError, ValueError):
        sys.stdout.flush()

    try:
        ours = os.dup(_STDOUT)
    except OSError:  # closed: nothing can reach it
        with redirect_stdout(sys.stderr):
            yield
        return

    try:
        with suppress(OSError):
            os.dup2(_STDERR, _STDOUT)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(ours, _STDOUT)
        os.close(ours)

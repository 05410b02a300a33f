"""Open a file at an untrusted path without waiting: a pipe may be in its place."""

import os
import stat

__all__ = ["open_regular"]


def open_regular(path: str) -> int:
    """Return a descriptor to read the file; raise OSError, also for what is no file."""
    try:
        file = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
    except ValueError:  # NUL or half of a character
        raise OSError("its path is none that a file can have") from None

    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError("it is not a file")

    return file

"""Read a file at an untrusted path, without waiting and with a limited size."""

import os
import stat

__all__ = ["read_end", "read_whole"]


def read_whole(path: str, *, most: int) -> bytes | None:
    """Return the content of the file, None if there is no such file.

    Raises OSError, also for more than `most` bytes.
    """
    try:
        file = _open(path)
    except (FileNotFoundError, NotADirectoryError):
        return None

    with os.fdopen(file, "rb") as reader:
        content = reader.read(most + 1)

    if len(content) > most:
        raise OSError(f"it has more than {most:,} bytes")
    return content


def read_end(path: str, *, most: int) -> bytes:
    """Return the last `most` bytes of the file, all of a smaller one. Raises OSError."""
    with os.fdopen(_open(path), "rb") as reader:
        size = reader.seek(0, os.SEEK_END)
        reader.seek(max(0, size - most))
        return reader.read(most)


def _open(path: str) -> int:
    # Opening a pipe in place of the file must not block the session.
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

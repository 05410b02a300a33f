"""Read a file at an untrusted path, without waiting and with a limited size."""

import os

from goop_mcp.workspace.regular_files import open_regular

__all__ = ["read_end", "read_whole"]


def read_whole(path: str, *, most: int) -> bytes | None:
    """Return the content of the file, None if there is no such file.

    Raises OSError, also for more than `most` bytes.
    """
    try:
        file = open_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        return None

    with os.fdopen(file, "rb") as reader:
        content = reader.read(most + 1)

    if len(content) > most:
        raise OSError(f"it has more than {most:,} bytes")
    return content


def read_end(path: str, *, most: int) -> bytes:
    """Return the last `most` bytes of the file, all of a smaller one. Raises OSError."""
    with os.fdopen(open_regular(path), "rb") as reader:
        size = reader.seek(0, os.SEEK_END)
        reader.seek(max(0, size - most))
        return reader.read(most)

"""Read what a person names: a file, a pipe such as that of `<(command)`, or standard input."""

import errno
import os
import select
import stat
from collections.abc import Iterator
from typing import BinaryIO

from goop_mcp.errors import GoopError, UnreadableFileError
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits

__all__ = [
    "LONGEST_LINE",
    "PATIENCE",
    "STDIN",
    "read_bytes",
    "read_lines",
    "read_reply",
    "read_text",
    "shown_name",
]

PATIENCE = 10.0
"""Seconds for which a pipe is waited for that nobody has opened for writing yet."""

STDIN = "-"
"""Stands for standard input among the names of files."""

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of one line that is read by itself."""

_FOREIGN_MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_SAMPLE = 1_000
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)


def read_reply(file: str, *, stdin: BinaryIO | None = None, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return the text of `file` with its line ends and its byte order mark as they are.

    Reads at most one byte more than `limits.text_bytes`. Raises UnreadableFileError, whose text
    names the file and says what to do.
    """
    advice = "keep only the end of the reply, where the envelope stands"
    return read_text(file, stdin=stdin, most_bytes=limits.text_bytes, advice=advice)


def read_text(file: str, *, stdin: BinaryIO | None = None, most_bytes: int, advice: str) -> str:
    """Return the text of `file`, with its line ends and its byte order mark as they are.

    Reads at most one byte more than `most_bytes`; `advice` says what to do about a longer one.
    Raises UnreadableFileError, whose text names the file and says what to do.
    """
    name = shown_name(file)
    raw = _read_named(file, name, stdin, most_bytes + 1)
    if len(raw) > most_bytes:
        raise UnreadableFileError(
            f"{name} has more than {most_bytes:,} bytes, the most that is read; {advice}"
        )

    return _decode(raw, name)


def read_lines(file: str, *, stdin: BinaryIO | None = None) -> Iterator[str]:
    """Yield the lines of `file` without their line feeds, however many there are, one at a time in memory.

    Raises UnreadableFileError for a line of more than LONGEST_LINE bytes, and as `read_text`.
    """
    name = shown_name(file)
    try:
        if file != STDIN:
            with open(file, "rb", opener=_open_without_waiting) as stream:
                begun = _opened(stream.fileno(), PATIENCE)
                yield from _lines_of(stream, name, begun)
        elif stdin is not None:
            yield from _lines_of(stdin, name, b"")
        else:
            raise UnreadableFileError("standard input is closed; name a file")
    except UnreadableFileError:
        raise
    except OSError as error:
        if isinstance(error, GoopError):
            raise

        raise UnreadableFileError(_cannot_be_read(error, name)) from error


def _lines_of(stream: BinaryIO, name: str, begun: bytes) -> Iterator[str]:
    number = 0
    while raw := begun + stream.readline(LONGEST_LINE + 1):
        begun, number = b"", number + 1
        if len(raw) > LONGEST_LINE:
            raise UnreadableFileError(
                f"{name} has more than {LONGEST_LINE:,} bytes in line {number}; a memory is much"
                " shorter: cut the line"
            )

        try:
            yield _decode(raw, name).removesuffix("\n")
        except UnreadableFileError as error:
            raise UnreadableFileError(f"line {number}: {error}") from error


def shown_name(file: str) -> str:
    """Return what a person is told of: the name of a file, in quotes, or standard input."""
    return "standard input" if file == STDIN else repr(file)


def read_bytes(file: str, *, most: int, patience: float = PATIENCE) -> bytes:
    """Return what is in `file`, the first `most` bytes of a longer one. Raises OSError.

    A pipe is read once somebody has opened it for writing, however long that one takes to write; a
    TimeoutError says that nobody has within `patience` seconds.
    """
    with open(file, "rb", opener=_open_without_waiting) as stream:
        begun = _opened(stream.fileno(), patience)
        return begun + stream.read(most - len(begun))


def _opened(file: int, patience: float) -> bytes:
    """Let reads of a file that was opened without waiting wait from now on; return what was read of a pipe."""
    begun = _begun_by_a_writer(file, patience) if stat.S_ISFIFO(os.fstat(file).st_mode) else b""
    if _NO_WAITING:
        os.set_blocking(file, True)
    return begun


def _open_without_waiting(file: str, flags: int) -> int:
    """Open `file` where the system would wait for whoever writes to a pipe."""
    return os.open(file, flags | _NO_WAITING)


def _begun_by_a_writer(pipe: int, patience: float) -> bytes:
    """Wait for a writer; return what had to be read to see that there is one."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    if poll.poll(patience * 1000):
        return b""

    try:
        # Nothing came, from a writer who takes his time or because there is none: only the latter
        # is an end.
        begun = os.read(pipe, 1)
    except BlockingIOError:
        return b""

    if not begun:
        raise TimeoutError(errno.ETIMEDOUT, "a pipe that nobody writes to")
    return begun


def _read_named(file: str, name: str, stdin: BinaryIO | None, most: int) -> bytes:
    try:
        if file != STDIN:
            return read_bytes(file, most=most)
        if stdin is not None:
            return stdin.read(most)
    except OSError as error:
        raise UnreadableFileError(_cannot_be_read(error, name)) from error

    raise UnreadableFileError("standard input is closed; name a file")


def _cannot_be_read(error: OSError, name: str) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{name} does not exist; check the path"
    if isinstance(error, IsADirectoryError):
        return f"{name} is a folder; name the files in it"
    if isinstance(error, TimeoutError):
        return (
            f"{name} is a pipe that nobody writes to; start what writes to it first, or name a file"
        )

    if isinstance(error, PermissionError):
        return f"{name} may not be read by you; change its permissions"
    return (
        f"{name} cannot be read ({(error.strerror or 'unknown reason').lower()}); name a text file"
    )


def _decode(raw: bytes, name: str) -> str:
    foreign = next((form for mark, form in _FOREIGN_MARKS.items() if raw.startswith(mark)), None)
    if foreign is None and raw[:_SAMPLE].count(0) > len(raw[:_SAMPLE]) // 3:
        foreign = "UTF-16, or no text at all"
    if foreign is not None:
        raise UnreadableFileError(f"{name} is {foreign}; save it as UTF-8")

    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableFileError(
            f"{name} is not UTF-8 (byte 0x{raw[error.start]:02x} at offset {error.start}); save it"
            " as UTF-8"
        ) from error

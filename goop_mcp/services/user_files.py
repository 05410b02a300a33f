"""Read and write what a person names: a file, a pipe such as `<(command)`, or standard input."""

import errno
import os
import select
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from goop_mcp.errors import GoopError, UnreadableFileError, UnwritableFileError
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits

__all__ = [
    "LONGEST_LINE",
    "NO_NAME",
    "PATIENCE",
    "STDIN",
    "opener_for_writing",
    "overwrite_file",
    "read_bytes",
    "read_lines",
    "read_reply",
    "read_short_text",
    "read_text",
    "shown_name",
    "write_file",
]

PATIENCE = 10.0
"""How long to wait for the other end of a pipe to be opened, in seconds."""

STDIN = "-"
"""The file name that stands for standard input."""

NO_NAME = "a file name is empty; name a file or a folder"
"""The message about the name "", which a shell gives for a variable that is not set."""

LONGEST_LINE = 16 * 1024 * 1024
"""Size of the longest line that `read_lines` reads, in bytes."""

_FOREIGN_MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_SAMPLE = 1_000
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)
_PAUSE = 0.02
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def read_reply(file: str, *, stdin: BinaryIO | None = None, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return the text of `file` with its line ends and byte order mark unchanged.

    Reads at most one byte more than `limits.text_bytes`. Raises UnreadableFileError, whose text
    names the file and says what to do.
    """
    advice = "keep only the end of the reply, where the envelope stands"
    return read_text(file, stdin=stdin, most_bytes=limits.text_bytes, advice=advice)


def read_short_text(file: str, *, stdin: BinaryIO | None = None) -> str:
    """Return the text of `file` as `read_reply` does, for what is not a reply."""
    most = DEFAULT_LIMITS.text_bytes
    return read_text(file, stdin=stdin, most_bytes=most, advice="shorten it")


def read_text(file: str, *, stdin: BinaryIO | None = None, most_bytes: int, advice: str) -> str:
    """Return the text of `file` with its line ends and byte order mark unchanged.

    Reads at most one byte more than `most_bytes`; `advice` says what to do about a longer one.
    Raises UnreadableFileError, whose text names the file and says what to do.
    """
    if not file:
        raise UnreadableFileError(NO_NAME)
    name = shown_name(file)
    raw: bytes | None = None
    try:
        if file != STDIN:
            raw = read_bytes(file, most=most_bytes + 1)
        elif stdin is not None:
            raw = stdin.read(most_bytes + 1)
    except OSError as error:
        raise UnreadableFileError(_cannot_be_read(error, name)) from error

    if raw is None:
        raise UnreadableFileError("standard input is closed; name a file")
    if len(raw) > most_bytes:
        raise UnreadableFileError(
            f"{name} has more than {most_bytes:,} bytes, the most that is read; {advice}"
        )

    return _decode(raw, name)


def read_lines(file: str, *, stdin: BinaryIO | None = None) -> Iterator[str]:
    """Yield the lines of `file` without line feeds, with only one line in memory at a time.

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
    """Return the name of an input for messages: a quoted file name, or "standard input"."""
    return "standard input" if file == STDIN else repr(file)


def read_bytes(file: str, *, most: int, patience: float = PATIENCE) -> bytes:
    """Return the content of `file`, at most the first `most` bytes. Raises OSError.

    The writer of a pipe may take any time to write, but must open it within `patience` seconds, or
    TimeoutError is raised.
    """
    with open(file, "rb", opener=_open_without_waiting) as stream:
        content = _opened(stream.fileno(), patience)
        # A buffer of the whole size that is allowed would cost more than to read a usual file. What
        # has no size, or grows, is read on to its end.
        size = os.fstat(stream.fileno()).st_size
        content += stream.read(min(size + 1, most - len(content)))
        if len(content) > size:
            content += stream.read(most - len(content))
        return content


def _opened(file: int, patience: float) -> bytes:
    """Make later reads of the open file blocking; return what was read of a pipe meanwhile."""
    begun = b""
    if stat.S_ISFIFO(os.fstat(file).st_mode):
        poll = select.poll()
        poll.register(file, select.POLLIN)
        if not poll.poll(patience * 1000):
            # No data yet: the writer is slow, or there is none. A read distinguishes the two, as it
            # would block for the former and is at the end for the latter.
            try:
                begun = os.read(file, 1)
            except BlockingIOError:
                pass
            else:
                if not begun:
                    raise TimeoutError(errno.ETIMEDOUT, "a pipe that nobody writes to")

    if _NO_WAITING:
        os.set_blocking(file, True)
    return begun


def _open_without_waiting(file: str, flags: int) -> int:
    """Open `file` at once, although a pipe may have no writer yet."""
    return os.open(file, flags | _NO_WAITING)


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
    # Text of another encoding is recognised by its byte order mark, or by many NUL bytes.
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


def opener_for_writing(patience: float = PATIENCE) -> Callable[[str, int], int]:
    """Return an opener for `open` that waits at most `patience` seconds for a pipe's reader.

    It raises OSError, a TimeoutError where nobody reads. How long a reader takes is its own matter.
    """

    def opened(file: str, flags: int) -> int:
        deadline = time.monotonic() + patience
        while True:
            try:
                descriptor = os.open(file, flags | _NO_WAITING, 0o666)
                break
            except OSError as error:
                # The answer to opening a pipe that has no reader. A device that is not there, or a
                # socket, gives it too.
                if error.errno != errno.ENXIO or not Path(file).is_fifo():
                    raise
                if time.monotonic() >= deadline:
                    raise TimeoutError(errno.ETIMEDOUT, "a pipe that nobody reads from") from None

            time.sleep(_PAUSE)

        if _NO_WAITING:
            os.set_blocking(descriptor, True)
        return descriptor

    return opened


def write_file(
    file: str, document: Iterable[str], *, force: bool, patience: float = PATIENCE
) -> None:
    """Write the pieces of `document` to `file` in UTF-8, atomically; replace a file with `force`.

    A device or a pipe, such as /dev/stdout, is written to and stays what it is; somebody must open
    a pipe for reading within `patience` seconds. Raises UnwritableFileError, whose text names the
    file and states the fix.
    """
    path = Path(file)
    in_place = path.exists() and not path.is_file() and not path.is_dir()
    if not force and not in_place and os.path.lexists(path):
        raise UnwritableFileError(
            f"{file!r} exists already; name another file, or overwrite it with --force"
        )

    # Written next to the target and renamed: a failure leaves the old file as it was.
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")

    try:
        target, mode = (path, "w") if in_place else (temporary, "x")
        opener = opener_for_writing(patience)
        with open(target, mode, encoding="utf-8", newline="", opener=opener) as stream:
            stream.writelines(document)

        if not in_place:
            temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, GoopError):
            raise

        reason = (error.strerror or "unknown reason").lower()
        fix = (
            "start what reads it first, or name a file"
            if isinstance(error, TimeoutError)
            else "name another file"
        )

        raise UnwritableFileError(f"{file!r} cannot be written ({reason}); {fix}") from error


def overwrite_file(file: str, document: str, *, expected: str) -> None:
    """Replace the text of `file` atomically, if it is still `expected`; its permissions stay.

    A link stays a link: the file it leads to is replaced. Raises UnreadableFileError, and
    UnwritableFileError, whose text names the file and states the fix.
    """
    path = Path(file).resolve()
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        # Renaming would replace it all the same: that takes no more than a writable folder.
        if not mode & _WRITABLE or not os.access(path, os.W_OK):
            raise UnwritableFileError(
                f"{file!r} is read-only and is left as it is; make it writable (chmod u+w), and"
                " run the command again"
            )
        with temporary.open("x", encoding="utf-8", newline="") as stream:
            stream.write(document)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(mode)

        # Read as late as possible: an editor may have saved the file since it was judged.
        if read_reply(str(path)) != expected:
            raise UnwritableFileError(
                f"{file!r} has changed since it was read and is left as it is; run the command"
                " again"
            )
        temporary.replace(path)
    except OSError as error:
        if isinstance(error, GoopError):
            raise

        reason = (error.strerror or "unknown reason").lower()
        raise UnwritableFileError(
            f"{file!r} cannot be written ({reason}); change its permissions"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)

"""Write to stdout and stderr: text for people, or exact bytes for programs."""

import getpass
import io
import logging
import os
import re
import shutil
import sys
import time
from typing import TYPE_CHECKING, BinaryIO, Final, TextIO, TypeVar

import click

from goop_mcp import redaction
from goop_mcp.cli.json_text import json_text
from goop_mcp.logs import configure_logging, log_all_errors
from goop_mcp.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

__all__ = [
    "INTERRUPTED",
    "at_terminal",
    "complain",
    "counting",
    "emit",
    "emit_json",
    "person_at_terminal",
    "prepare_streams",
    "show",
    "standard_input",
    "start_log",
    "terminal_width",
    "wants_colour",
    "without_controls",
]

INTERRUPTED: Final = 130
"""The exit code of a command that Ctrl-C ended."""

_LONGEST_NAME = 60
_UNNOTICED: Final = 1.0
_BETWEEN: Final = 0.2
"""Seconds before anything is shown of a progress, and between two numbers of it."""

# What moves the cursor, names the window or turns the order of letters around: a text from outside
# could hide with it what is asked. Styles are taken away before.
_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n)"
)

_ItemT = TypeVar("_ItemT")


class _OutputLostError(click.ClickException):
    exit_code = 2


def prepare_streams() -> None:
    """Print characters that the terminal cannot show as escapes, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

    # What is logged where no log was asked for reads like every other message of the program.
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(logging.Formatter("goop-mcp: %(message)s"))


def show(text: str, *, colour: bool = False, to_stderr: bool = False) -> None:
    """Write `text` for people in the terminal's encoding.

    Without `colour`, its styles are removed, and U+FFFD stands for each other control character.
    """
    _write(text if colour else without_controls(text), colour=colour, to_stderr=to_stderr)


def emit(document: str) -> None:
    """Write `document` for programs: in UTF-8 whatever the terminal's encoding, line ends kept.

    A lone surrogate becomes its escape, as JSON requires.
    """
    _write(document.encode("utf-8", "backslashreplace"), colour=True, to_stderr=False)


def emit_json(values: object) -> None:
    """Write `values` as JSON for people and programs: indented, in UTF-8."""
    emit(json_text(values))


def complain(sentence: str) -> None:
    """Print an error or a warning on stderr, without secrets."""
    stop = "" if sentence.endswith((".", "?")) else "."
    text = without_controls(f"goop-mcp: {_without_secrets(sentence)}{stop}\n")
    _write(text, colour=False, to_stderr=True)


def counting(items: "Iterable[_ItemT]", what: str) -> "Generator[_ItemT]":
    """Yield `items`, and show on a terminal how many are done, `what` they are.

    Their number need not be known. Nothing is shown in a pipe, or of what is done at once.
    """
    watched = sys.stderr is not None and sys.stderr.isatty()
    shown, done = False, 0
    begun = last = time.monotonic()
    try:
        for item in items:
            yield item
            done += 1
            now = time.monotonic()
            # For whoever would wonder, not for the quick ones, and no more than can be read.
            if watched and now - begun > _UNNOTICED and now - last > _BETWEEN:
                click.echo(f"\r{what}: {done:,}", nl=False, err=True)
                shown, last = True, now
    finally:
        if shown:
            click.echo(f"\r{' ' * (len(what) + 14)}\r", nl=False, err=True)


def start_log(settings: Settings) -> None:
    """Send the log of the process to stderr, configured by `settings` and without secrets."""
    configure_logging(settings.log_level, clean=_without_secrets, form=settings.log_format)
    log_all_errors()


def wants_colour(choice: str, *, to_stderr: bool = False) -> bool:
    """Return whether to write colours for `choice` "always", "never" or "auto".

    "auto" is a terminal that can show them, unless NO_COLOR is set to anything.
    """
    if choice != "auto":
        return choice == "always"

    stream = sys.stderr if to_stderr else sys.stdout
    allowed = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    return stream is not None and stream.isatty() and allowed


def terminal_width(*, to_stderr: bool = False) -> int | None:
    """Return the width of the terminal in cells, or None when the text goes to no terminal."""
    stream = sys.stderr if to_stderr else sys.stdout
    return shutil.get_terminal_size().columns if stream is not None and stream.isatty() else None


def at_terminal() -> bool:
    """Return whether a person can be asked: a pipe on either side means that a program runs us."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def person_at_terminal() -> str:
    """Return who runs the command, for records of what people did: `terminal ann`."""
    try:
        name = getpass.getuser()
    except (ImportError, KeyError, OSError):
        name = "unknown"
    printable = "".join(each for each in name if each.isprintable())

    return f"terminal {printable[:_LONGEST_NAME]}"


def standard_input() -> BinaryIO | None:
    """Return the bytes of stdin, or None when it is closed."""
    return None if sys.stdin is None else sys.stdin.buffer


def _write(content: str | bytes, *, colour: bool, to_stderr: bool) -> None:
    stream = sys.stderr if to_stderr else sys.stdout
    if stream is None:
        return

    try:
        # With an explicit stream: else click writes UTF-8 even to one that is declared as ASCII.
        click.echo(content, file=stream, nl=False, color=colour)
    except BrokenPipeError:
        # The reader has closed the pipe, as `head` does, which is not an error.
        _abandon(stream)
    except OSError as error:
        _abandon(stream)
        raise _OutputLostError(
            f"the output cannot be written ({error.strerror}); write it elsewhere"
        ) from error


def without_controls(text: str) -> str:
    """Return `text` without styles, and with U+FFFD for each other control character."""
    return _CONTROLS.sub("\ufffd", click.unstyle(text))


def _without_secrets(text: str) -> str:
    return redaction.redact(text).text


def _abandon(stream: TextIO) -> None:
    """Discard what `stream` still holds: flushing it at exit would raise an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

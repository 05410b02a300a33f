"""Say what click found wrong with a call in the form of our own messages."""

import re
from collections.abc import Sequence
from typing import Final

import click

__all__ = ["usage_message"]

_NO_NUMBER: Final = re.compile(
    r" is not a valid (?:integer|float)(?: range)?| is not in the range \S+"
)


def usage_message(error: click.UsageError, program: click.Command, arguments: Sequence[str]) -> str:
    """Return the message of `error` in lower case, as one sentence that ends with what to do.

    `program` was called with `arguments`.
    """
    # click lists choices on lines of their own.
    message = " ".join(error.format_message().split()).rstrip(".")
    message = message.replace(". Choose from: ", "; choose from ")
    message = message[:1].lower() + message[1:].replace(". Did you mean", "; did you mean")
    if isinstance(error, click.BadParameter) and error.param is not None:
        message = _NO_NUMBER.sub(f" is not {_expected(error.param.type)}", message)
    if message.endswith("?"):
        return message

    path = _command_path(program, arguments) if error.ctx is None else error.ctx.command_path
    return f"{message}; see {path} --help"


def _expected(kind: object) -> str:
    """Return which numbers an option takes: a whole number from 1 to 500."""
    whole = isinstance(kind, click.types.IntParamType)
    noun = "a whole number" if whole else "a number"
    if not isinstance(kind, click.IntRange | click.FloatRange):
        return noun

    least, most = ("" if end is None else f"{end:,g}" for end in (kind.min, kind.max))
    if not least:
        return f"{noun} up to {most}"
    if kind.min_open:
        return f"{noun} above {least}{most and f', up to {most}'}"
    return f"{noun} from {least} {f'to {most}' if most else 'up'}"


def _command_path(program: click.Command, arguments: Sequence[str]) -> str:
    """Return the command that `arguments` call; click does not say so of an option alone."""
    path, command = ["goop-mcp"], program
    for word in arguments:
        if not isinstance(command, click.Group):
            break
        below = command.get_command(click.Context(command), word)
        if below is None:
            break
        command = below
        path.append(word)

    return " ".join(path)

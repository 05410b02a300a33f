"""Texts of agents as words of a command: no program takes them for an option.

A program sees a list of words, and one that begins with a dash is an option wherever it stands.
What an agent wrote may begin in any way. Where a program reads standard input, a text goes there.
Elsewhere the word `--` stands before it, which ends the options, or it gets a line feed in front.
"""

from collections.abc import Sequence
from typing import Final

from goop_mcp.errors import GoopError

__all__ = ["COMMAND", "END_OF_OPTIONS", "OptionWordError", "guarded", "is_value", "opening"]

END_OF_OPTIONS: Final = "--"
"""The word after which most programs take every other one as it is."""

COMMAND: Final = "/"
"""What the commands of hosts begin with."""

_OPTION: Final = "-"
_LINE_FEED: Final = "\n"


class OptionWordError(GoopError, ValueError):
    """Raised where a program would take a part of a message for an option of its own."""


def guarded(words: Sequence[str], text: str) -> list[str]:
    """Return the words of a command, one of which is the message `text`, so that it is no option.

    The word is `text` itself, and so no equal option of the command. One that begins with a dash
    gets a line feed in front, as no program takes that for an option. Right after `--`, and within
    a word such as `--prompt=TEXT`, it stays as it is. Raises OptionWordError for a word that was
    made of such a message and begins as it does.
    """
    message, safe = text.strip(), list(words)
    if not _is_option(message):
        return safe

    # The first word is the program.
    places = range(1, len(safe))
    own = [number for number in places if words[number] is text]
    for number in own:
        if _is_option(text) and words[number - 1] != END_OF_OPTIONS:
            safe[number] = f"{_LINE_FEED}{text}"

    made = (words[number] for number in places if words[number - 1] != END_OF_OPTIONS)
    if not own and any(_is_option(each) and _is_made_of(each, message) for each in made):
        raise OptionWordError(
            "the message begins with a dash, and a word that is made of it would be an option of"
            " the program; have the message as a word of its own, with -- before it"
        )
    return safe


def _is_option(word: str) -> bool:
    # A dash alone is standard input, or a value.
    return word.startswith(_OPTION) and word != _OPTION


def _is_made_of(word: str, message: str) -> bool:
    # What is cut out of a message has blanks, and options have none.
    return word.startswith(message) or (message.startswith(word) and len(word.split()) > 1)


def is_value(text: str) -> bool:
    """Return whether a program takes `text` for a value wherever it stands; "" is none."""
    return text != "" and not text.startswith(_OPTION)


def opening(text: str) -> str:
    """Return what an agent wrote as the beginning of a message to another one.

    A host takes a message that begins with a slash for one of its commands, which a project may
    define, so that such a text begins on a line of its own.
    """
    return f"{_LINE_FEED}{text}" if text.lstrip().startswith(COMMAND) else text

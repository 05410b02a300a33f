"""The structure of a shell line, as far as its exit status depends on it."""

from typing import NamedTuple

__all__ = [
    "AndOr",
    "Compound",
    "Function",
    "Group",
    "Item",
    "Node",
    "Pipeline",
    "Script",
    "ShellWord",
    "Simple",
    "UnreadableLineError",
]


# All are named tuples, which take a sixth of the time of data classes to create: a hook that starts
# for each event spends most of its time with importing.


class UnreadableLineError(ValueError):
    """The line is not shell syntax, or too long or too deep; nothing is known about it."""


class ShellWord(NamedTuple):
    """One word after the removal of quotes.

    `literal` is False if the shell puts something in place of a part of it; that part is left out
    of `text`, or stands there as written. `inner` is the script of a command substitution, if the
    word has one.
    """

    text: str
    literal: bool = True
    inner: "Script | None" = None


class Item(NamedTuple):
    """One entry of a script; `background` if `&` ends it."""

    node: "Node"
    background: bool


class Script(NamedTuple):
    """Commands one after the other."""

    items: tuple[Item, ...]


class Simple(NamedTuple):
    """A program with its arguments; `assignments` are the variables set in front of it.

    `redirections` are operators such as ">>" with the file, or the end of a here document.
    """

    words: tuple[ShellWord, ...]
    assignments: tuple[tuple[str, ShellWord], ...] = ()
    redirections: tuple[tuple[str, ShellWord], ...] = ()


class Pipeline(NamedTuple):
    """Commands joined by `|`, or a single one that `!` negates."""

    commands: tuple["Node", ...]
    negated: bool = False


class AndOr(NamedTuple):
    """Two commands joined by `&&`, or by `||` if not `both`."""

    left: "Node"
    right: "Node"
    both: bool


class Group(NamedTuple):
    """A script in braces, or in parentheses (`subshell`)."""

    body: Script
    subshell: bool


class Compound(NamedTuple):
    """`if`, `for`, `while`, `case` and so on: no command in it decides alone."""

    parts: tuple[Script, ...]


class Function(NamedTuple):
    """The definition of a function: from here on its name is another command."""

    name: str


Node = Simple | Pipeline | AndOr | Group | Compound | Function

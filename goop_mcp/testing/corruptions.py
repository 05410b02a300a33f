"""Kinds of corruption: a name, a function that corrupts any good reply, and the correct answer."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from goop_mcp.testing.good_replies import GoodReply, fenced, unfenced

__all__ = [
    "CUT_OFF",
    "Corruption",
    "Never",
    "Wanted",
    "appending",
    "placed",
    "refused",
    "repaired",
    "substituting",
]

Wanted = Literal["read", "mended", "refused"]
"""Read as it is; repaired, with a repair listed; refused, with a finding that names the error."""

Never = Literal[
    "text lost",
    "draft taken",
    "example taken",
    "cut reply accepted",
    "placeholder accepted",
    "value guessed",
    "made up from nothing",
    "entity expanded",
    "empty answer accepted",
    "one of two taken",
]
"""The harm that is done by a reader which does not give the wanted answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corruption:
    """One kind of corrupted reply.

    `make` does it to a good reply. `rules` are the rules of which one at least must be named: by a
    repair where "mended" is wanted, by an error where "refused" is; a name without a family is that
    of the reply's protocol. `adds` is the text that follows the narrative in a correct reading.
    """

    kind: str
    what: str
    wanted: Wanted
    make: Callable[[GoodReply], str]
    rules: tuple[str, ...] = ()
    never: Never = "text lost"
    adds: str = ""


def placed(
    kind: str,
    what: str,
    make: Callable[[GoodReply], str],
    *,
    never: Never = "text lost",
    adds: str = "",
) -> Corruption:
    """Return a kind that leaves the envelope good and puts it into an odd place."""
    return Corruption(kind=kind, what=what, wanted="read", make=make, never=never, adds=adds)


def repaired(
    kind: str, what: str, make: Callable[[GoodReply], str], *rules: str, adds: str = ""
) -> Corruption:
    """Return a kind that is an error of form with one reading only."""
    return Corruption(kind=kind, what=what, wanted="mended", make=make, rules=rules, adds=adds)


def refused(
    kind: str, what: str, make: Callable[[GoodReply], str], *rules: str, never: Never
) -> Corruption:
    """Return a kind that leaves open what the agent means."""
    return Corruption(kind=kind, what=what, wanted="refused", make=make, rules=rules, never=never)


def appending(words: str) -> Callable[[GoodReply], str]:
    """Return a function that appends `words` to the narrative, unescaped."""
    return lambda good: fenced(good.adding(words), good.syntax)


def substituting(
    pattern: str, replacement: str | Callable[[re.Match[str]], str]
) -> Callable[[GoodReply], str]:
    """Return a function that replaces the first match of `pattern` outside the narrative."""
    return lambda good: fenced(good.changed(pattern, replacement), good.syntax)


CUT_OFF: Final = (
    refused(
        # Seven tenths: far enough for every field to have begun, too early for the last ones.
        "cut_at_70_percent",
        "cut off after seven tenths",
        lambda good: unfenced(good.envelope[: len(good.envelope) * 7 // 10]).rstrip(),
        "envelope/truncated",
        never="cut reply accepted",
    ),
    refused(
        "cut_in_narrative",
        "cut off within the narrative",
        lambda good: unfenced(good.envelope[: (good.start + good.end) // 2]).rstrip(),
        "envelope/truncated",
        never="cut reply accepted",
    ),
)
"""Replies that end too early, in both syntaxes."""

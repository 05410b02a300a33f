"""The shape that ours and each peer take for the benchmark."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["FLOOR", "OURS", "Contender", "Talk"]

OURS: Final = "goop-mcp"
FLOOR: Final = "floor: json.loads and the model"

Talk = Callable[[], "Awaitable[None] | None"]
"""Talks to a fake model from the first request to the accepted reply; raises if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One library in one way of using it.

    `name` and `package` say which; `talk` makes a talk with a fake model that gives these replies;
    `read` returns the summary that is read from a text, None where it is refused. One of the two
    may be missing.
    """

    name: str
    package: str
    talk: Callable[[Sequence[str]], Talk] | None = None
    read: Callable[[str], str | None] | None = None

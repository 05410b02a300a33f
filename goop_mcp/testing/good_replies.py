"""A good reply taken apart, so that it can be put together wrongly."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from goop_mcp.errors import NotCorruptibleError
from goop_mcp.protocols import validate

__all__ = ["DRAFT", "GoodReply", "Syntax", "fenced", "unfenced"]

Syntax = Literal["xml", "json"]

DRAFT: Final = "Only a draft, not to be acted upon."
"""What a draft says in place of the narrative."""

_PROSE: Final = "The work is done and the tests pass; the report follows."
_NARRATIVE_FIELDS: Final = ("summary", "message")
# Leaves without markup and escapes: their text is the same in the envelope and to a reader.
_LEAF: Final[dict[Syntax, re.Pattern[str]]] = {
    "xml": re.compile(r"<([\w.:-]+)(?:\s[^<>]*)?>([^<>&]+)</\1>"),
    "json": re.compile(r'"([^"\\]+)"\s*:\s*"([^"\\]+)"'),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodReply:
    """An envelope and the position of the narrative in it, the agent's account of its work.

    `start` and `end` bound the narrative within `envelope`.
    """

    protocol: str
    envelope: str
    syntax: Syntax
    start: int
    end: int

    @classmethod
    def of(cls, text: str) -> "GoodReply":
        """Take `text` apart.

        Raises NotCorruptibleError unless it is accepted without a repair.
        """
        verdict = validate(text, mode="strict")
        if not verdict.accepted or verdict.span is None or verdict.protocol is None:
            rules = (
                ", ".join(sorted({finding.rule for finding in verdict.findings})) or "no envelope"
            )
            raise NotCorruptibleError(
                f"the reply is not good to begin with: {rules}; expected one that strict mode"
                " accepts"
            )

        if verdict.protocol == "agent_request":
            raise NotCorruptibleError(
                "an agent_request is a prompt; expected the reply of an agent"
            )

        envelope = verdict.read_text[slice(*verdict.span)]
        syntax: Syntax = "xml" if envelope.startswith("<") else "json"
        # The narrative is a field named like a summary, else the longest sentence.
        leaves = [leaf for leaf in _LEAF[syntax].finditer(envelope) if " " in leaf[2].strip()]
        if not leaves:
            raise NotCorruptibleError("the envelope has no sentence in it; choose a fuller reply")

        named = (leaf for name in _NARRATIVE_FIELDS for leaf in leaves if leaf[1] == name)
        start, end = next(named, max(leaves, key=lambda leaf: len(leaf[2]))).span(2)

        return cls(
            protocol=verdict.protocol, envelope=envelope, syntax=syntax, start=start, end=end
        )

    @property
    def narrative(self) -> str:
        """The agent's account of its work."""
        return self.envelope[self.start : self.end]

    @property
    def fenced(self) -> str:
        """The reply in its best form."""
        return fenced(self.envelope, self.syntax)

    @property
    def draft(self) -> str:
        """A complete envelope that says it is a draft."""
        return self.with_narrative(DRAFT)

    def with_narrative(self, narrative: str) -> str:
        """Return the envelope with another narrative, written into it as it is."""
        return self.envelope[: self.start] + narrative + self.envelope[self.end :]

    def adding(self, words: str) -> str:
        """Return the envelope with `words` appended to its narrative, unescaped."""
        return self.with_narrative(f"{self.narrative} {words}")

    def changed(self, pattern: str, replacement: str | Callable[[re.Match[str]], str]) -> str:
        """Return the envelope with the first match of `pattern` outside the narrative replaced.

        `replacement` is that of `re.sub`.

        Raises NotCorruptibleError when there is none: such a reply cannot have this error.
        """
        # The narrative is compared with what a reader returns: a corruption in it would be counted
        # as text lost. A match around the whole narrative leaves its text intact.
        for match in re.finditer(pattern, self.envelope):
            apart = match.end() <= self.start or match.start() >= self.end
            if apart or (match.start() < self.start and self.end < match.end()):
                new = (
                    match.expand(replacement)
                    if isinstance(replacement, str)
                    else replacement(match)
                )
                return self.envelope[: match.start()] + new + self.envelope[match.end() :]

        raise NotCorruptibleError(
            f"nothing in the envelope looks like {pattern}; choose another kind, or a fuller reply"
        )


def fenced(envelope: str, info: str) -> str:
    """Return a reply of a line of prose and `envelope` in a fence of the language `info`."""
    return unfenced(f"```{info}\n{envelope}\n```")


def unfenced(envelope: str) -> str:
    """Return a reply of a line of prose and `envelope`."""
    return f"{_PROSE}\n\n{envelope}\n"

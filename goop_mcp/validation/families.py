"""What a protocol family is to the core: find, read, judge, ask for. The core knows no family by name."""

from dataclasses import dataclass
from typing import Protocol

from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.extraction import Block, Extraction
from goop_mcp.validation.findings import Problem
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.verdict import Envelope

__all__ = ["Family", "Places", "Reading"]


class Places(Protocol):
    """Finds the place of a path inside one envelope."""

    def locate(self, path: str, found: str | None) -> int | None:
        """Return the offset of `path` from the start of the envelope; with `found`, that of the value."""
        ...  # pragma: no cover


@dataclass(slots=True)
class Reading:
    """What a family made of one block. Offsets of problems count from `start` in the text read."""

    start: int
    problems: list[Problem]
    places: Places | None = None
    envelope: Envelope | None = None
    version: str | None = None
    repaired: str | None = None


class Family(Protocol):
    """One protocol with all its behaviour. A new one implements this and is listed in `protocols/__init__.py`."""

    @property
    def name(self) -> str:
        """The name callers ask for."""
        ...  # pragma: no cover

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules of the family."""
        ...  # pragma: no cover

    @property
    def no_envelope(self) -> Rule:
        """The rule for a reply without an envelope when this protocol was asked for by name."""
        ...  # pragma: no cover

    def may_be_in(self, text: str) -> bool:
        """Return False where `find` would choose nothing: a quick look, asked where the protocol is detected."""
        ...  # pragma: no cover

    def find(self, text: str, limits: Limits) -> Extraction:
        """Return the blocks of this protocol in `text`."""
        ...  # pragma: no cover

    def find_older(self, text: str, limits: Limits) -> Extraction | None:
        """Return the older or looser forms of this protocol, looked for where `find` chose nothing."""
        ...  # pragma: no cover

    def is_marked(self, block: Block) -> bool:
        """Return whether `block` is this protocol's beyond doubt; asked where the protocol is detected (D-01)."""
        ...  # pragma: no cover

    def read(self, extraction: Extraction, block: Block, expected: Expectations, limits: Limits) -> Reading:
        """Read and judge the chosen block."""
        ...  # pragma: no cover

    def absence(self, text: str) -> str:
        """Return in one clause what is there in place of an envelope."""
        ...  # pragma: no cover

    def skeleton(self, expected: Expectations) -> str:
        """Return the smallest envelope, with template text for all that the agent has to fill in."""
        ...  # pragma: no cover

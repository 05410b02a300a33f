"""What a protocol family is to the core: find, read, judge, list claims, ask for.

The core knows no family by name.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.rules import Problem, Rule
from goop_mcp.validation.verdict import Envelope

if TYPE_CHECKING:
    from goop_mcp.validation.claims import Claims
    from goop_mcp.validation.extraction import Block, Extraction
    from goop_mcp.validation.positions import SourceText

__all__ = ["Family", "FamilyOnDemand", "Places", "Reading", "put_in_place"]


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
    envelope: Envelope | None = field(default=None, repr=False)
    version: str | None = None
    repaired: str | None = field(default=None, repr=False)


class Family(Protocol):
    """One protocol with all its behaviour.

    A new one implements this and is listed in `protocols/__init__.py`.
    """

    @property
    def name(self) -> str:
        """The name callers ask for."""
        ...  # pragma: no cover

    @property
    def marks(self) -> tuple[str, ...]:
        """What the envelopes of this protocol hold, in lower case: a text without any is searched only by name."""
        ...  # pragma: no cover

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules of the family."""
        ...  # pragma: no cover

    @property
    def no_envelope(self) -> Rule:
        """The rule for a reply without an envelope when this protocol was asked for by name."""
        ...  # pragma: no cover

    def find(self, source: "SourceText", limits: Limits) -> "Extraction":
        """Return the blocks of this protocol in `source`."""
        ...  # pragma: no cover

    def find_older(self, text: str, limits: Limits) -> "Extraction | None":
        """Return the older or looser forms of this protocol, looked for where `find` chose nothing."""
        ...  # pragma: no cover

    def is_marked(self, block: "Block") -> bool:
        """Return whether `block` is this protocol's beyond doubt; asked where the protocol is detected (D-01)."""
        ...  # pragma: no cover

    def read(
        self, extraction: "Extraction", block: "Block", expected: Expectations, limits: Limits
    ) -> Reading:
        """Read and judge the chosen block."""
        ...  # pragma: no cover

    def put_back(self, text: str, span: tuple[int, int], envelope: str) -> str:
        """Return `text` with the mended `envelope` in place of `span`, and what was wrong with its place mended."""
        ...  # pragma: no cover

    def claims(self, envelope: Envelope) -> "Claims":
        """Return what `envelope`, a model of this family, says is true of the project; a partial one says nothing."""
        ...  # pragma: no cover

    def envelope_from(self, values: object) -> Envelope:
        """Return the model whose `to_dict` gave `values`.

        Raises ValueError, which names the place.
        """
        ...  # pragma: no cover

    def absence(self, text: str) -> str:
        """Return in one clause what is there in place of an envelope."""
        ...  # pragma: no cover

    def skeleton(self, expected: Expectations) -> str:
        """Return the smallest envelope, with template text for all that the agent has to fill in."""
        ...  # pragma: no cover


class FamilyOnDemand:
    """A family known by its name and marks, whose code is loaded when more than that is needed.

    It has every attribute of `Family`; callers use it as one.
    """

    def __init__(self, name: str, *, marks: tuple[str, ...], load: Callable[[], Family]) -> None:
        """Take what the family that `load` returns also reports as its own."""
        self.name, self.marks = name, marks
        self._load = load

    @cached_property
    def loaded(self) -> Family:
        """The family itself."""
        return self._load()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Return an attribute of the loaded family and keep it: the next access takes no call."""
        if name.startswith("_"):
            raise AttributeError(name)

        value = getattr(self.loaded, name)
        self.__dict__[name] = value

        return value


def put_in_place(text: str, span: tuple[int, int], envelope: str) -> str:
    """Return `text` with `envelope` in place of `span`: all there is to do where the place of an envelope is free."""
    start, end = span
    return text[:start] + envelope + text[end:]

"""The interface of a protocol family: find, read, judge, list claims, request.

The core does not know any family by name.
"""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.rules import Problem, Rule
from goop_mcp.validation.verdict import Envelope

if TYPE_CHECKING:
    from goop_mcp.validation.claims import Claims
    from goop_mcp.validation.extraction import Block, Extraction
    from goop_mcp.validation.positions import SourceText

__all__ = ["Family", "FamilyOnDemand", "Locator", "ParseResult", "replace_span"]


class Locator(Protocol):
    """Finds the position of a path inside one envelope."""

    def locate(self, path: str, found: str | None) -> int | None:
        """Return the offset of `path` in the envelope; with `found`, that of the value."""
        ...  # pragma: no cover


class ParseResult(Struct):
    """What a family made of one block. Offsets of problems count from `start` in the text read."""

    start: int
    problems: list[Problem]
    locator: Locator | None = None
    envelope: Envelope | None = None
    version: str | None = None
    repaired: str | None = None


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
        """Texts in lower case of which each envelope has at least one.

        A text without any of them is searched only if the protocol was asked for by name.
        """
        ...  # pragma: no cover

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules of the family."""
        ...  # pragma: no cover

    @property
    def no_envelope(self) -> Rule:
        """The rule for a reply without an envelope if this protocol was asked for by name."""
        ...  # pragma: no cover

    def find(self, source: "SourceText", limits: Limits) -> "Extraction":
        """Return the blocks of this protocol in `source`."""
        ...  # pragma: no cover

    def find_legacy(self, text: str, limits: Limits) -> "Extraction | None":
        """Return the older or looser forms of this protocol, searched if `find` chose nothing."""
        ...  # pragma: no cover

    def is_marked(self, block: "Block") -> bool:
        """Return whether `block` is certainly of this protocol; asked if it is detected (D-01)."""
        ...  # pragma: no cover

    def read(
        self, extraction: "Extraction", block: "Block", expected: Expectations, limits: Limits
    ) -> ParseResult:
        """Read and judge the chosen block."""
        ...  # pragma: no cover

    def replace_envelope(self, text: str, span: tuple[int, int], envelope: str) -> str:
        """Return `text` with `envelope` in place of `span`, and a wrong place of it corrected."""
        ...  # pragma: no cover

    def claims(self, envelope: Envelope) -> "Claims":
        """Return what `envelope`, a model of this family, claims about the project.

        A partial envelope claims nothing.
        """
        ...  # pragma: no cover

    def envelope_from(self, values: object) -> Envelope:
        """Return the model whose `to_dict` gave `values`.

        Raise ValueError, which names the place, if they do not fit.
        """
        ...  # pragma: no cover

    def write(self, envelope: Envelope) -> str:
        """Return `envelope`, a model of this family, as a text that `read` gives the model for.

        Raise NotWritableError for one that was cut off, or holds what the form cannot express.
        """
        ...  # pragma: no cover

    def describe_missing(self, text: str) -> str:
        """Return in one clause what the text has instead of an envelope."""
        ...  # pragma: no cover

    def envelope_template(self, expected: Expectations) -> str:
        """Return the smallest envelope, with template text for what the agent has to fill in."""
        ...  # pragma: no cover


class FamilyOnDemand:
    """A family known by its name and marks, whose code is loaded when more than that is needed.

    It has every attribute of `Family`; callers use it as one.
    """

    def __init__(self, name: str, *, marks: tuple[str, ...], load: Callable[[], Family]) -> None:
        """`name` and `marks` have to equal those of the family that `load` returns."""
        self.name, self.marks = name, marks
        self._load = load

    @cached_property
    def loaded(self) -> Family:
        """The family itself."""
        return self._load()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Return an attribute of the loaded family and store it for the next access."""
        if name.startswith("_"):
            raise AttributeError(name)

        value = getattr(self.loaded, name)
        self.__dict__[name] = value

        return value


def replace_span(text: str, span: tuple[int, int], envelope: str) -> str:
    """Return `text` with `envelope` in place of `span`, for families with a free place."""
    start, end = span
    return text[:start] + envelope + text[end:]

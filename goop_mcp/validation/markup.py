"""Data of the XML scan: the grammar of a protocol, and the result for one envelope."""

from dataclasses import dataclass, field

from goop_mcp.validation.edits import Edit
from goop_mcp.validation.rules import Rule

__all__ = ["Failure", "Grammar", "TagPosition", "XmlScan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A protocol's markup: its root, the elements that contain elements, those with text only.

    `attributes` are the known attribute names. An element in neither list is an extension.
    `namespaces` are those in which the whole envelope may be without a finding.
    """

    root: str
    containers: frozenset[str]
    text_only: frozenset[str]
    attributes: frozenset[str]
    namespaces: frozenset[str] = frozenset()
    names: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Index the names by their lower-case form."""
        known = {self.root} | self.containers | self.text_only
        object.__setattr__(self, "names", {name.lower(): name for name in known})


@dataclass(frozen=True, slots=True)
class Failure:
    """Where and why the scan stopped; `fix` replaces the instruction of the rule."""

    rule: Rule
    offset: int
    message: str
    path: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class TagPosition:
    """Where the start tag of an element begins and ends, as offsets in the source."""

    start: int
    tag_end: int


@dataclass(slots=True)
class XmlScan:
    """Result of a scan: edits in order, positions of start tags by path, and what is open.

    `unclosed` names the elements that are open at the end, outermost first; `tail` is the offset of
    a tag in whose middle the text ends.
    """

    edits: list[Edit] = field(default_factory=list)
    positions: dict[str, TagPosition] = field(default_factory=dict)
    unclosed: list[str] = field(default_factory=list)
    failure: Failure | None = None
    tail: int | None = None

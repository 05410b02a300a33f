"""What the scan of an XML envelope works with: the grammar of a protocol, and what was seen in one envelope."""

from dataclasses import dataclass, field

from goop_mcp.validation.edits import Edit
from goop_mcp.validation.rules import Rule

__all__ = ["Failure", "Grammar", "Place", "XmlScan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """What a protocol's markup is made of: its root, the elements with elements in them, those with text only.

    `attributes` are the known attribute names. An element that is in no list is an extension. `namespaces` are those
    in which the whole envelope may stand without a word about it.
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
    """Where and why the scan could not go on; `fix` replaces the instruction of the rule."""

    rule: Rule
    offset: int
    message: str
    path: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where the start tag of an element begins and ends, as offsets in the source."""

    start: int
    tag_end: int


@dataclass(slots=True)
class XmlScan:
    """Result of a scan: the edits in order, the place of each element by path, and what was left open.

    `unclosed` names the elements that are open at the end, outermost first; `tail` is the offset of a tag in whose
    middle the text stops.
    """

    edits: list[Edit] = field(default_factory=list)
    places: dict[str, Place] = field(default_factory=dict)
    unclosed: list[str] = field(default_factory=list)
    failure: Failure | None = None
    tail: int | None = None

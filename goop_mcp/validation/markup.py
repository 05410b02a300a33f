"""Data of the XML scan: the grammar of a protocol, and the result for one envelope."""

from msgspec import Struct, field

from goop_mcp.structs import DataStruct
from goop_mcp.validation.edits import Edit
from goop_mcp.validation.rules import Rule

__all__ = ["Failure", "Grammar", "TagPosition", "XmlScan"]


class Grammar:
    """A protocol's markup: its root, the elements that contain elements, those with text only.

    `attributes` are the known attribute names. An element in neither list is an extension.
    `namespaces` are those in which the whole envelope may be without a finding.
    """

    __slots__ = ("attributes", "containers", "names", "namespaces", "root", "text_only")

    def __init__(
        self,
        *,
        root: str,
        containers: frozenset[str],
        text_only: frozenset[str],
        attributes: frozenset[str],
        namespaces: frozenset[str] = frozenset(),
    ) -> None:
        """Index the names by their lower-case form."""
        self.root, self.containers, self.text_only = root, containers, text_only
        self.attributes, self.namespaces = attributes, namespaces
        self.names = {name.lower(): name for name in {root} | containers | text_only}


class Failure(DataStruct, frozen=True):
    """Where and why the scan stopped; `fix` replaces the instruction of the rule."""

    rule: Rule
    offset: int
    message: str
    path: str
    fix: str | None = None


class TagPosition(DataStruct, frozen=True):
    """Where the start tag of an element begins and ends, as offsets in the source."""

    start: int
    tag_end: int


class XmlScan(Struct):
    """Result of a scan: edits in order, positions of start tags by path, and what is open.

    `unclosed` names the elements that are open at the end, outermost first; `tail` is the offset of
    a tag in whose middle the text ends.
    """

    edits: list[Edit] = field(default_factory=list)
    positions: dict[str, TagPosition] = field(default_factory=dict)
    unclosed: list[str] = field(default_factory=list)
    failure: Failure | None = None
    tail: int | None = None

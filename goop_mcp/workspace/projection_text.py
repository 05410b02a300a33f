"""Our entries inside documents of people: where they stand, how they are marked, what people added. Pure."""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from goop_mcp.store.records import Event
from goop_mcp.workspace.documents.markdown import Section, normal_title, read_markdown
from goop_mcp.workspace.layout import ADL, CHRONICLE

__all__ = [
    "Block",
    "added_lines",
    "blocks_of",
    "chunk_hash",
    "insert_blocks",
    "new_pieces",
    "people_wrote",
    "whole_document",
]

_MARK = re.compile(r"<!-- goop:rev (\d{1,18}) -->")
_LINE_END = re.compile(r"\r\n|\n|\r")
_DIVIDERS = ("---", "***", "___")
_HEADINGS = {CHRONICLE: "recent activity"}
_NEW_DOCUMENTS: Mapping[str, str] = {
    CHRONICLE: "# CHRONICLE\n\n## Recent Activity\n",
    ADL: "# ADL: decisions and deviations\n",
}
_NOTHING = frozenset({"", "none", "none yet", "n a"})
_IMPORTED_FROM = frozenset(
    {
        "recent activity",
        "decisions made",
        "learnings",
        "pending decisions",
        "active blockers",
        "session history",
        "handoff history",
        "checkpoints",
    }
)


@dataclass(frozen=True, slots=True)
class Block:
    """All that one revision adds to a document, between its marks; lines end with a line feed."""

    revision: int
    text: str

    def in_style(self, line_end: str) -> str:
        """Return the block with the line ends of the document it goes to."""
        return self.text.replace("\n", line_end)

    def stands_in(self, document: str) -> bool:
        """Tell whether the block stands in `document` as we wrote it, in whatever style of line ends."""
        return self.in_style(line_end_of(document)) in document


def blocks_of(events: Iterable[Event]) -> list[Block]:
    """Return one block for each revision among `events`, in order; what people wrote themselves makes none."""
    ours = [event for event in events if event.kind not in ("adopted", "imported")]
    return [Block(revision, _marked(revision, group)) for revision, group in groupby(ours, key=lambda e: e.revision)]


def insert_blocks(text: str | None, blocks: Sequence[Block], *, document: str) -> str:
    """Return `text` with `blocks` behind the last entry of their section; None is a document that does not exist yet.

    Every character of `text` stays, in its order. A chronicle without Recent Activity gets that heading at its end.
    """
    whole = _NEW_DOCUMENTS[document] if text is None else text
    line_end = line_end_of(whole)
    at = _end_of_section(whole, _HEADINGS.get(document))
    parts = [block.in_style(line_end) for block in blocks]
    if at is None:
        at = len(whole.rstrip("\r\n \t"))
        parts.insert(0, "## Recent Activity")
    gap = line_end * 2 if at else ""
    added = gap + (line_end * 2).join(parts)
    return whole[:at] + added + (line_end if at == len(whole) else "") + whole[at:]


def whole_document(event: Event, notes: Sequence[Event]) -> str:
    """Return HANDOFF.md as `event` has it, with what people had added to the one before, and its mark."""
    added = [f"## Notes From People\n\n{_harmless(note.text)}" for note in notes]
    return "\n\n".join([_harmless(event.text).rstrip("\n"), *added, f"<!-- goop:rev {event.revision} -->"]) + "\n"


def people_wrote(text: str, *, document: str) -> list[str]:
    """Return the pieces of `text` under known headings that stand outside our marks, in order."""
    root = read_markdown(_without_blocks(text))
    if document == ADL:
        return [_whole(section) for section in root.walk() if section.title.startswith("[")]
    return [
        piece for section in root.walk() if normal_title(section.title) in _IMPORTED_FROM for piece in _pieces(section)
    ]


def added_lines(before: str, after: str) -> list[str] | None:
    """Return the pieces that `after` has under some heading and `before` has not; None when anything else changed."""
    ahead = iter([*(line.rstrip() for line in before.split("\n")), None])
    wanted, seen_heading = next(ahead), False
    added: list[list[str]] = [[]]
    for line in (line.rstrip() for line in _LINE_END.split(after)):
        if line == wanted:
            wanted = next(ahead)
            seen_heading = seen_heading or line.startswith("#")
            added.append([])
        elif line and not seen_heading:
            return None
        else:
            added[-1].append(line)
    if wanted is not None:
        return None
    return [piece for lines in added if (piece := "\n".join(lines).strip())]


def chunk_hash(text: str) -> str:
    """Return what a piece of text is recognised by; blanks do not count."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]


def line_end_of(text: str) -> str:
    """Return how the lines of `text` end: as its first one does."""
    first = _LINE_END.search(text)
    return first[0] if first else "\n"


def _marked(revision: int, events: Iterable[Event]) -> str:
    texts = [_harmless(event.text).strip("\n") for event in events]
    return "\n".join([f"<!-- goop:rev {revision} -->", "\n\n".join(texts), f"<!-- goop:end {revision} -->"])


def _harmless(text: str) -> str:
    """Return text that cannot be taken for a mark of ours or open a comment that hides the rest of the document."""
    return _LINE_END.sub("\n", text).replace("<!--", "&lt;!--")


def _end_of_section(text: str, title: str | None) -> int | None:
    """Return the offset behind the last line of the section with something in it; None when there is no such section.

    Without `title` it is the end of the text. A divider before the next heading stays behind what is added.
    """
    if title is None:
        return len(text.rstrip("\r\n \t"))
    sections = list(read_markdown(text).walk())
    at = next((n for n, each in enumerate(sections) if normal_title(each.title) == title), None)
    if at is None:
        return None
    ends = [(match.start(), match.end()) for match in _LINE_END.finditer(text)]
    following = next((each.line for each in sections[at + 1 :] if each.level <= sections[at].level), len(ends) + 2)
    starts = [0, *(end for _, end in ends)]
    stops = [*(start for start, _ in ends), len(text)]
    last = following - 1
    while last > sections[at].line and _is_empty(
        text[starts[last - 1] : stops[last - 1]], last_section=following > len(starts)
    ):
        last -= 1
    return stops[last - 1]


def _is_empty(line: str, *, last_section: bool) -> bool:
    return not line.strip() or (not last_section and line.strip() in _DIVIDERS)


def _without_blocks(text: str) -> str:
    kept: list[str] = []
    at = 0
    while (mark := _MARK.search(text, at)) is not None:
        end_mark = f"<!-- goop:end {mark[1]} -->"
        end = text.find(end_mark, mark.end())
        kept.append(text[at : mark.start()])
        at = mark.end() if end < 0 else end + len(end_mark)
    return "".join([*kept, text[at:]])


def _pieces(section: Section) -> Iterator[str]:
    paragraph: list[str] = []
    for text in [*(line.text for line in section.lines), ""]:
        if text.strip() and text.strip() not in _DIVIDERS:
            paragraph.append(text)
        elif paragraph:
            yield "\n".join(paragraph)
            paragraph = []
    yield from map(_whole, section.sections)


def _whole(section: Section) -> str:
    lines = [line.text for line in section.lines]
    while lines and (not lines[-1].strip() or lines[-1].strip() in _DIVIDERS):
        lines.pop()
    own = "\n".join([f"{'#' * section.level} {section.title}", *lines])
    return "\n\n".join([own, *map(_whole, section.sections)])


def new_pieces(pieces: Iterable[str], known: Collection[str]) -> list[str]:
    """Return the pieces that are not known by their hash, each once."""
    found = {chunk_hash(piece): piece for piece in pieces}
    return [piece for key, piece in found.items() if key not in known]

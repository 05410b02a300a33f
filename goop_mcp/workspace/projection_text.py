"""Our entries inside documents of people: insert, find and remove them, and detect additions.

Each entry is between two comments with the revision that added it. The marks make our text
recognisable without a second copy of the document, and let people edit everything around it. Pure.
"""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from goop_mcp.store.records import Event
from goop_mcp.workspace.documents.handoff import NOTES_TITLE
from goop_mcp.workspace.documents.markdown import (
    Section,
    find_headings,
    normal_title,
    read_markdown,
)
from goop_mcp.workspace.documents.state_block import find_state_block, marked_state_block
from goop_mcp.workspace.layout import ADL, CHRONICLE

__all__ = [
    "GIVEN_KIND",
    "HIDDEN_KINDS",
    "PEOPLES_KINDS",
    "RESUMED_KIND",
    "STATE_KIND",
    "EntryBlock",
    "added_lines",
    "blocks_of",
    "chunk_hash",
    "handoff_of",
    "insert_blocks",
    "is_ours",
    "new_pieces",
    "newest_mark",
    "people_wrote",
    "remove_blocks",
    "state_block_of",
    "without_entries",
]

PEOPLES_KINDS = ("adopted", "imported")
"""Kinds of events that record what people wrote."""

STATE_KIND: Final = "state_block"
"""The kind of the events whose newest is the block of state at the top of CHRONICLE.md."""

RESUMED_KIND: Final = "resumed"
"""The kind of the events which record that a session has resumed from HANDOFF.md."""

GIVEN_KIND: Final = "handoff_fields"
"""The kind of the events with the fields that callers gave for a handoff, as JSON."""

HIDDEN_KINDS: Final = (*PEOPLES_KINDS, STATE_KIND, RESUMED_KIND, GIVEN_KIND)
"""Kinds of events that are not entries of a document; all others are."""

_MARK = re.compile(r"<!-- goop:rev (\d{1,18}) -->")
_END_MARK = re.compile(r"<!-- goop:end (\d{1,18}) -->")
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
class EntryBlock:
    """The entries that one revision adds to a document, between its marks, with line feeds.

    `entries` is their number, `month` that of the first entry, such as 2026-11.
    """

    revision: int
    text: str
    entries: int = 1
    month: str = ""

    def in_style(self, line_end: str) -> str:
        """Return the block with the line ends `line_end` of its document."""
        return self.text.replace("\n", line_end)

    def stands_in(self, document: str) -> bool:
        """Whether `document` contains the block as we wrote it, with any line ends."""
        return self.in_style(line_end_of(document)) in document

    def begins_in(self, document: str) -> bool:
        """Whether `document` contains the first mark of the block, so that it was written there."""
        return _mark(self.revision) in document


def blocks_of(events: Iterable[Event]) -> list[EntryBlock]:
    """Return one block for each revision among `events`, in order, without what people wrote."""
    blocks = []
    for revision, group in groupby(filter(is_ours, events), key=lambda event: event.revision):
        own = list(group)
        texts = "\n\n".join(_harmless(event.text).strip("\n") for event in own)
        text = "\n".join([_mark(revision), texts, f"<!-- goop:end {revision} -->"])
        blocks.append(EntryBlock(revision, text, entries=len(own), month=own[0].created_at[:7]))

    return blocks


def remove_blocks(text: str, *, before: int, find: Callable[[int], EntryBlock | None]) -> str:
    """Return `text` without our unchanged blocks of revisions below `before`.

    `find` returns the block of a revision. This is the inverse of `insert_blocks`: all other text
    stays, in its order, and so does a block that people edited.
    """
    line_end = line_end_of(text)
    gap = line_end * 2
    kept: list[str] = []
    at = 0

    # A single pass over the text, because an old chronicle contains thousands of marks.
    for mark in _MARK.finditer(text):
        revision = int(mark[1])
        if revision >= before or mark.start() < at or (block := find(revision)) is None:
            continue

        own = block.in_style(line_end)
        if text.startswith(own, mark.start()):
            # The blank line before an entry was written with it: one more would stay each time.
            kept.append(text[at : mark.start()].removesuffix(gap))
            at = mark.start() + len(own)

    return "".join([*kept, text[at:]])


def insert_blocks(text: str | None, blocks: Sequence[EntryBlock], *, document: str) -> str:
    """Return `text` with `blocks` after the last entry of their section.

    With None for `text` a new document is created. Every character of `text` stays, in its order. A
    chronicle without Recent Activity gets that heading at its end.
    """
    whole = _NEW_DOCUMENTS[document] if text is None else text
    if not blocks:
        return whole

    line_end = line_end_of(whole)
    at = _end_of_section(whole, _HEADINGS.get(document))
    parts = [block.in_style(line_end) for block in blocks]
    if at is None:
        at = len(whole.rstrip("\r\n \t"))
        parts.insert(0, "## Recent Activity")

    gap = line_end * 2 if at else ""
    added = gap + (line_end * 2).join(parts)

    return whole[:at] + added + (line_end if at == len(whole) else "") + whole[at:]


def handoff_of(events: Sequence[Event]) -> str | None:
    """Return HANDOFF.md for its `events`, None without a handoff among them.

    The text is the newest handoff, what people added to the one before it, and its mark.
    """
    handoffs = [event for event in events if is_ours(event)]
    if not handoffs:
        return None

    newest, earlier = handoffs[-1], handoffs[-2].revision if len(handoffs) > 1 else 0
    # What people added to the handoff before last was carried over by the last one already.
    notes = [
        each
        for each in events
        if each.kind == "imported" and earlier < each.revision <= newest.revision
    ]

    added = [f"## {NOTES_TITLE}\n\n{_harmless(note.text)}" for note in notes]
    parts = [_harmless(newest.text).rstrip("\n"), *added, _mark(newest.revision)]

    return "\n\n".join(parts) + "\n"


def is_ours(event: Event) -> bool:
    """Whether `event` is an entry of this program, which its document shows."""
    return event.kind not in HIDDEN_KINDS


def state_block_of(event: Event) -> EntryBlock:
    """Return the block of state that `event` of STATE_KIND holds, with its marks."""
    return EntryBlock(event.revision, marked_state_block(event.text, event.revision))


def people_wrote(text: str, *, document: str) -> list[str]:
    """Return the pieces of `text` under known headings and outside our marks, in order."""
    theirs = without_entries(text)
    state = find_state_block(theirs)
    if state is not None and not state.is_edited:
        theirs = theirs[: state.start] + theirs[state.end :]

    root = read_markdown(theirs)
    if document == ADL:
        return [_whole(section) for section in root.walk() if section.title.startswith("[")]
    return [
        piece
        for section in root.walk()
        if normal_title(section.title) in _IMPORTED_FROM
        for piece in _pieces(section)
    ]


def added_lines(before: str, after: str) -> list[str] | None:
    """Return the pieces that `after` adds to `before` under any heading; None for other changes."""
    # Nothing but additions means that the lines of `before` are a subsequence of those of `after`,
    # which matching each line as early as possible finds out. The lines in between are new.
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
    """Return a digest that identifies a piece of text; blanks do not matter."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]


def line_end_of(text: str) -> str:
    """Return the line end of the first line of `text`, by default a line feed."""
    first = _LINE_END.search(text)
    return first[0] if first else "\n"


def _mark(revision: int) -> str:
    return f"<!-- goop:rev {revision} -->"


def _harmless(text: str) -> str:
    """Return `text` with comments escaped, which could imitate marks or hide other text."""
    return _LINE_END.sub("\n", text).replace("<!--", "&lt;!--")


def _end_of_section(text: str, title: str | None) -> int | None:
    """Return the offset after the last filled line of the section `title`, None without it.

    With `title` None it is the end of the text. Dividers before the next heading are left after the
    offset, since they separate the next section.
    """
    if title is None:
        return len(text.rstrip("\r\n \t"))

    headings = find_headings(text)
    at = next((n for n, each in enumerate(headings) if normal_title(each.title) == title), None)
    if at is None:
        return None

    following = next(
        (each.start for each in headings[at + 1 :] if each.level <= headings[at].level), None
    )
    body = text[headings[at].end : following].rstrip()

    # Drop dividers that are alone on their line, from the last one upwards.
    while (
        following is not None
        and body.endswith(_DIVIDERS)
        and _LINE_END.split(body)[-1].strip() in _DIVIDERS
    ):
        body = body[: -len(_DIVIDERS[0])].rstrip()

    last = headings[at].end + len(body)
    end_of_line = _LINE_END.search(text, last)

    return end_of_line.start() if end_of_line else len(text)


def newest_mark(text: str) -> int:
    """Return the newest revision in our marks in `text`, 0 without any."""
    return max((int(mark[1]) for mark in _MARK.finditer(text)), default=0)


def without_entries(text: str) -> str:
    """Return `text` without our entries, whether people edited them or not."""
    ends: dict[str, list[int]] = {}
    for end_mark in _END_MARK.finditer(text):
        ends.setdefault(end_mark[1], []).append(end_mark.end())

    kept: list[str] = []
    at = 0

    # A block ends at the nearest end mark of its revision; if people removed that, only the start
    # mark is dropped, so that no text of theirs is lost.
    while (mark := _MARK.search(text, at)) is not None:
        own = ends.get(mark[1], [])
        nearest = bisect_right(own, mark.end())
        kept.append(text[at : mark.start()])
        at = own[nearest] if nearest < len(own) else mark.end()

    return "".join([*kept, text[at:]])


def _pieces(section: Section) -> Iterator[str]:
    """Yield the paragraphs of `section`, then each section below it as one piece."""
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
    """Return the pieces whose hash is not in `known`, each once."""
    # A paragraph that was copied within the document is one piece.
    found = {chunk_hash(piece): piece for piece in pieces}
    return [piece for key, piece in found.items() if key not in known]

"""Read Markdown as people write it: headings, fields, tables, lists.

Nothing inside code or comments is a heading.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from goop_mcp.validation.fences import fence_spans

__all__ = [
    "Heading",
    "Line",
    "Section",
    "Table",
    "fields",
    "find_headings",
    "items",
    "normal_title",
    "prose",
    "read_markdown",
    "tables",
]

_HEADING = re.compile(r"(?:^|(?<=[\r\n])|(?<=^\ufeff)) {0,3}(#{1,6})[ \t]++([^\r\n]*)")
_CLOSING_MARKS = re.compile(r"[ \t]#+[ \t]*\Z")
_BOLD_LABEL = re.compile(
    r"(?:\*\*|__)([^*_:\n]{1,60})(?::[ \t]*(?:\*\*|__)|(?:\*\*|__)[ \t]*:)[ \t]*"
)
_PLAIN_LABEL = re.compile(
    r"[ \t]*(?:[-*>][ \t]+)*([A-Za-z][\w /&()-]{0,50})[ \t]*+:(?:[ \t]++|\Z)(.*)"
)
_ITEM = re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++(.*)")
_RULE_ROW = frozenset("|-: \t")
_DIVIDER = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*")
_NOT_A_LINE_END = re.compile(r"[^\n]")
_NOT_A_LETTER = re.compile(r"[\W_]+")


class Line(NamedTuple):
    """One line without its end. `number` counts from 1; `code` is True inside a fence."""

    # A tuple and not a dataclass, because a diary of years has hundreds of thousands of lines.

    number: int
    text: str
    code: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; `start` and `end` are the offsets of its line, without the line end."""

    level: int
    title: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table: column names, normalised like titles, and rows of unchanged cells."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, *names: str) -> int | None:
        """Return the index, from 0, of the first column with one of `names`; None without one."""
        return next((at for at, name in enumerate(self.head) if name in names), None)

    def cells(self, *names: str) -> tuple[str, ...]:
        """Return the cells, one for each row, of the first column with one of `names`, else ()."""
        column = self.column(*names)
        return (
            ()
            if column is None
            else tuple(row[column] if column < len(row) else "" for row in self.rows)
        )


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, the lines below it and the sections of deeper headings.

    The whole text is a section of level 0.
    """

    level: int
    title: str
    line: int
    lines: tuple[Line, ...] = ()
    sections: tuple["Section", ...] = ()

    def walk(self) -> "Iterator[Section]":
        """Yield every section below this one, in the order of the text."""
        for each in self.sections:
            yield each
            yield from each.walk()

    def find(self, *titles: str) -> "Section | None":
        """Return the first section below whose normalised title begins with one of `titles`.

        The title must continue with another word, if at all.
        """
        below = [(each, f"{normal_title(each.title)} ") for each in self.walk()]
        return next(
            (each for title in titles for each, normal in below if normal.startswith(f"{title} ")),
            None,
        )

    def all_lines(self) -> "Iterator[Line]":
        """Yield the lines of this section and of all below it, without headings."""
        yield from self.lines
        for each in self.sections:
            yield from each.all_lines()

    def block(self, *labels: str) -> tuple[Line, ...]:
        """Return the lines under one of `labels`, a section title or a label within this section.

        A labelled block ends at the next label.
        """
        section = self.find(*labels)
        if section is not None:
            return tuple(section.all_lines())

        kept: list[Line] = []
        inside = False
        for line in self.lines:
            label = None if line.code else _label(line.text)
            if label is None:
                if inside:
                    kept.append(line)
                continue

            if inside:
                break
            inside = normal_title(label[0]) in labels
            if inside and label[1]:
                kept.append(Line(line.number, label[1]))

        return tuple(kept)


@dataclass(slots=True)
class _Draft:
    level: int
    title: str
    line: int
    lines: list[Line] = field(default_factory=list)
    sections: list["_Draft"] = field(default_factory=list)

    def done(self) -> Section:
        below = tuple(each.done() for each in self.sections)
        return Section(self.level, self.title, self.line, tuple(self.lines), below)


def read_markdown(text: str) -> Section:
    """Return the tree of sections of `text`, with any line ends, with or without byte order mark.

    Takes linear time and never raises.
    """
    root = _Draft(0, "", 0)
    # The open sections, from the root to the one that the next line belongs to.
    path = [root]

    for line in _lines(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")):
        heading = None if line.code or "#" not in line.text else _HEADING.fullmatch(line.text)
        if heading is None:
            path[-1].lines.append(line)
            continue

        level = len(heading[1])
        while path[-1].level >= level:
            path.pop()

        draft = _Draft(level, _title(heading), line.number)
        path[-1].sections.append(draft)
        path.append(draft)

    return root.done()


def find_headings(text: str) -> list[Heading]:
    """Return the headings of `text` with their offsets; faster than `read_markdown`."""
    spans = fence_spans(text)
    hidden = sorted([*((start, end) for start, end, _ in spans), *_comments(text, spans)])
    starts = [start for start, _ in hidden]
    # A comment may contain fences and end after them. So the last span that starts before a
    # heading need not be the one that hides it: what counts is the furthest end of all before it.
    reach = list(accumulate((end for _, end in hidden), max))
    found = []

    for match in _HEADING.finditer(text):
        at = bisect_right(starts, match.start()) - 1
        if at < 0 or match.start() >= reach[at]:
            found.append(Heading(len(match[1]), _title(match), match.start(), match.end()))

    return found


@lru_cache(maxsize=512)
def normal_title(title: str) -> str:
    """Return a title for comparison: lower case words, single blanks, no icons or punctuation."""
    return _NOT_A_LETTER.sub(" ", title).strip().lower()


def fields(lines: Iterable[Line]) -> Mapping[str, str]:
    """Return the fields of `lines` by normalised name; the first of each name counts.

    A field is `**Name:** value`, `Name: value`, or a row of a table with two columns. Emphasis is
    removed from values.
    """
    found: dict[str, str] = {}
    for line in lines:
        if line.code:
            continue

        text, pairs = line.text, list[tuple[str, str]]()
        if text.lstrip().startswith("|"):
            cells = _cells(text)
            if len(cells) == 2 and not _is_rule(text):  # noqa: PLR2004 - name and value
                pairs = [(cells[0].strip("*_: "), cells[1])]
        elif ":" in text:
            # Bold labels may share a line: each value ends where the next label begins.
            labels = list(_BOLD_LABEL.finditer(text))
            ends = [*(label.start() for label in labels[1:]), len(text)]
            pairs = [
                (label[1], text[label.end() : end].strip().rstrip("|"))
                for label, end in zip(labels, ends, strict=False)
            ]
            if not labels and (match := _PLAIN_LABEL.fullmatch(text)):
                pairs = [(match[1], match[2])]

        for name, value in pairs:
            found.setdefault(normal_title(name), value.strip().strip("*_`").strip())

    return found


def tables(lines: Iterable[Line]) -> list[Table]:
    """Return the tables of `lines`, in order."""
    found: list[Table] = []
    rows: list[tuple[str, ...]] = []

    for line in [*lines, Line(0, "")]:
        if not line.code and line.text.lstrip().startswith("|"):
            if not _is_rule(line.text):
                rows.append(_cells(line.text))
        elif rows:
            found.append(Table(tuple(map(normal_title, rows[0])), tuple(rows[1:])))
            rows = []

    return found


def items(lines: Iterable[Line]) -> list[str]:
    """Return the list items in `lines`, nested ones too, without bullets but with check boxes."""
    return [
        match[1].strip()
        for line in lines
        if not line.code and (match := _ITEM.fullmatch(line.text)) and match[1].strip()
    ]


def prose(lines: Iterable[Line]) -> str:
    """Return the text of `lines` outside lists, tables, quotes, fields and code, on one line."""
    kept = [
        line.text.strip()
        for line in lines
        if not line.code
        and not line.text.lstrip().startswith(("|", ">", "<!--"))
        and not _ITEM.fullmatch(line.text)
        and not _DIVIDER.fullmatch(line.text)
        and not _BOLD_LABEL.match(line.text.lstrip())
    ]
    return " ".join(filter(None, kept))


def _title(heading: re.Match[str]) -> str:
    return _CLOSING_MARKS.sub("", heading[2]).strip()


def _lines(text: str) -> Iterator[Line]:
    """Yield the lines of `text` with comments blanked; a comment that begins in code is code."""
    spans = fence_spans(text)
    kept, at = [], 0
    # Comments become blanks of the same length: offsets of fences and numbers of lines stay valid.
    for start, end in _comments(text, spans):
        kept += [text[at:start], _NOT_A_LINE_END.sub(" ", text[start:end])]
        at = end
    text = "".join([*kept, text[at:]])

    ahead = iter(spans)
    start, end = _next_span(ahead, text)
    at = 0

    for number, line in enumerate(text.split("\n"), start=1):
        while at >= end and end <= len(text):
            start, end = _next_span(ahead, text)

        code = start <= at < end
        yield Line(number, line if code else line.rstrip(), code)
        at += len(line) + 1


def _next_span(ahead: Iterator[tuple[int, int, str]], text: str) -> tuple[int, int]:
    start, end, _ = next(ahead, (len(text) + 1, len(text) + 1, ""))
    return start, end


def _comments(text: str, spans: Sequence[tuple[int, int, str]]) -> list[tuple[int, int]]:
    """Return start and end of each comment that begins outside code; an open one hides the rest."""
    starts = [start for start, _, _ in spans]
    found: list[tuple[int, int]] = []
    at = text.find("<!--")

    while at >= 0:
        span = bisect_right(starts, at) - 1
        if span >= 0 and at < spans[span][1]:
            end = spans[span][1]
        else:
            closed = text.find("-->", at + len("<!--"))
            end = len(text) if closed < 0 else closed + len("-->")
            found.append((at, end))

        at = text.find("<!--", end)

    return found


def _label(text: str) -> tuple[str, str] | None:
    stripped = text.strip().removeprefix("- ").removeprefix("* ")
    if match := _BOLD_LABEL.match(stripped):
        return match[1], stripped[match.end() :].strip()
    # A plain label begins its line; an indented or listed one is content of the block above it.
    if text[:1].isalpha() and (match := _PLAIN_LABEL.fullmatch(text)):
        return match[1], match[2].strip()
    return None


def _is_rule(row: str) -> bool:
    return "-" in row and _RULE_ROW.issuperset(row)


def _cells(text: str) -> tuple[str, ...]:
    row = text.strip().removeprefix("|").removesuffix("|").replace("\\|", "\0")
    return tuple(cell.strip().replace("\0", "|") for cell in row.split("|"))

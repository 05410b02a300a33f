"""Scan a reply for the tags of the wanted roots, comments and CDATA sections, inline code.

One pass in linear time finds all of them. Tags inside inline code are listed separately, because
they do not belong to an envelope (D-04).
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from sys import intern
from typing import NamedTuple

from msgspec import Struct, field

__all__ = ["InlineCode", "Regions", "Roots", "ScanResult", "Tag", "in_inline_code", "scan"]

_END_TAG_WINDOW = 64
_SELF_CLOSING = re.compile(r"[^<>/]{0,200}/>")


class Roots:
    """The root elements to look for, and their child tags.

    A child tag distinguishes a cut-off envelope from a mention (D-16).
    """

    __slots__ = ("child_tags", "names", "prefixed")

    def __init__(self, *, names: tuple[str, ...], child_tags: frozenset[str]) -> None:
        """Prepare the search for roots with a namespace prefix."""
        self.names, self.child_tags = names, child_tags
        self.prefixed = re.compile(f":(?:{'|'.join(map(_in_any_case, names))})")


class Tag(NamedTuple):
    """A start or end tag of a root.

    `name` is in lower case, `end` is the end of the name in a start tag, else that of the tag.
    """

    name: str
    start: int
    end: int


def _in_any_case(name: str) -> str:
    # Both cases of each letter: several times faster than the flag of the module.
    return "".join(f"[{c}{c.upper()}]" if c.isalpha() else re.escape(c) for c in name.lower())


@lru_cache(maxsize=64)
def _tag_pattern(names: tuple[str, ...], *, hidden: bool, prefixed: bool) -> re.Pattern[str]:
    """Return the pattern for the roots called `names`, if `hidden` also for comments and CDATA."""
    parts = [r"!--|!\[CDATA\["] if hidden else []
    prefix = r"(?:[A-Za-z_][\w.\-]*+:)?" if prefixed else ""
    roots = "|".join(map(_in_any_case, names))
    parts.append(rf"(?P<closes>/)?{prefix}(?P<root>{roots})(?![\w.\-:])")
    return re.compile(f"<(?:{'|'.join(parts)})")


class ScanResult(Struct):
    """What a scan found, in order. `hidden` are comments and CDATA sections."""

    openers: list[Tag] = field(default_factory=list)
    closers: list[Tag] = field(default_factory=list)
    in_code: list[Tag] = field(default_factory=list)
    hidden: list[tuple[int, int]] = field(default_factory=list)


def scan(text: str, roots: Roots) -> ScanResult:
    """Collect the tags, comments and CDATA sections of `text` in one pass.

    Linear: the pattern begins with `<`, which the engine finds by a fast search, and has a bounded
    look ahead. A comment that is never closed hides nothing, and the search for its end covers the
    rest of the text only once (`hidden_until`).
    """
    seen = ScanResult()
    code = InlineCode(text)
    pattern = _tag_pattern(
        roots.names,
        # One character is searched with memchr, fifty times faster than two.
        hidden="!" in text and "<!" in text,
        prefixed=roots.prefixed.search(text) is not None,
    )
    hidden_until = 0

    for mark in pattern.finditer(text):
        # Code is asked about first, because a comment that is quoted in code hides nothing.
        start, root, opens = mark.start(), mark["root"], mark["closes"] is None
        if code.covers(start):
            if root and opens:
                seen.in_code.append(Tag(root.lower(), start, mark.end()))

            continue

        if root:
            # One object for each name: a text of a million tags would keep as many copies.
            name = intern(root.lower())
            if opens:
                # `<root/>` is a mention: no envelope is empty.
                if _SELF_CLOSING.match(text, mark.end()) is None:
                    seen.openers.append(Tag(name, start, mark.end()))
            else:
                # Text before the `>` of an end tag shows that it is a mention. The window bounds
                # the search where a text has many end tags and no `>`.
                end = text.find(">", mark.end(), mark.end() + _END_TAG_WINDOW)
                if end >= 0 and not text[mark.end() : end].strip():
                    seen.closers.append(Tag(name, start, end + 1))
        elif start >= hidden_until:
            end = text.find("-->" if mark[0] == "<!--" else "]]>", mark.end())
            hidden_until = len(text) if end < 0 else end + 3
            if end >= 0:
                seen.hidden.append((start, hidden_until))

    return seen


class Regions:
    """Ranges of a text; those that overlap are merged."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        """`spans` are (start, end) of each range, in any order."""
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(spans):
            # Sorted by start, a range can only overlap the one before it.
            if self._ends and start < self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._starts.append(start)
                self._ends.append(end)

    def hold(self, start: int, end: int) -> bool:
        """Return whether one of the ranges contains `start` to `end`."""
        index = bisect_right(self._starts, start) - 1
        return index >= 0 and end <= self._ends[index]


_NO_REGIONS = Regions([])


def in_inline_code(text: str, offset: int) -> bool:
    """Return whether `offset` lies in inline code on its line."""
    return InlineCode(text).covers(offset)


class InlineCode:
    """Finds out whether offsets are in inline code.

    Offsets have to be asked for in ascending order, so that each line is examined once.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._none = "`" not in text
        self._line_end = -1
        self._spans = _NO_REGIONS

    def covers(self, offset: int) -> bool:
        """Return whether `offset` is between two runs of backticks of one length on its line."""
        if self._none:
            return False
        if offset >= self._line_end:
            line_start = self._text.rfind("\n", max(self._line_end, 0), offset) + 1
            line_start = max(line_start, self._line_end, 0)
            end = self._text.find("\n", offset)
            self._line_end = len(self._text) if end < 0 else end
            # Most lines with a tag have no code.
            self._spans = (
                _NO_REGIONS
                if self._text.find("`", line_start, self._line_end) < 0
                else Regions(_code_spans(self._text, line_start, self._line_end))
            )

        return self._spans.hold(offset, offset + 1)


def _code_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the code spans of one line as CommonMark defines them.

    A span reaches from a run of backticks to the next run of the same length. A run without such a
    partner is text. `later` has the runs of each length, last first, from which those that were
    passed are removed: each is removed once, which keeps many runs of different lengths linear.
    """
    runs = [(run.start(), run.end()) for run in re.compile("`+").finditer(text, start, end)]
    later: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[index][1] - runs[index][0], []).append(index)

    index = 0
    while index < len(runs):
        same_length = later[runs[index][1] - runs[index][0]]
        while same_length and same_length[-1] <= index:
            same_length.pop()

        if same_length:
            yield runs[index][0], runs[same_length[-1]][1]
            index = same_length[-1] + 1
        else:
            index += 1

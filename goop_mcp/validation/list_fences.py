"""Fenced code blocks in texts with lists: an item moves the column from which indentation counts (CommonMark, 5.2).

Lines are taken one by one. What is open at a line is a stack of list items, by the column at which their content
begins, and perhaps a fence in one of them. Blocks that hold no fences are distinguished only as far as they decide
where an item ends.
"""

import re
from dataclasses import dataclass, field

__all__ = ["fences_in_lists"]

_DEEPEST = 32  # items in items; what is deeper is text
_CODE = 4  # columns of indentation that make code of a line
_MARKER = re.compile(r"([-*+]|(\d{1,9})[.)])(?= |$)")
_RUN = re.compile(r"(`{3,}+|~{3,}+)(.*)")
_BREAK = re.compile(r"(?:\*[ ]*+){3,}$|(?:-[ ]*+){3,}$|(?:_[ ]*+){3,}$")
_UNDERLINE = re.compile(r"(?:-++|=++)$")
_HEADING = re.compile(r"#{1,6}(?: |$)")


@dataclass(slots=True)
class _Fence:
    run: str
    start: int
    info: str
    depth: int


@dataclass(slots=True)
class _Blocks:
    """What is open: list items by the column of their content, a fence, a paragraph (perhaps in a quote)."""

    spans: list[tuple[int, int, str]] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    fence: _Fence | None = None
    paragraph: bool = False
    quoted: bool = False
    began_empty: bool = False

    def blank(self) -> None:
        """Take a blank line: an item that began with nothing ends."""
        self.paragraph = False
        if self.began_empty and self.fence is None:
            self.items.pop()
            self.began_empty = False

    def matched(self, indent: int) -> int:
        """Return how many of the items a line with this indentation goes on."""
        depth = 0
        while depth < len(self.items) and indent >= self.items[depth]:
            depth += 1
        return depth

    def column(self, depth: int) -> int:
        """Return where the content of the innermost of `depth` items begins."""
        return self.items[depth - 1] if depth else 0

    def end_fence(self, at: int) -> None:
        """Close the fence; its content ends at the offset `at`."""
        if self.fence is not None:
            self.spans.append((self.fence.start, at, self.fence.info))
        self.fence, self.paragraph = None, False


def fences_in_lists(text: str, base: int) -> list[tuple[int, int, str]]:
    """Return (start of content, end of content, info string) of every fence; all lines are indented by `base`."""
    blocks = _Blocks()
    at = 0

    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].expandtabs(4).rstrip()
        rest = line.lstrip(" ")
        if rest:
            _take(blocks, rest, max(len(line) - len(rest) - base, 0), (at, end))
        else:
            blocks.blank()

        at = end + 1

    blocks.end_fence(len(text))

    return blocks.spans


def _take(blocks: _Blocks, rest: str, indent: int, place: tuple[int, int]) -> None:
    """Take a line that is not blank: `rest` is indented by `indent`, `place` is where the line begins and ends."""
    depth = blocks.matched(indent)
    if blocks.fence is not None:
        if depth >= blocks.fence.depth:
            if indent - blocks.column(blocks.fence.depth) < _CODE and _closes(
                rest, blocks.fence.run
            ):
                blocks.end_fence(place[0])

            return

        blocks.end_fence(place[0])

    within = depth == len(blocks.items)
    indented = indent - blocks.column(depth) >= _CODE
    if blocks.paragraph and not within and (indented or not _begins_block(rest)):
        return  # the paragraph of an inner item goes on, however little it is indented

    del blocks.items[depth:]
    blocks.paragraph = blocks.paragraph and within
    blocks.began_empty = False
    _begin(blocks, rest, indent, place[1])


def _begin(blocks: _Blocks, rest: str, indent: int, line_end: int) -> None:
    """Open what begins on this line: items, one inside the other, and a fence or a paragraph in the last of them."""
    while True:
        if indent - blocks.column(len(blocks.items)) >= _CODE:
            return  # indented code, or a paragraph that goes on
        if (opening := _opens(rest)) is not None:
            blocks.fence = _Fence(opening[1], line_end + 1, opening[2].strip(), len(blocks.items))
            blocks.paragraph = False
            return

        marker = None if _BREAK.match(rest) else _MARKER.match(rest)
        follows = blocks.paragraph and not blocks.quoted
        if follows and _UNDERLINE.match(rest):
            blocks.paragraph = False  # it was a heading
            return
        if (
            marker is None
            or len(blocks.items) >= _DEEPEST
            or (follows and not _interrupts(rest, marker))
        ):
            blocks.quoted = rest.startswith(">") or (blocks.quoted and blocks.paragraph)
            words = rest.lstrip("> ")
            blocks.paragraph = bool(words) and not (
                _BREAK.match(words) or _HEADING.match(words) or _opens(words)
            )

            return

        width = marker.end()
        content = rest[width:].lstrip(" ")
        gap = len(rest) - width - len(content)
        blocks.items.append(indent + width + (gap if content and gap <= _CODE else 1))
        blocks.paragraph = False
        if not content:
            blocks.began_empty = True
            return

        rest, indent = content, indent + width + gap


def _opens(rest: str) -> re.Match[str] | None:
    run = _RUN.match(rest)
    return None if run is None or (run[1][0] == "`" and "`" in run[2]) else run


def _closes(rest: str, run: str) -> bool:
    return rest.startswith(run) and not rest.strip(run[0])


def _interrupts(rest: str, marker: re.Match[str]) -> bool:
    """Return whether an item may follow a paragraph without a blank line: only one with text, and the first."""
    return rest != marker[0] and (marker[2] is None or int(marker[2]) == 1)


def _begins_block(rest: str) -> bool:
    if _opens(rest) is not None or rest.startswith(">"):
        return True
    return any(pattern.match(rest) is not None for pattern in (_MARKER, _BREAK, _HEADING))

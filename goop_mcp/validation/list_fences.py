"""Fenced code blocks in texts with lists, whose items shift the indentation (CommonMark, 5.2).

Lines are read one by one. The state is a stack of list items, by the column at which their content
begins, and perhaps a fence in one of them. Other blocks are distinguished only as far as they
decide where an item ends. Linear, because the stack has at most `_DEEPEST` items and each line is
read once for each item that it opens.
"""

import re

from msgspec import Struct, field

__all__ = ["fences_in_lists"]

_DEEPEST = 32  # nested items; a deeper marker is text
_CODE = 4  # columns of indentation from which a line is code
_MARKER = re.compile(r"([-*+]|(\d{1,9})[.)])(?= |$)")
_RUN = re.compile(r"(`{3,}+|~{3,}+)(.*)")
_BREAK = re.compile(r"(?:\*[ ]*+){3,}$|(?:-[ ]*+){3,}$|(?:_[ ]*+){3,}$")
_UNDERLINE = re.compile(r"(?:-++|=++)$")
_HEADING = re.compile(r"#{1,6}(?: |$)")
_QUOTATION = re.compile(">")


class _Fence(Struct):
    run: str
    start: int
    info: str
    depth: int


class _Blocks(Struct):
    """The open blocks: list items by the column of their content, a fence, a paragraph.

    `quoted`: the paragraph is in a block quote.
    """

    spans: list[tuple[int, int, str]] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    fence: _Fence | None = None
    paragraph: bool = False
    quoted: bool = False
    began_empty: bool = False

    def blank(self) -> None:
        """Process a blank line: it ends an item that began with one."""
        self.paragraph = False
        if self.began_empty and self.fence is None:
            self.items.pop()
            self.began_empty = False

    def matched(self, indent: int) -> int:
        """Return how many of the items a line with this indentation continues."""
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
    """Return (start of content, end of content, info string) of every fence.

    All lines are indented by `base`.
    """
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


def _take(blocks: _Blocks, rest: str, indent: int, line: tuple[int, int]) -> None:
    """Process a line that is not blank.

    `rest` is indented by `indent`, `line` is where the line begins and ends.
    """
    # A fence belongs to its item: a line that is indented less ends both, even without a closing
    # fence.
    depth = blocks.matched(indent)
    if blocks.fence is not None:
        if depth >= blocks.fence.depth:
            run = blocks.fence.run
            closes = rest.startswith(run) and not rest.strip(run[0])
            if closes and indent - blocks.column(blocks.fence.depth) < _CODE:
                blocks.end_fence(line[0])

            return

        blocks.end_fence(line[0])

    within = depth == len(blocks.items)
    indented = indent - blocks.column(depth) >= _CODE
    if blocks.paragraph and not within:
        # A paragraph continues even with less indentation ("laziness" in CommonMark), unless the
        # line begins another block.
        begins = (_opens, _QUOTATION.match, _MARKER.match, _BREAK.match, _HEADING.match)
        if indented or all(find(rest) is None for find in begins):
            return

    del blocks.items[depth:]
    blocks.paragraph = blocks.paragraph and within
    blocks.began_empty = False
    _begin(blocks, rest, indent, line[1])


def _begin(blocks: _Blocks, rest: str, indent: int, line_end: int) -> None:
    """Open the blocks that begin on this line: nested items, then a fence or a paragraph."""
    while True:
        if indent - blocks.column(len(blocks.items)) >= _CODE:
            return  # indented code, or a paragraph that continues
        if (opening := _opens(rest)) is not None:
            blocks.fence = _Fence(opening[1], line_end + 1, opening[2].strip(), len(blocks.items))
            blocks.paragraph = False
            return

        marker = None if _BREAK.match(rest) else _MARKER.match(rest)
        follows = blocks.paragraph and not blocks.quoted
        if follows and _UNDERLINE.match(rest):
            blocks.paragraph = False  # the underline made it a heading
            return
        if (
            marker is None
            or len(blocks.items) >= _DEEPEST
            # Without a blank line before it, an item can follow a paragraph only if it has text
            # and, in a numbered list, is the first.
            or (follows and (rest == marker[0] or (marker[2] is not None and int(marker[2]) != 1)))
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

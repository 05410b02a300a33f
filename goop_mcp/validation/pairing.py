"""Pair the tags of a root to blocks, and recognize tags that are only mentioned.

Start tags are stacked, each end tag closes the innermost open one. A start tag followed by text and
an end tag preceded by text are mentions (D-04); they count only if there is nothing better.

Why it is correct: an envelope contains elements only, so its start tag is followed by a tag and its
end tag is preceded by one, while prose puts text there. A pair inside another one is content of the
outer envelope, for example a quoted report (D-05).

Why it is linear, apart from sorting: each tag enters and leaves the stack and the list of pairs at
most once. What is examined around a tag is bounded by a window, by the blanks next to that tag, or
by the number of tags examined.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from goop_mcp.validation.fences import fence_spans
from goop_mcp.validation.hosts import host_tail
from goop_mcp.validation.scanner import Roots, Tag

__all__ = ["Block", "blocks_of"]

_START_TAG_WINDOW = 2_000
_LINE_WINDOW = 200
_TAGS_LOOKED_AT = 64
_BEFORE_ROOT = re.compile(
    r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?(?:<(?:task_)?result>[ \t]*+)?(?:(?:`{3,}|~{3,})[\w"
    r" \t]*+)?\Z"
)
_BLANKS = re.compile(r"\s*+")
_PARTIAL_TAG = re.compile(r"<([A-Za-z_][\w.\-:]*+)?\Z")
_OTHER_END_TAG = re.compile(r"\s*+</(?!(?:task_)?result>|task>|task-notification>)")


class Block(Struct, kw_only=True):
    """An envelope-like block.

    `start` and `end` are offsets in the text read; `root` is the root's name as listed. `complete`
    is False for a block that was cut off; it then extends to the end of the text or of its fence.
    `why` is None for a block that may be chosen, else the reason why it may not.
    """

    root: str
    start: int
    end: int
    complete: bool = True
    why: str | None = None


def blocks_of(
    text: str, openers: Sequence[Tag], closers: Sequence[Tag], roots: Roots
) -> list[Block]:
    """Return the blocks that these tags form: complete ones, and a cut-off one (D-16)."""
    blocks: list[Block] = []
    for name in roots.names:
        own = [tag for tag in openers if tag.name == name]
        ends = [tag for tag in closers if tag.name == name]
        pairs, unclosed = _pair(text, own, ends)

        # A complete envelope inside a cut-off one is part of it and does not count.
        around = _cut_off_around(text, pairs, unclosed)
        if around is not None:
            pairs = [pair for pair in pairs if pair[0].start < around.start]
            unclosed = [around]

        blocks.extend(
            Block(root=name, start=opener.start, end=closer.end) for opener, closer in pairs
        )
        # What was cut off before a complete envelope was a draft; after it, it is the last word.
        rest = max((closer.end for _, closer in pairs), default=0)
        cut_off = _last_cut_off(
            text, [tag for tag in unclosed if tag.start >= rest], roots.child_tags
        )
        if cut_off is None:
            # The last line of the text may be the beginning of the root's start tag.
            start = max(text.rfind("\n", -_LINE_WINDOW) + 1, rest)
            last = text[start:].strip()
            if 1 < len(last) <= len(name) and f"<{name}".startswith(last.lower()):
                cut_off = text.index("<", start)

        if cut_off is not None:
            # It ends with its fence, before the lines that a host adds, or with the text.
            end = host_tail(text, cut_off)
            for fence_start, fence_end, _ in fence_spans(text):
                if fence_start <= cut_off < fence_end:
                    end = min(end, fence_end)

            end = cut_off + len(text[cut_off:end].rstrip())
            blocks.append(Block(root=name, start=cut_off, end=end, complete=False))

    return blocks


def _pair(
    text: str, openers: Sequence[Tag], closers: Sequence[Tag]
) -> tuple[list[tuple[Tag, Tag]], list[Tag]]:
    """Return the outermost pairs in order of their start, and the start tags left open."""
    # The only pair needs no evidence. Nearly every reply ends here.
    if len(openers) == 1 and len(closers) == 1 and openers[0].start < closers[0].start:
        return [(openers[0], closers[0])], []

    tags = sorted(
        [
            *((tag.start, tag, True) for tag in openers),
            *((tag.start, tag, False) for tag in closers),
        ]
    )
    pairs: list[tuple[Tag, Tag]] = []
    stack: list[Tag] = []
    mentioned: Tag | None = None  # the last start tag that text follows, used if no other is open

    # Prose mentions both tags ("a <goop_report> block ends with </goop_report>"), so their order
    # alone proves nothing. What stands next to a tag does: markup follows the start tag of an
    # envelope and precedes its end tag. A stack pairs these, because an envelope may quote another.
    for _, tag, opens in tags:
        if opens:
            if _opens_markup(text, tag):
                stack.append(tag)
            else:
                mentioned = tag
        elif stack and _ends_markup(text, tag.start):
            _add_pair(pairs, stack.pop(), tag)
            mentioned = None
        # Nothing better is open, and a start tag with text after it may still be an envelope with
        # stray text.
        elif not stack and mentioned is not None:
            _add_pair(pairs, mentioned, tag)
            mentioned = None

    reach = max((closer.end for _, closer in pairs), default=0)
    if stack:
        # If the last inner end tag of an envelope is missing, text precedes the root's end tag. The
        # last start tag before that end tag is therefore paired with it after all.
        ends = [tag for tag in closers if tag.start >= reach]
        starts = [tag for tag in openers if ends and reach <= tag.start < ends[0].start]
        if starts:
            pairs.append((starts[-1], ends[0]))
            reach = ends[0].end

    closed = {opener.start for opener, _ in pairs}
    left_open = {tag.start for tag in stack} - closed

    return pairs, [tag for tag in openers if tag.start in left_open or tag.start >= reach]


def _add_pair(pairs: list[tuple[Tag, Tag]], opener: Tag, closer: Tag) -> None:
    """Add a pair and drop those inside it, which are content (D-05)."""
    while pairs and pairs[-1][0].start > opener.start:
        pairs.pop()
    pairs.append((opener, closer))


def _opens_markup(text: str, tag: Tag) -> bool:
    """Return whether another tag follows the start tag, as in an envelope and not in prose."""
    end = text.find(">", tag.end, tag.end + _START_TAG_WINDOW)
    if end < 0:
        return False

    following = _BLANKS.match(text, end + 1)
    return following is not None and text.startswith("<", following.end())


def _ends_markup(text: str, at: int) -> bool:
    """Return whether the last thing before `at` is the end of a tag."""
    while at > 0 and text[at - 1].isspace():
        at -= 1
    return at > 0 and text[at - 1] == ">"


# Cut-off blocks


def _cut_off_around(
    text: str, pairs: Sequence[tuple[Tag, Tag]], unclosed: Sequence[Tag]
) -> Tag | None:
    """Return the open start tag of a cut-off envelope that contains the last complete one.

    The evidence is the end tag of another element after the complete envelope: a report was quoted
    in a report that was cut off later.
    """
    if not pairs:
        return None

    opener, closer = pairs[-1]
    before = [tag for tag in unclosed if tag.start < opener.start]
    if not before or not _OTHER_END_TAG.match(text, closer.end):
        return None
    return before[-1]


def _last_cut_off(text: str, openers: Sequence[Tag], child_tags: frozenset[str]) -> int | None:
    """Return where the last start tag is that has no end tag and is more than a mention.

    It has to begin its line, apart from marks of lists, quotations and fences, and a child tag has
    to follow it. Only the last tags are examined, as each look at what follows costs time linear to
    the rest of the text.
    """
    for tag in reversed(openers[-_TAGS_LOOKED_AT:]):
        line_start = text.rfind("\n", max(0, tag.start - _LINE_WINDOW), tag.start) + 1
        if line_start == 0 and tag.start > _LINE_WINDOW:
            continue
        if _BEFORE_ROOT.match(text, line_start, tag.start) is None:
            continue
        if _child_follows(text, tag, child_tags):
            return tag.start

    return None


def _child_follows(text: str, tag: Tag, child_tags: frozenset[str]) -> bool:
    """Return whether one of the protocol's child tags follows as markup, as far as the text goes.

    A child tag counts at the beginning of a line or directly after another tag, not in the middle
    of a sentence.
    """
    end = text.find(">", tag.end, tag.end + _START_TAG_WINDOW)
    if end < 0:
        # Cut off inside the start tag itself: nothing but attributes up to the end of the text.
        return len(text) - tag.end < _START_TAG_WINDOW and "\n\n" not in text[tag.end :]

    rest = text[end + 1 :].rstrip()
    if not rest or (rest.lstrip().startswith("<!--") and "-->" not in rest):
        return True

    partial = _PARTIAL_TAG.search(rest, max(0, len(rest) - _LINE_WINDOW))
    written = (partial[1] or "").lower().rpartition(":")[2] if partial else ""
    if partial and any(name.startswith(written) for name in child_tags):
        return True
    return _child_pattern(child_tags).search(text, end) is not None


@lru_cache(maxsize=16)
def _child_pattern(child_tags: frozenset[str]) -> re.Pattern[str]:
    names = "|".join(sorted(child_tags))
    return re.compile(
        rf"(?:^[ \t>]*+|>\s*+)<(?:[\w.\-]++:)?(?:{names})[\s/>]", re.MULTILINE | re.IGNORECASE
    )

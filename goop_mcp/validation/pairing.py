"""From the tags of a root to blocks: which end tag belongs to which start tag, and which tags are mere mentions.

Start tags are stacked, each end tag closes the innermost open one. A start tag that text follows, and an end tag that
stands behind text, are mentions (D-04); they count only where nothing better is there.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from goop_mcp.validation.fences import fence_spans
from goop_mcp.validation.hosts import host_tail
from goop_mcp.validation.landmarks import Roots, Tag

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


@dataclass(slots=True, kw_only=True)
class Block:
    """An envelope-like block.

    `start` and `end` are offsets in the text read; `root` is the root's name as listed.

    `complete` is False for a block that was cut off; it then reaches to the end of the text or of
    its fence. `why` is None for a block that may be chosen, else the reason why it may not.
    """

    root: str
    start: int
    end: int
    complete: bool = True
    why: str | None = None


def blocks_of(
    text: str, openers: Sequence[Tag], closers: Sequence[Tag], roots: Roots
) -> list[Block]:
    """Return the blocks that these tags make: complete ones, and a cut-off one (D-16)."""
    blocks: list[Block] = []
    for name in roots.names:
        own = [tag for tag in openers if tag.name == name]
        ends = [tag for tag in closers if tag.name == name]
        pairs, unclosed = _pair(text, own, ends)
        around = _cut_off_around(text, pairs, unclosed)
        if around is not None:
            pairs = [pair for pair in pairs if pair[0].start < around.start]
            unclosed = [around]

        blocks.extend(
            Block(root=name, start=opener.start, end=closer.end) for opener, closer in pairs
        )
        rest = max((closer.end for _, closer in pairs), default=0)
        cut_off = _last_cut_off(
            text, [tag for tag in unclosed if tag.start >= rest], roots.child_tags
        )
        if cut_off is None:
            cut_off = _cut_off_in_name(text, name, rest)
        if cut_off is not None:
            blocks.append(
                Block(root=name, start=cut_off, end=_end_of_cut_off(text, cut_off), complete=False)
            )

    return blocks


def _pair(
    text: str, openers: Sequence[Tag], closers: Sequence[Tag]
) -> tuple[list[tuple[Tag, Tag]], list[Tag]]:
    """Return the pairs in order of their start, those inside others left out, and the start tags left open."""
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
    mentioned: Tag | None = None

    for _, tag, opens in tags:
        if opens:
            if _opens_markup(text, tag):
                stack.append(tag)
            else:
                mentioned = tag
        elif stack and _ends_markup(text, tag.start):
            _add_pair(pairs, stack.pop(), tag)
            mentioned = None
        elif not stack and mentioned is not None:
            _add_pair(pairs, mentioned, tag)
            mentioned = None

    pairs.extend(_second_look(openers, closers, pairs) if stack else [])
    closed = {opener.start for opener, _ in pairs}
    reach = max((closer.end for _, closer in pairs), default=0)
    left_open = {tag.start for tag in stack} - closed

    return pairs, [tag for tag in openers if tag.start in left_open or tag.start >= reach]


def _add_pair(pairs: list[tuple[Tag, Tag]], opener: Tag, closer: Tag) -> None:
    """Add a pair and drop those inside it: they are content (D-05)."""
    while pairs and pairs[-1][0].start > opener.start:
        pairs.pop()
    pairs.append((opener, closer))


def _second_look(
    openers: Sequence[Tag], closers: Sequence[Tag], pairs: Sequence[tuple[Tag, Tag]]
) -> list[tuple[Tag, Tag]]:
    """Pair the last open start tag with an end tag that stands behind text: an inner end tag may be missing."""
    reach = max((closer.end for _, closer in pairs), default=0)
    ends = [tag for tag in closers if tag.start >= reach]
    starts = [tag for tag in openers if tag.start >= reach and ends and tag.start < ends[0].start]
    return [(starts[-1], ends[0])] if starts and ends else []


def _opens_markup(text: str, tag: Tag) -> bool:
    """Return whether another tag follows the start tag, as in an envelope and unlike in prose."""
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
    """Return the open start tag of an envelope that the last complete one is only a part of.

    It is known by the end tag of another element behind the complete envelope: a report quoted as
    evidence, in a report that was cut off later.
    """
    if not pairs:
        return None

    opener, closer = pairs[-1]
    before = [tag for tag in unclosed if tag.start < opener.start]
    if not before or not _OTHER_END_TAG.match(text, closer.end):
        return None
    return before[-1]


def _last_cut_off(text: str, openers: Sequence[Tag], child_tags: frozenset[str]) -> int | None:
    """Return where the last start tag stands that has no end tag and is more than a mention."""
    for tag in reversed(openers[-_TAGS_LOOKED_AT:]):
        if _begins_line(text, tag.start) and _child_follows(text, tag, child_tags):
            return tag.start
    return None


def _begins_line(text: str, at: int) -> bool:
    line_start = text.rfind("\n", max(0, at - _LINE_WINDOW), at) + 1
    if line_start == 0 and at > _LINE_WINDOW:
        return False
    return _BEFORE_ROOT.match(text, line_start, at) is not None


def _child_follows(text: str, tag: Tag, child_tags: frozenset[str]) -> bool:
    """Return whether one of the protocol's child tags follows as markup, as far as the text goes.

    A child tag counts at the beginning of a line or right behind another tag, not in the middle of
    a sentence.
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


def _cut_off_in_name(text: str, name: str, after: int) -> int | None:
    """Return where the beginning of a root's name stands alone on the last line: the text stops in the start tag."""
    start = max(text.rfind("\n", -_LINE_WINDOW) + 1, after)
    last = text[start:].strip()
    if 1 < len(last) <= len(name) and f"<{name}".startswith(last.lower()):
        return text.index("<", start)
    return None


def _end_of_cut_off(text: str, start: int) -> int:
    """Return the end of a cut-off block: its fence, the lines a host adds, or the text end, blanks left out."""
    end = host_tail(text, start)
    for fence in fence_spans(text):
        if fence[0] <= start < fence[1]:
            end = min(end, fence[1])

    return start + len(text[start:end].rstrip())

"""Find the envelope in a reply: every block that looks like one, and which of them counts.

The scan is linear. It looks for landmarks only: start and end tags of the roots asked for, thinking tags, comments
and CDATA. A start tag becomes a block together with the end tag that follows it before the next start tag (D-04);
the last complete block outside a thinking block counts (D-02), unless a cut-off one follows it (D-16).
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from goop_mcp.validation.fences import common_indentation, fence_spans
from goop_mcp.validation.hosts import HAND_BACK, unescape
from goop_mcp.validation.positions import SourceText

__all__ = [
    "CHOSEN",
    "CUT_OFF",
    "EARLIER",
    "THINKING",
    "Block",
    "Extraction",
    "Regions",
    "Roots",
    "extract",
    "thinking_regions",
]

CUT_OFF = "cut off before its end; a later cut-off envelope counts instead of an earlier whole one"
CHOSEN = "the last complete envelope outside thinking blocks"
EARLIER = "an earlier envelope; the last one counts"
THINKING = "inside a thinking block"
COMMENT = "inside a comment or CDATA section"

_START_TAG_WINDOW = 2_000
_END_TAG_WINDOW = 64
_LINE_WINDOW = 200
_TAGS_LOOKED_AT = 64
_BEFORE_ROOT = re.compile(r"[ \t>]*(?:<(?:task_)?result>)?[ \t]*(?:(?:`{3,}|~{3,})[\w \t]*)?[ \t]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """The root elements to look for, and the child tags by which a cut-off one is told from a mention (D-16)."""

    names: tuple[str, ...]
    child_tags: frozenset[str]
    prefixed: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        """Prepare the search for roots with a namespace prefix."""
        object.__setattr__(self, "prefixed", re.compile(f":(?:{'|'.join(self.names)})"))


_ANY_ROOT = Roots(names=("goop_report",), child_tags=frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """An envelope-like block. `start` and `end` are offsets in the text read; `root` is the root's name as listed.

    `complete` is False for a block that was cut off; it then reaches to the end of the text or of its fence.
    `why` is None for a block that may be chosen, else the reason why it may not.
    """

    root: str
    start: int
    end: int
    complete: bool = True
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """All blocks of a text in order, the chosen one, and whether a host had changed the text."""

    source: SourceText
    blocks: tuple[Block, ...]
    chosen: Block | None
    host_transformed: bool = False


class _Tag(NamedTuple):
    name: str
    start: int
    end: int


def extract(text: str, roots: Roots, *, most: int) -> Extraction:
    """Return every block of `roots` in `text` (the last `most` of them) and the one that counts.

    When no literal block is found, a text that a host had XML-escaped is unescaped once and read again (D-09).
    """
    source = SourceText(text)
    blocks = _find_blocks(text, roots)
    chosen = _choose(blocks)
    transformed = False
    if chosen is None and _holds_escaped_root(text, roots):
        unescaped = unescape(text)
        retried = _find_blocks(unescaped.read, roots)
        if (found := _choose(retried)) is not None:
            source, blocks, chosen, transformed = unescaped, retried, found, True
    if chosen is not None and not transformed:
        transformed = _indented_by_host(text, chosen)
    return Extraction(source=source, blocks=tuple(blocks[-most:]), chosen=chosen, host_transformed=transformed)


def thinking_regions(text: str) -> "Regions":
    """Return the stretches of `text` in which an agent thinks aloud."""
    if "</" not in text:
        return Regions([])
    return Regions(_survey(text, _ANY_ROOT).thinking)


def _choose(blocks: list[Block]) -> Block | None:
    for block in reversed(blocks):
        if block.why is None:
            return block
    return None


def _indented_by_host(text: str, block: Block) -> bool:
    line_start = text.rfind("\n", 0, block.start) + 1
    indentation = text[line_start : block.start]
    if not indentation or not indentation.isspace():
        return False
    return HAND_BACK in text[: block.start] or common_indentation(text) > 1


def _holds_escaped_root(text: str, roots: Roots) -> bool:
    if "&lt;" not in text:
        return False
    names = "|".join(re.escape(name) for name in roots.names)
    return re.search(rf"&lt;(?:[A-Za-z_][\w.\-]*+:)?(?:{names})(?![\w.\-:])", text, re.IGNORECASE) is not None


# Landmarks


@lru_cache(maxsize=64)
def _landmarks(names: tuple[str, ...], *, hidden: bool, thinking: bool, prefixed: bool) -> re.Pattern[str]:
    """Return the pattern for the roots called `names` and for those other landmarks that the text holds at all."""
    parts = [r"!--|!\[CDATA\["] if hidden else []
    if thinking:
        parts.append(
            rf"(?P<ends>/)?(?P<thinking>{_any_case('think')}(?:{_any_case('ing')})?|{_any_case('reasoning')})"
            r"(?=[\s/>])[^<>]*>"
        )
    prefix = r"(?P<prefix>[A-Za-z_][\w.\-]*+:)?" if prefixed else "(?P<prefix>)"
    roots = "|".join(_any_case(name) for name in names)
    parts.append(rf"(?P<closes>/)?{prefix}(?P<root>{roots})(?![\w.\-:])")
    return re.compile(f"<(?:{'|'.join(parts)})")


def _any_case(word: str) -> str:
    """Return a pattern for `word` in any case; several times faster than the flag, which slows every character."""
    return "".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else re.escape(c) for c in word)


@dataclass(slots=True)
class _Landscape:
    openers: list[_Tag]
    closers: list[_Tag]
    thinking: list[tuple[int, int]]
    hidden: list[tuple[int, int]]


def _survey(text: str, roots: Roots) -> _Landscape:
    """Collect the landmarks of `text` in one pass; mentions inside inline code are left out."""
    seen = _Landscape([], [], [], [])
    code = _InlineCode(text)
    lower = text.lower()
    pattern = _landmarks(
        roots.names,
        hidden="<!" in text,
        # Without an end tag there is no thinking block, only a mention (D-02).
        thinking="</think" in lower or "</reasoning" in lower,
        prefixed=roots.prefixed.search(lower) is not None,
    )
    thinking_since: int | None = None
    hidden_until = 0
    for mark in pattern.finditer(text):
        start = mark.start()
        if code.covers(start):
            continue
        groups = mark.groupdict()
        if groups["root"]:
            name = groups["root"].lower()
            if groups["closes"] is None:
                seen.openers.append(_Tag(name, start, mark.end()))
            elif (end := _end_of_tag(text, mark.end())) is not None:
                seen.closers.append(_Tag(name, start, end))
        elif not groups.get("thinking"):
            if start >= hidden_until:
                end = text.find("-->" if mark[0] == "<!--" else "]]>", mark.end())
                hidden_until = len(text) if end < 0 else end + 3
                if end >= 0:
                    seen.hidden.append((start, hidden_until))
        elif groups["ends"] is None:
            thinking_since = start if thinking_since is None else thinking_since
        else:
            # A closer without an opener ends thinking that began with the text (D-02).
            seen.thinking.append((0 if thinking_since is None else thinking_since, mark.end()))
            thinking_since = None
    return seen


def _end_of_tag(text: str, name_end: int) -> int | None:
    """Return the end of an end tag whose name ends at `name_end`, None when more than blanks is before its `>`."""
    if text.startswith(">", name_end):
        return name_end + 1
    end = text.find(">", name_end, name_end + _END_TAG_WINDOW)
    return end + 1 if end >= 0 and not text[name_end:end].strip() else None


class Regions:
    """Stretches of a text, those that overlap made one."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        """Take (start, end) of each stretch, in any order."""
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(spans):
            if self._ends and start < self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._starts.append(start)
                self._ends.append(end)

    def hold(self, start: int, end: int) -> bool:
        """Return whether one of the stretches reaches from `start` to `end`."""
        index = bisect_right(self._starts, start) - 1
        return index >= 0 and end <= self._ends[index]


class _InlineCode:
    """Tells whether an offset lies in inline code; ask in rising order, so that each line is looked at once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._none = "`" not in text
        self._line_end = -1
        self._spans = Regions([])

    def covers(self, offset: int) -> bool:
        """Return whether `offset` lies between two runs of backticks of one length on its line."""
        if self._none:
            return False
        if offset >= self._line_end:
            line_start = self._text.rfind("\n", max(self._line_end, 0), offset) + 1
            line_start = max(line_start, self._line_end, 0)
            end = self._text.find("\n", offset)
            self._line_end = len(self._text) if end < 0 else end
            self._spans = Regions(_code_spans(self._text, line_start, self._line_end))
        return self._spans.hold(offset, offset + 1)


def _code_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the code spans of one line after CommonMark: a run of backticks up to the next run of that length."""
    if text.find("`", start, end) < 0:
        return
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


# Blocks


def _find_blocks(text: str, roots: Roots) -> list[Block]:
    """Return all blocks in order of their start, each with the reason why it cannot be chosen, if there is one.

    Tags inside comments and CDATA are no tags of an envelope (D-04). Where that leaves nothing to choose, the comment
    may be none (prose mentions `<!--` too), so the tags are paired once more as if there were no comments.
    """
    seen = _survey(text, roots)
    hidden = Regions(seen.hidden)
    if not seen.hidden:
        return _judged(_blocks_of(text, seen.openers, seen.closers, roots), seen, hidden)
    quoted = _blocks_of(text, *_inside(seen, hidden), roots)
    blocks = _blocks_of(text, *_outside(seen, hidden), roots)
    blocks = _judged([*blocks, *(block for block in quoted if block.complete)], seen, hidden)
    if _choose(blocks) is None:
        blocks = _judged(_blocks_of(text, seen.openers, seen.closers, roots), seen, hidden)
    return blocks


def _inside(seen: _Landscape, regions: Regions) -> tuple[list[_Tag], list[_Tag]]:
    openers = [tag for tag in seen.openers if regions.hold(tag.start, tag.end)]
    return openers, [tag for tag in seen.closers if regions.hold(tag.start, tag.end)]


def _outside(seen: _Landscape, regions: Regions) -> tuple[list[_Tag], list[_Tag]]:
    openers = [tag for tag in seen.openers if not regions.hold(tag.start, tag.end)]
    return openers, [tag for tag in seen.closers if not regions.hold(tag.start, tag.end)]


def _blocks_of(text: str, openers: list[_Tag], closers: list[_Tag], roots: Roots) -> list[Block]:
    """Return the blocks that these tags make: complete ones, and a cut-off one behind them."""
    blocks: list[Block] = []
    for name in roots.names:
        own = [tag for tag in openers if tag.name == name]
        pairs = list(_pairs(text, own, [tag for tag in closers if tag.name == name]))
        blocks.extend(Block(root=name, start=opener.start, end=closer.end) for opener, closer in pairs)
        rest = pairs[-1][1].end if pairs else 0
        blocks.extend(_cut_off(text, name, [tag for tag in own if tag.start >= rest], roots))
        blocks.extend(_cut_off_in_name(text, name))
    return blocks


def _pairs(text: str, openers: list[_Tag], closers: list[_Tag]) -> Iterator[tuple[_Tag, _Tag]]:
    """Pair each run of start tags with the run of end tags that follows it.

    Of several start tags the last one that looks like a tag is taken, the others are mentions (D-04); of several end
    tags the first that ends markup, the others are mentions in prose.
    """
    o = c = 0
    while o < len(openers):
        while c < len(closers) and closers[c].start < openers[o].start:
            c += 1
        if c == len(closers):
            return
        first_closer = closers[c]
        run = o
        while o < len(openers) and openers[o].start < first_closer.start:
            o += 1
        opener = _likeliest(text, openers[run:o])
        until = openers[o].start if o < len(openers) else len(text)
        ends = []
        while c < len(closers) and closers[c].start < until:
            ends.append(closers[c])
            c += 1
        yield opener, next((end for end in ends if _ends_markup(text, end.start)), first_closer)


def _likeliest(text: str, openers: list[_Tag]) -> _Tag:
    if len(openers) == 1:
        return openers[0]
    return next((tag for tag in reversed(openers[-_TAGS_LOOKED_AT:]) if _opens_markup(text, tag)), openers[-1])


def _opens_markup(text: str, tag: _Tag) -> bool:
    """Return whether another tag follows the start tag, as in an envelope and unlike in prose."""
    end = text.find(">", tag.end, tag.end + _START_TAG_WINDOW)
    if end < 0:
        return False
    following = re.compile(r"\s*").match(text, end + 1)
    return following is not None and text.startswith("<", following.end())


def _ends_markup(text: str, at: int) -> bool:
    """Return whether the last thing before `at` is the end of a tag."""
    while at > 0 and text[at - 1].isspace():
        at -= 1
    return at > 0 and text[at - 1] == ">"


def _cut_off(text: str, name: str, openers: list[_Tag], roots: Roots) -> Iterator[Block]:
    """Yield the last start tag without an end tag, if it is more than a mention (D-16)."""
    for tag in reversed(openers[-_TAGS_LOOKED_AT:]):
        if _begins_line(text, tag.start) and _child_follows(text, tag, roots.child_tags):
            yield Block(root=name, start=tag.start, end=_end_of_cut_off(text, tag.start), complete=False)
            return


def _cut_off_in_name(text: str, name: str) -> Iterator[Block]:
    """Yield the beginning of a root's name that stands alone on the last line: the text stops inside the start tag."""
    start = text.rfind("\n", -_LINE_WINDOW) + 1
    last = text[start:].strip()
    if 1 < len(last) <= len(name) and f"<{name}".startswith(last.lower()):
        at = text.index("<", start)
        yield Block(root=name, start=at, end=len(text), complete=False)


def _begins_line(text: str, at: int) -> bool:
    line_start = text.rfind("\n", max(0, at - _LINE_WINDOW), at) + 1
    if line_start == 0 and at > _LINE_WINDOW:
        return False
    return _BEFORE_ROOT.match(text, line_start, at) is not None


_CHILD = re.compile(r"\s*+(?:<!--(?>.*?-->)\s*+)*+<([A-Za-z_][\w.\-:]*+)?", re.DOTALL)


def _child_follows(text: str, tag: _Tag, child_tags: frozenset[str]) -> bool:
    """Return whether one of the protocol's child tags follows, as far as the text goes."""
    end = text.find(">", tag.end, tag.end + _START_TAG_WINDOW)
    if end < 0:
        # Cut off inside the start tag itself: nothing but attributes up to the end of the text.
        return len(text) - tag.end < _START_TAG_WINDOW and "\n\n" not in text[tag.end :]
    rest = text[end + 1 : end + 1 + _START_TAG_WINDOW]
    if not rest.strip():
        return True
    child = _CHILD.match(rest)
    if child is None:
        return False
    written = (child[1] or "").lower().rpartition(":")[2]
    if child.end() == len(rest):
        return any(known.startswith(written) for known in child_tags)
    return written in child_tags


def _end_of_cut_off(text: str, start: int) -> int:
    """Return the end of a cut-off block: the fence that closes around it, else the end of the text."""
    for fence in fence_spans(text):
        if fence[0] <= start < fence[1]:
            return fence[1]
    return len(text)


def _judged(blocks: list[Block], seen: _Landscape, hidden: Regions) -> list[Block]:
    """Return the blocks in order with the reasons why some may not be chosen.

    What lies inside a complete block is content and no candidate (D-05); a cut-off block counts only if it may be
    chosen.
    """
    if len(blocks) == 1 and not seen.thinking and not seen.hidden:
        return blocks
    thinking = Regions(seen.thinking)
    judged: list[Block] = []
    reach = 0
    for block in sorted(blocks, key=lambda each: each.start):
        if block.end <= reach:
            continue
        why = None
        if thinking.hold(block.start, block.end):
            why = THINKING
        elif hidden.hold(block.start, block.end):
            why = COMMENT
        if block.complete:
            reach = block.end
        if block.complete or why is None:
            judged.append(replace(block, why=why))
    return judged

"""Find the envelope in a reply: every block that looks like one, and which of them counts.

The last complete block outside a thinking block counts (D-02), unless a cut-off one follows it
(D-16).
"""

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from goop_mcp.validation.fences import common_indentation
from goop_mcp.validation.hosts import HAND_BACK, unescape
from goop_mcp.validation.pairing import Block, blocks_of
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.quotes import hide_unspoken
from goop_mcp.validation.rules import Problem
from goop_mcp.validation.safe_json import load_object, pair_braces
from goop_mcp.validation.scanner import Regions, Roots, ScanResult, Tag, scan
from goop_mcp.validation.thoughts import OPEN_THINKING, THINKING, thoughts

__all__ = [
    "CHOSEN",
    "CODE",
    "COMMENT",
    "CUT_OFF",
    "EARLIER",
    "OPEN_THINKING",
    "THINKING",
    "Block",
    "Extraction",
    "Regions",
    "Roots",
    "extract",
    "spoken_apart",
]

_ANY_ROOT = Roots(names=("goop_report",), child_tags=frozenset())
_JSON_DEPTH = 64
_BLOCKS_LOOKED_AT = 64

CUT_OFF = "cut off before its end; a later cut-off envelope counts instead of an earlier whole one"
CHOSEN = "the last complete envelope outside thinking blocks"
EARLIER = "an earlier envelope; the last one counts"
COMMENT = "inside a comment or CDATA section"
CODE = "inside inline code"
JSON_STRING = "inside a string of a JSON object"


class Extraction(Struct, kw_only=True):
    """All blocks of a text in order, the chosen one, and whether a host had changed the text.

    `remarks` are what a family noticed while it searched, also where it chose nothing; their
    offsets count from the start of the text read.
    """

    source: SourceText
    blocks: tuple[Block, ...]
    chosen: Block | None
    host_transformed: bool = False
    remarks: tuple[Problem, ...] = ()


def extract(source: SourceText, roots: Roots, *, most: int) -> Extraction:
    """Return every block of `roots` in `source` (the last `most` of them) and the one that counts.

    If no literal block is found, a text that a host had XML-escaped is unescaped once and searched
    again (D-09).
    """
    text = source.read
    blocks = _find_blocks(text, roots)
    chosen = _choose(blocks)

    # Only a brace before the chosen block can open an object around it. Decoding is postponed to
    # here because few replies contain both.
    if chosen is not None and "{" in text[: chosen.start]:
        blocks = list(_outside_json(text, blocks))
        chosen = _choose(blocks)

    transformed = False
    if chosen is None and source.read is source.given and "&" in text and "&lt;" in text:
        names = "|".join(re.escape(name) for name in roots.names)
        escaped_root = rf"&lt;(?:[A-Za-z_][\w.\-]*+:)?(?:{names})(?![\w.\-:])"
        if re.search(escaped_root, text, re.IGNORECASE) is not None:
            unescaped = unescape(text)
            retried = _find_blocks(unescaped.read, roots)
            if (found := _choose(retried)) is not None:
                source, blocks, chosen, transformed = unescaped, retried, found, True

    if chosen is not None and not transformed:
        # A host that indents a reply indents all of its lines, or says that it handed it back.
        indentation = text[text.rfind("\n", 0, chosen.start) + 1 : chosen.start]
        transformed = indentation.isspace() and (
            HAND_BACK in text[: chosen.start] or common_indentation(text) > 1
        )

    return Extraction(
        source=source, blocks=tuple(blocks[-most:]), chosen=chosen, host_transformed=transformed
    )


def _outside_json(text: str, blocks: list[Block]) -> Iterator[Block]:
    """Yield the blocks, marking those in a string of a JSON object as content (D-05).

    Each object is decoded once, whatever number of blocks it contains.
    """
    braces = pair_braces(text)
    loaded: dict[tuple[int, int], bool] = {}
    for block in blocks:
        span = None if block.why is not None else braces.around(block.start, block.end)
        if span is not None and span not in loaded:
            loaded[span] = load_object(text[slice(*span)], depth=_JSON_DEPTH) is not None

        yield replace(block, why=JSON_STRING) if span is not None and loaded[span] else block


def _choose(blocks: list[Block]) -> Block | None:
    # Agents draft first and correct themselves later, so the last block is the answer.
    for block in reversed(blocks):
        if block.why is None:
            return block
    return None


def _find_blocks(text: str, roots: Roots) -> list[Block]:
    """Return all blocks in order of their start, with the reasons why some cannot be chosen.

    Tags inside comments and CDATA do not belong to an envelope (D-04). If that leaves nothing to
    choose, the comment may not be a comment (prose mentions `<!--` too), so the tags are paired
    once more as if there were no comments.
    """
    seen = scan(text, roots)
    if not seen.hidden:
        blocks = blocks_of(text, seen.openers, seen.closers, roots)
        if len(blocks) > 1:
            blocks = _judged(blocks, Regions([]))
    else:
        hidden = Regions(seen.hidden)
        quoted = blocks_of(text, *_split(seen, hidden, inside=True), roots)
        visible = blocks_of(text, *_split(seen, hidden, inside=False), roots)
        blocks = _judged([*visible, *(each for each in quoted if each.complete)], hidden)
        if _choose(blocks) is None:
            blocks = _judged(blocks_of(text, seen.openers, seen.closers, roots), hidden)

    blocks = [block for block in hide_unspoken(text, blocks) if block.complete or block.why is None]
    if seen.in_code and _choose(blocks) is None:
        # Complete envelopes in inline code are listed but never chosen (D-04).
        for tag in seen.in_code[-_BLOCKS_LOOKED_AT:]:
            line_end = text.find("\n", tag.end)
            end = text.find(f"</{tag.name}>", tag.end, len(text) if line_end < 0 else line_end)
            if end >= 0:
                end += len(tag.name) + 3
                blocks.append(Block(root=tag.name, start=tag.start, end=end, why=CODE))

    return blocks


def _split(seen: ScanResult, hidden: Regions, *, inside: bool) -> tuple[list[Tag], list[Tag]]:
    """Return the start and end tags that are inside `hidden`, or else those that are not."""
    openers = [tag for tag in seen.openers if hidden.hold(tag.start, tag.end) is inside]
    return openers, [tag for tag in seen.closers if hidden.hold(tag.start, tag.end) is inside]


def _judged(blocks: list[Block], hidden: Regions) -> list[Block]:
    """Return the blocks in order with the reasons why some may not be chosen.

    A block inside a complete one is content and not a candidate (D-05); a cut-off block counts only
    if it may be chosen.
    """
    judged: list[Block] = []
    reach = 0
    for block in sorted(blocks, key=lambda each: each.start):
        if block.end <= reach:
            continue

        why = COMMENT if hidden.hold(block.start, block.end) else None
        if block.complete:
            reach = block.end
        if block.complete or why is None:
            judged.append(replace(block, why=why))

    return judged


def spoken_apart(text: str) -> Regions:
    """Return the ranges that do not belong to an answer: thinking, comments, CDATA sections."""
    hidden = scan(text, _ANY_ROOT).hidden if "<!" in text else []
    return Regions([*thoughts(text), *hidden])

"""The position of a request in its prompt: its fence, what else is in it, other XML blocks."""

import re
from collections.abc import Iterator, Sequence

from goop_mcp.protocols.agent_request.rules.placement import (
    FENCE_COLLISION,
    FENCE_LANGUAGE,
    MULTIPLE_REQUESTS,
    UNFENCED,
)
from goop_mcp.structs import DataStruct
from goop_mcp.validation import xml_rules
from goop_mcp.validation.envelope_rules import FOREIGN_BLOCK
from goop_mcp.validation.extraction import Block
from goop_mcp.validation.fences import fence_spans
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.rules import Problem

__all__ = ["Fence", "find_fences", "foreign_blocks", "placement_problems", "shares_fence"]

_MARKDOWN = frozenset({"markdown", "md"})
_LANGUAGE = re.compile(r"[A-Za-z0-9]*")
# What may precede the root of a document: blanks, processing instructions, comments, a DOCTYPE.
# Atomic groups give up at once where one of them is never closed.
_NO_ELEMENT = r"(?>(?:\s|<\?(?>.*?\?>)|<!--(?>.*?-->)|<!DOCTYPE[^\[<>]*+(?:\[[^\]]*+\]\s*+)?>)*)"
_ROOT = re.compile(
    rf"{_NO_ELEMENT}<(?:[A-Za-z_][\w.\-]*:)?([A-Za-z_][\w.\-]*)", re.DOTALL | re.IGNORECASE
)
_BLANK = re.compile(_NO_ELEMENT, re.DOTALL | re.IGNORECASE)


class Fence(DataStruct, frozen=True):
    """A fenced block: the span of its content and the first word of its opening, in lower case."""

    start: int
    end: int
    language: str

    def holds(self, offset: int) -> bool:
        """Return whether `offset` lies in the content."""
        return self.start <= offset < self.end


def find_fences(text: str) -> tuple[Fence, ...]:
    """Return the fences of `text` in order; a Markdown fence is replaced by those inside it."""
    return tuple(_fences(text, 0))


def _fences(text: str, base: int) -> Iterator[Fence]:
    for start, end, info in fence_spans(text):
        match = _LANGUAGE.match(info)
        language = match[0].lower() if match is not None else ""
        # A request is often shown inside an example of a Markdown file: the inner fence is the one
        # that decides, so that a prompt wrapped as a whole is not reported as marked with the wrong
        # language.
        inside = tuple(_fences(text[start:end], base + start)) if language in _MARKDOWN else ()
        yield from inside or (Fence(base + start, base + end, language),)


def foreign_blocks(text: str, fences: Sequence[Fence]) -> list[Problem]:
    """Return a problem for each `xml` fence whose root is not a request (D-10)."""
    problems = []
    for fence in fences:
        root = _ROOT.match(text, fence.start, fence.end) if fence.language == "xml" else None
        if root is not None and root[1].lower() != "agent_request":
            shown = excerpt(root[1], 60)
            message = f"an xml block with the root <{shown}> is not a handoff; ignored"
            problems.append(
                FOREIGN_BLOCK.problem(message, offset=root.start(1) - 1, found=f"<{shown}>")
            )

    return problems


def shares_fence(block: Block, others: Sequence[Block], fences: Sequence[Fence]) -> Block | None:
    """Return another request in the same fence as `block`, None when there is none (D-11)."""
    fence = _fence_of(block, fences)
    if fence is None:
        return None
    return next(
        (other for other in others if other is not block and fence.holds(other.start)), None
    )


def placement_problems(
    text: str, block: Block, others: Sequence[Block], fences: Sequence[Fence]
) -> list[Problem]:
    """Return what is wrong with the place of `block`; offsets count from its start.

    `others` are the other complete requests in the prompt.
    """
    problems = []
    fence = _fence_of(block, fences)
    if fence is None:
        tag = excerpt(text[block.start : block.start + 60].partition("\n")[0], 60)
        message = "the request stands outside a fence; expected a fence marked xml around it"
        problems.append(UNFENCED.problem(message, offset=0, before=tag, after=f"````xml\n{tag}"))
    else:
        problems += _fence_problems(text, block, fence)

    if others:
        lines = ", ".join(str(text.count("\n", 0, each.start) + 1) for each in others[:8])
        message = f"{len(others) + 1} requests in one prompt, others on line {lines}; expected one"
        problems.append(MULTIPLE_REQUESTS.problem(message, offset=0))

    return problems


def _fence_of(block: Block, fences: Sequence[Fence]) -> Fence | None:
    return next((fence for fence in fences if fence.holds(block.start)), None)


def _fence_problems(text: str, block: Block, fence: Fence) -> Iterator[Problem]:
    opening = text[text.rfind("\n", 0, fence.start - 1) + 1 : fence.start - 1].strip()
    run = opening[: len(opening) - len(opening.lstrip("`~"))]
    at = fence.start - 1 - len(opening) - block.start
    if fence.language != "xml":
        marked = f"as {fence.language}" if fence.language else "without a language"
        message = f"the fence around the request is marked {marked}; expected xml"
        yield FENCE_LANGUAGE.problem(
            message,
            offset=at,
            found=excerpt(opening, 40),
            before=excerpt(opening, 40),
            after=f"{run}xml",
        )

    # Declarations, comments and a DOCTYPE may precede a root; only text and elements may not.
    before = _BLANK.match(text, fence.start, block.start)
    if before is not None and before.end() < block.start:
        message = "text in the fence before <agent_request>; expected the request and nothing else"
        yield xml_rules.MALFORMED.problem(message, offset=before.end() - block.start)
    if block.complete and block.end > fence.end:
        message = "a fence inside the request closes the outer one; read up to </agent_request>"
        yield FENCE_COLLISION.problem(
            message,
            offset=fence.end - block.start,
            before=excerpt(opening, 40),
            after=f"{run[:1] * 4}xml",
        )
        return

    # The fence is one document (D-11), and nothing follows the root of a document.
    after = _BLANK.match(text, block.end, fence.end) if block.complete else None
    if after is not None and after.end() < fence.end:
        message = (
            "extra content at the end of the document: text in the fence after </agent_request>;"
            " expected none"
        )
        yield xml_rules.MALFORMED.problem(message, offset=after.end() - block.start)

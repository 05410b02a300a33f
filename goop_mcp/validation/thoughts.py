"""Find thinking in a reply, which is not part of the answer, by vendors' marks (D-02, D-92)."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from goop_mcp.validation.fences import fence_spans
from goop_mcp.validation.pairing import Block
from goop_mcp.validation.scanner import InlineCode, Regions

__all__ = ["OPEN_THINKING", "THINKING", "hide_thoughts", "thoughts"]

THINKING = "inside a thinking block"
OPEN_THINKING = "after the beginning of a thinking block that is never closed"

_TAGS = "(?:longcat_)?think|thinking|thoughts?|reasoning|analysis|reflection|scratchpad"
_MARK = re.compile(
    rf"<(?P<ends>/)?(?:[A-Za-z][\w.-]{{0,40}}:)?(?P<tag>{_TAGS})(?=[\s/>])[^<>]*+>"
    r"|(?P<bracket>\[/?THINK\]|◁/?think▷)"
    r"|<\|(?P<special>/?think(?:ing)?|(?:begin|end)_of_thought|(?:START|END)_THINKING)\|>"
    r"|(?:<\|start\|>\w{1,40})?<\|channel\|>\s*+(?P<channel>\w+)"
    r"|(?P<message><\|(?:end|return|call|start)\|>)"
    r"|(?P<gemma><\|channel>thought|<channel\|>)",
    re.IGNORECASE,
)
# What the marks begin with after `<`, `/`, `:`, `_`, `[` or `◁`, in lower case.
_WORDS = ("think", "thought", "reasoning", "analysis", "reflection", "scratchpad")
_BEFORE_WORDS = frozenset("</:_[◁")
_MANY_WORDS = 50
# These names have other uses, so only an end tag of the same name closes them.
_OWN_NAME = frozenset({"analysis", "reflection", "scratchpad"})
# The rest of channels after a host removed their marks.
_BARE_CHANNELS = ("analysis", "assistantfinal")
_WINDOW = 200
_HOST_TAGS = ("<result>", "<task_result>")


class _Mark(NamedTuple):
    """A place where thinking begins or ends; only marks of one kind form a pair."""

    kind: str
    opens: bool
    start: int
    end: int


class _Thought(NamedTuple):
    start: int
    end: int
    closed: bool = True


def hide_thoughts(text: str, blocks: list[Block]) -> list[Block]:
    """Return `blocks`, which are in order, with a reason on those inside thinking.

    Marks within a complete block are part of its content.
    """
    if not blocks:
        return blocks
    # Many a reply is its envelope and nothing else.
    only = blocks[0]
    if len(blocks) == 1 and only.complete:
        before, after = text[: only.start], text[only.end :]
        if (not before or before.isspace()) and (not after or after.isspace()):
            return blocks

    found = list(_thoughts(text, [(block.start, block.end) for block in blocks if block.complete]))
    if not found:
        return blocks

    closed = Regions((thought.start, thought.end) for thought in found if thought.closed)
    still_open = Regions((thought.start, thought.end) for thought in found if not thought.closed)
    hidden: list[Block] = []
    for block in blocks:
        why = OPEN_THINKING if still_open.hold(block.start, block.end) else block.why
        why = THINKING if closed.hold(block.start, block.end) else why
        hidden.append(replace(block, why=why))

    return hidden


def thoughts(text: str) -> list[tuple[int, int]]:
    """Return the ranges of `text` that are thinking."""
    return [(thought.start, thought.end) for thought in _thoughts(text, ())]


def _thoughts(text: str, content: Sequence[tuple[int, int]]) -> Iterator[_Thought]:
    """Yield the ranges of thinking; marks inside `content` and inline code do not count.

    An end without a beginning ends thinking that began with the text. A beginning without an end
    makes all that follows a thought, up to the end of its fence; within a sentence it is a mention.
    """
    if text.startswith(_BARE_CHANNELS[0]) and (final := text.find(_BARE_CHANNELS[1])) >= 0:
        yield _Thought(0, final)

    # Only a mark that begins outside of the content counts, and most replies have little there.
    at, pieces = 0, []
    for start, end in content:
        pieces.append(text[at:start])
        at = end

    pieces.append(text[at:])
    outside = "\n".join(pieces)
    if not outside or outside.isspace() or not _may_have_marks(outside.lower()):
        return

    opened: _Mark | None = None
    regions, code = Regions(content), InlineCode(text)
    for found in _MARK.finditer(text):
        start, end = found.span()
        if found[0].endswith("/>") or regions.hold(start, end) or code.covers(start):
            continue

        mark = _Mark(*_kind(found), start, end)
        if mark.opens:
            # A mention before real thinking is not its beginning.
            if opened is None or not _is_beginning(text, opened):
                opened = mark
        elif opened is not None and opened.kind == mark.kind:
            yield _Thought(opened.start, mark.end)
            opened = None
        # Hosts remove the beginning and leave the end. An end of a channel alone is the start of an
        # answer.
        elif opened is None and mark.kind not in ("channel", "gemma"):
            yield _Thought(0, mark.end)

    if opened is not None and _is_beginning(text, opened):
        # An example of thinking in a fence must not hide the answer below it.
        fences = fence_spans(text)
        end = next((end for start, end, _ in fences if start <= opened.start < end), len(text))
        yield _Thought(opened.start, end, closed=False)


def _may_have_marks(lower: str) -> bool:
    """Return whether a text, in lower case, has to be searched for marks.

    Many texts mention reasons and thinking without a mark. Examining the character before each such
    word takes a tenth of the time of a search; more words than `_MANY_WORDS` are left to the
    search.
    """
    # Single characters first: they are searched with memchr, and without one there is no mark.
    if "<" not in lower and "[" not in lower and "◁" not in lower:
        return False
    if "<" not in lower and "[think" not in lower and "[/think" not in lower and "◁" not in lower:
        return False
    if "<|" in lower or "<channel|>" in lower:
        return True

    for word in _WORDS:
        at = lower.find(word)
        for _ in range(_MANY_WORDS):
            if at < 0:
                break
            if at > 0 and lower[at - 1] in _BEFORE_WORDS:
                return True

            at = lower.find(word, at + 1)
        else:
            return True

    return False


def _kind(found: re.Match[str]) -> tuple[str, bool]:
    """Return the kind of a mark, and whether thinking begins with it."""
    if found["tag"]:
        name = found["tag"].lower()
        return name if name in _OWN_NAME else "think", not found["ends"]
    if found["channel"]:
        return "channel", found["channel"].lower() != "final"
    if found["message"]:
        return "channel", False
    if found["gemma"]:
        return "gemma", found["gemma"].startswith("<|")

    # Some vendors close with a slash, others with another word.
    mark = found["bracket"] or found["special"]
    return "think", "/" not in mark and not mark.lower().startswith("end")


def _is_beginning(text: str, mark: _Mark) -> bool:
    """Return whether a mark is at the very start of the reply, or alone on its line.

    Only a window around it is examined, because there may be as many marks as characters on one
    line.
    """
    # A byte order mark counts as nothing: files that were pasted begin with it.
    before = text[max(mark.start - _WINDOW, 0) : mark.start].lstrip("\ufeff")
    at_start = mark.start <= _WINDOW and not before.strip()
    if at_start or before.rstrip().endswith(_HOST_TAGS):
        return True

    _, line_end, indentation = before.rpartition("\n")
    if not line_end or indentation.strip():
        return False

    after = text[mark.end : mark.end + _WINDOW].partition("\n")[0]
    return mark.kind in ("channel", "gemma") or not after.strip()

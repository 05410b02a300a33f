"""Recognize what hosts change in a reply before its caller sees it, and undo it (D-09)."""

import re
from collections.abc import Iterator

from goop_mcp.validation.escaping import INVISIBLE
from goop_mcp.validation.positions import SourceText

__all__ = [
    "HAND_BACK",
    "after_envelope",
    "host_tail",
    "is_host_line",
    "may_be_wrapped",
    "unescape",
]

HAND_BACK = "[Subagent hand-back]"

_ENTITY = re.compile(r"&(?:lt|gt|quot|apos|amp|#39|#34);")
_CHARACTERS = {
    "&lt;": "<",
    "&gt;": ">",
    "&quot;": '"',
    "&apos;": "'",
    "&amp;": "&",
    "&#39;": "'",
    "&#34;": '"',
}
_HOST_LINE = re.compile(
    r"\s*+(?:agentId:[^\n]*+|\[Subagent hand-back\][^\n]*+"
    r"|<usage>(?:(?:[^<]|<(?!/usage>)){0,2000}</usage>|[^\n]*+)"
    r"|</?(?:task-notification|task_result|result|task)\b[^<>\n]*+>)[ \t]*+(?=\n|\r|<|$)"
)
_HOST_LINE_START = re.compile(
    r"^[ \t]*(?=agentId:|<usage>|</(?:task-notification|task_result|result|task)>)", re.MULTILINE
)
_OWN_JSON = re.compile(r'\{\s*"(?:agent|status)"')
_WRAPPING_KEY = re.compile(
    r'"(?:result|text|content|attempt_completion|complete_task|SubagentHandback)"'
)
_BEGINNING = 200
_LINES_LOOKED_AT = 8
_CLOSING_FENCE = re.compile(r"\s*+(?:`{3,}+|~{3,}+)[ \t]*+(?=\r?\n|$)")
_BLANKS = re.compile(rf"(?>(?:\s|{INVISIBLE.pattern})*)")


def is_host_line(line: str) -> bool:
    """Return whether a host, not the agent, wrote `line`."""
    return _HOST_LINE.match(line) is not None


def after_envelope(text: str, end: int) -> int | None:
    """Return the offset of the first text after an envelope that ends at `end`, None if none.

    White space, closing fences and the lines that a host adds do not count as text (D-03, D-08,
    D-09).
    """
    at = end
    while True:
        found = _CLOSING_FENCE.match(text, at) or _HOST_LINE.match(text, at)
        # A pattern that matches nothing would never end the loop.
        if found is None or found.end() == at:
            break

        at = found.end()

    rest = _BLANKS.match(text, at)
    at = at if rest is None else rest.end()

    return at if at < len(text) else None


def host_tail(text: str, after: int) -> int:
    """Return where the lines begin that a host added at the end of `text`, not before `after`.

    Without such lines it is the end of `text`.
    """
    starts = [line.start() for line in _HOST_LINE_START.finditer(text, after)][-_LINES_LOOKED_AT:]
    return next((start for start in starts if after_envelope(text, start) is None), len(text))


def unescape(text: str) -> SourceText:
    """Undo one level of XML escaping and record the origin of each character."""
    read = _ENTITY.sub(lambda entity: _CHARACTERS[entity[0]], text)
    return SourceText(text, read, _shifts(text))


# A generator, because a list would take ten times the memory of the arrays it goes into.
def _shifts(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the text continues after each entity, unescaped and as given."""
    removed = 0
    for entity in _ENTITY.finditer(text):
        end = entity.end()
        removed += end - entity.start() - 1
        yield end - removed, end


def may_be_wrapped(text: str) -> bool:
    """Whether `text` may be JSON around a reply; excludes nearly every reply at little cost."""
    begin = text[:_BEGINNING].lstrip()
    if begin.startswith('"'):
        return True
    # A reply in JSON begins with its agent or its status.
    return (
        begin.startswith(("{", "["))
        and _OWN_JSON.match(begin) is None
        and _WRAPPING_KEY.search(text) is not None
    )

"""Recognize what hosts change in a reply before its caller sees it, and undo it (D-09, D-95)."""

import re
from collections.abc import Iterator

from goop_mcp.validation.escaping import INVISIBLE
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.safe_json import JsonValue, decode_object

__all__ = [
    "HAND_BACK",
    "after_envelope",
    "host_tail",
    "is_host_line",
    "take_out_of_json",
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
_RESULT_LINE = re.compile(r'"type"\s{0,8}:\s{0,8}"result"')
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


# Replies in a host's JSON

_ONLY_RESULT = re.compile(r'\{\s{0,99}"result"')


def take_out_of_json(text: str) -> SourceText | None:
    """Return the reply that a host wrapped in its own JSON, None if it did not (D-95).

    Known are the result of `claude -p --output-format json`, the last line of `stream-json`, and an
    object whose only key is `result`. Only one level is removed: JSON inside the reply is its
    content.
    """
    # The first character excludes nearly every reply, before any search of the text.
    start = len(text) - len(text.lstrip())
    if not text.startswith(("{", "["), start) or '"result"' not in text:
        return None
    # A reply with its own result, as in speckit, does not have to be decoded for this.
    if _ONLY_RESULT.match(text, start) is None and _RESULT_LINE.search(text) is None:
        return None
    if (whole := decode_object(text, start)) is not None and not text[whole[1] :].strip():
        return _result_in(text, start, whole[0])

    # A stream, whose lines are objects with a type, has the reply in the last of them.
    last = text.rstrip().rfind("\n") + 1
    first, result = decode_object(text, start), decode_object(text, last)
    if (
        first is None
        or result is None
        or _RESULT_LINE.search(text, last) is None
        or "type" not in first[0]
    ):
        return None

    return _result_in(text, last, result[0])


def _result_in(text: str, start: int, value: JsonValue) -> SourceText | None:
    """Return the reply in the object or list that begins at `start`."""
    pointer, holder = "/result", value
    if isinstance(value, list):
        pointer, holder = f"/{len(value) - 1}/result", value[-1] if value else {}
    if not isinstance(holder, dict):
        return None

    result = holder.get("result")
    if not isinstance(result, str | dict):
        return None

    # Few replies need these modules.
    from goop_mcp.validation.json_positions import nearest_position  # noqa: PLC0415
    from goop_mcp.validation.json_strings import text_of_string  # noqa: PLC0415

    # An object with a status is a reply itself and not that of a host.
    is_result = holder.get("type") == "result" and "status" not in holder
    if isinstance(result, str) and (is_result or len(holder) == 1):
        return text_of_string(text, start + nearest_position(text[start:], pointer))
    if isinstance(result, dict) and len(holder) == 1 and holder is value:
        at = start + nearest_position(text[start:], pointer)
        inner = decode_object(text, at)
        return None if inner is None else SourceText(text, text[at : inner[1]], [(0, at)])

    return None

"""Take a reply out of the JSON that a host or framework put around it (D-95).

One level is removed, whatever kind it is: JSON inside the reply is its content.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from goop_mcp.validation.json_positions import nearest_position
from goop_mcp.validation.json_strings import text_of_string
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.safe_json import decode_object

__all__ = ["Unwrapped", "take_out_of_json"]

_CALLS: Final = frozenset({"attempt_completion", "complete_task", "SubagentHandback"})
_ARGUMENTS: Final = ("arguments", "input", "args", "parameters", "params")
_TEXTS: Final = ("result", "report", "message", "text")
_BLOCK_TYPES: Final = frozenset({"text", "output_text", "input_text"})
_LINES_LOOKED_AT: Final = 2_000
# Each place is searched from the beginning of its JSON.
_MOST_TEXTS: Final = 16


class Unwrapped(NamedTuple):
    """A reply without the JSON around it.

    `error` is how that JSON says that the run failed, such as "error_max_turns"; None if it does
    not.
    """

    source: SourceText
    error: str | None = None


def take_out_of_json(text: str) -> Unwrapped | None:
    """Return the reply that a host wrapped in JSON of its own, None if it did not.

    Known are the results of `claude -p` (json and stream-json), the events of `codex exec --json`
    and `opencode run --format json`, content blocks and MCP results, calls such as
    `attempt_completion`, a message of an assistant, an object whose only key is `result`, and a
    JSON string. Linear.
    """
    start = len(text) - len(text.lstrip())
    if text.startswith('"', start):
        return _string(text, start)

    whole = decode_object(text, start)
    if whole is None:
        return None
    if not text[whole[1] :].strip():
        return _around(text, start, whole[0])
    first: object = whole[0]
    return _in_events(text) if isinstance(first, dict) and "type" in first else None


def _string(text: str, start: int) -> Unwrapped | None:
    """Return the reply that is the content of the JSON string at `start`."""
    end = len(text.rstrip())
    source = text_of_string(text, start)
    # The string has to be all of the text: prose may begin with a quotation mark.
    closed = text[end - 1] == '"' and source.origin(len(source.read)) == end - 1
    # What stands in quotation marks without being written as JSON is prose.
    is_json = source.read.lstrip().startswith(("{", "<")) or "\\" in text[start:end]
    if not closed or "\n" in text[start:end] or not is_json:
        return None
    return Unwrapped(source)


def _around(text: str, start: int, value: object) -> Unwrapped | None:
    """Return the reply in `value`, the JSON that begins at `start` and ends the text."""
    if isinstance(value, list):
        results = [each for each in value if isinstance(each, dict) and _is_result(each)]
        if results and results[-1] is value[-1]:
            return _at(text, start, [f"/{len(value) - 1}/result"], _error_of(results[-1]))
        return _at(text, start, list(_blocks(value, "")))
    if not isinstance(value, dict):
        return None

    if _is_result(value):
        return _at(text, start, ["/result"], _error_of(value))
    for pointer, holder in (
        ("", value),
        ("/message", value.get("message")),
        # The answer to a call of the protocol MCP.
        ("/result", value.get("result") if "jsonrpc" in value else None),
    ):
        if not isinstance(holder, dict):
            continue
        if isinstance(holder.get("content"), list):
            listed = list(_blocks(holder["content"], f"{pointer}/content"))
            return _at(text, start, listed, _error_of(holder) or _error_of(value))
        if holder.get("role") == "assistant" and isinstance(holder.get("content"), str):
            return _at(text, start, [f"{pointer}/content"], _error_of(value))

    place, _ = _text_of_event(value)
    if place is not None:
        return _at(text, start, [place])
    return _in_call(text, start, value)


def _is_result(value: Mapping[str, object]) -> bool:
    """Whether the object is the result of a run, or has nothing but a result."""
    result = value.get("result")
    # An object with a status is a reply itself and not that of a host.
    of_run = value.get("type") == "result" and "status" not in value
    return (isinstance(result, str) and (of_run or len(value) == 1)) or (
        isinstance(result, dict) and len(value) == 1
    )


def _error_of(value: Mapping[str, object]) -> str | None:
    if value.get("is_error") is not True and value.get("isError") is not True:
        return None
    subtype = value.get("subtype")
    return subtype[:100] if isinstance(subtype, str) else "an error"


def _blocks(blocks: Sequence[object], pointer: str) -> Iterator[str]:
    """Yield where the texts of content blocks are."""
    for number, block in enumerate(blocks):
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            return
        if block["type"] in _BLOCK_TYPES and isinstance(block.get("text"), str):
            yield f"{pointer}/{number}/text"


def _in_call(text: str, start: int, value: Mapping[str, object]) -> Unwrapped | None:
    """Return the reply in the arguments of a call with which agents end their work."""
    # Some interfaces put the call into an object of its own.
    function = value.get("function")
    pointer = "/function" if isinstance(function, dict) else ""
    value = function if isinstance(function, dict) else value
    if not any(
        value.get(key) in _CALLS for key in ("name", "tool") if isinstance(value.get(key), str)
    ):
        return None

    for name in (*_ARGUMENTS, "result"):
        given = value.get(name)
        if isinstance(given, str):
            found = _at(text, start, [f"{pointer}/{name}"])
            # Some interfaces give the arguments as JSON in a string.
            inner = decode_object(found.source.read, 0) if found is not None else None
            if found is None or inner is None or not isinstance(inner[0], dict):
                return found
            own = _arguments(found.source.read, 0, inner[0], "")
            return None if own is None else Unwrapped(_composed(found.source, own.source))
        if isinstance(given, dict):
            return _arguments(text, start, given, f"{pointer}/{name}")

    return None


def _arguments(
    text: str, start: int, given: Mapping[str, object], pointer: str
) -> Unwrapped | None:
    """Return the reply in the arguments at `pointer`: a text in them, or they themselves."""
    name = next((each for each in _TEXTS if isinstance(given.get(each), str)), None)
    if name is not None and "status" not in given:
        return _at(text, start, [f"{pointer}/{name}"])
    return _at(text, start, [pointer])


def _in_events(text: str) -> Unwrapped | None:
    """Return the reply in events, one JSON object on each line: that of the last message."""
    end = len(text.rstrip())
    message: object = None
    places: list[tuple[int, str]] = []
    for number in range(_LINES_LOOKED_AT):
        begin = text.rfind("\n", 0, end) + 1
        decoded = decode_object(text, begin)
        event: object = None if decoded is None else decoded[0]
        # What stands after the events is no part of them, but of a text that shows them.
        if not isinstance(event, dict):
            break
        if number == 0 and _is_result(event):
            return _at(text, begin, ["/result"], _error_of(event), one_line=True)

        pointer, of = _text_of_event(event)
        if pointer is not None:
            if places and (of is None or of != message or len(places) == _MOST_TEXTS):
                break
            places.insert(0, (begin, pointer))
            message = of

        end = begin - 1
        if end < 0:
            break

    found = [_at(text, begin, [pointer], one_line=True) for begin, pointer in places]
    sources = [each.source for each in found if each is not None]
    return Unwrapped(_joined(text, sources)) if sources else None


def _text_of_event(event: Mapping[str, object]) -> tuple[str | None, object]:
    """Return where the text of the agent is in an event, and of which message it is a part."""
    item, part = event.get("item"), event.get("part")
    if event.get("type") == "item.completed" and isinstance(item, dict):
        is_message = item.get("type") == "agent_message" and isinstance(item.get("text"), str)
        return ("/item/text" if is_message else None), None
    if event.get("type") == "text" and isinstance(part, dict):
        return ("/part/text" if isinstance(part.get("text"), str) else None), part.get("messageID")

    return None, None


def _at(
    text: str,
    start: int,
    pointers: Sequence[str],
    error: str | None = None,
    *,
    one_line: bool = False,
) -> Unwrapped | None:
    """Return the texts at `pointers` of the JSON that begins at `start`, as one reply."""
    if not pointers:
        return None

    # Of events, each of which has a line, only this one.
    line_end = text.find("\n", start)
    value = text[start:] if line_end < 0 or not one_line else text[start:line_end]
    places = [start + nearest_position(value, each) for each in pointers[-_MOST_TEXTS:]]
    if text[places[0]] == "{":
        end = decode_object(text, places[0])
        if end is None:
            return None
        return Unwrapped(SourceText(text, text[places[0] : end[1]], [(0, places[0])]), error)

    return Unwrapped(_joined(text, [text_of_string(text, place) for place in places]), error)


def _joined(text: str, sources: Sequence[SourceText]) -> SourceText:
    """Return several parts of `text` as one, with a line feed between them."""
    if len(sources) == 1:
        return sources[0]

    shifts: list[tuple[int, int]] = []
    length = 0
    for source in sources:
        shifts += [(length + at, origin) for at, origin in source.shifts]
        length += len(source.read) + 1

    return SourceText(text, "\n".join(source.read for source in sources), shifts)


def _composed(outer: SourceText, inner: SourceText) -> SourceText:
    """Return what `inner` reads in what `outer` reads, with its places in the given text."""
    # Between two shifts of either the distance is constant.
    starts = {at for at, _ in inner.shifts}
    starts.update(at for shift, _ in outer.shifts if (at := inner.offset_of(shift)) is not None)
    shifts = [(at, outer.origin(inner.origin(at))) for at in sorted(starts)]
    return SourceText(outer.given, inner.read, shifts)

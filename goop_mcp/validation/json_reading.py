"""Read one JSON envelope: unchanged if possible, repaired if necessary, partially if cut off."""

import json
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from msgspec import Struct, field

from goop_mcp.validation import json_rules
from goop_mcp.validation.edits import edit_problems
from goop_mcp.validation.envelope_rules import ROOT_NOT_CLOSED, TOO_DEEP, TOO_LARGE, TRUNCATED
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.hosts import after_envelope
from goop_mcp.validation.json_extraction import JsonObject, unwrapped
from goop_mcp.validation.json_positions import nearest_position
from goop_mcp.validation.json_repair import Ending, read_loosely
from goop_mcp.validation.limits import Limits, utf8_length
from goop_mcp.validation.rules import Problem
from goop_mcp.validation.safe_json import JsonObjectValue, JsonValue, nesting

__all__ = ["JsonLocator", "ParsedJson", "ParsedValues", "read_json", "written"]

M = TypeVar("M")
_SHOWN = 40
_DEPTH = 128
_LOOKUPS = 8  # looking up more pointers one by one costs more than one full pass with all positions


class ParsedValues(Struct, Generic[M]):
    """What a family's reader made of the values; `whole`: every required part is present."""

    model: M
    problems: list[Problem]
    whole: bool


class ParsedJson(Struct, Generic[M]):
    """A model or None, and all problems found, with offsets from the start of the object.

    `partial` marks a model of an envelope that was cut off. `values` are those of the envelope
    after all repairs.
    """

    locator: "JsonLocator"
    model: M | None = None
    problems: list[Problem] = field(default_factory=list)
    partial: bool = False
    values: JsonObjectValue | None = None

    @property
    def repaired(self) -> str | None:
        """The envelope as JSON after all repairs, None if it had none or could not be read."""
        if self.partial or self.values is None or self.model is None:
            return None
        has_repairs = any(problem.hit.before is not None for problem in self.problems)
        return written(self.values) if has_repairs else None


class JsonLocator:
    """Finds JSON pointers in the source of an object.

    `positions` are those of all values if they are known. If not, the source is valid JSON: the
    first few pointers are looked up one by one, and for more of them the source is read once to
    record the position of each value.
    """

    def __init__(
        self, source: str, prefix: str = "", *, positions: Mapping[str, int] | None = None
    ) -> None:
        """`prefix` is the pointer of the envelope in the source, "" without a wrapper."""
        self._source = source
        self._prefix = prefix
        self._positions = positions
        self._lookups = _LOOKUPS

    def locate(self, path: str, found: str | None) -> int | None:
        """Return the offset of the value at `path`, or of the nearest object around it."""
        del found
        pointer = self._prefix + path
        if self._positions is None:
            if self._lookups > 0:
                self._lookups -= 1
                return nearest_position(self._source, pointer)

            self._positions = read_loosely(self._source, depth=_DEPTH).positions

        while pointer and pointer not in self._positions:
            pointer = pointer.rpartition("/")[0]

        return self._positions.get(pointer)


def written(values: JsonObjectValue) -> str:
    """Return `values` as JSON, indented by two spaces."""
    return json.dumps(values, indent=2, ensure_ascii=False)


def read_json(
    found: JsonObject,
    text: str,
    limits: Limits,
    *,
    name: str,
    read_values: Callable[[JsonObjectValue], ParsedValues[M]],
) -> ParsedJson[M]:
    """Read the object `found` in `text` with the family's `read_values`.

    `name` is the key of a wrapper.
    """
    source = text[found.start : found.end]
    # Before anything walks through the values.
    refused = _over_limits(found, source, limits)
    if refused is not None:
        return ParsedJson(JsonLocator("", positions={}), problems=[refused])

    values = found.value
    if values is None:
        return ParsedJson(JsonLocator("", positions={}))

    # Some models put the answer under the name of its schema.
    inner = unwrapped(values, name)
    prefix = "" if inner is values else f"/{next(iter(values))}"
    # Plain JSON has no positions yet: a reply without problems never needs them.
    positions = None if found.loose is None else found.loose.positions
    parsed: ParsedJson[M] = ParsedJson(JsonLocator(source, prefix, positions=positions))
    parsed.values = inner
    if (loose := found.loose) is not None:
        if (failure := loose.failure) is not None:
            if failure.too_deep:
                message = f"{failure.message}; no envelope needs that"
                parsed.problems = [TOO_DEEP.problem(message, offset=failure.offset)]
            else:
                parsed.problems = [
                    json_rules.MALFORMED.problem(
                        f"no JSON: {failure.message}", offset=failure.offset
                    )
                ]

            return parsed

        # Edits come first, since the values below are those after them.
        parsed.problems = edit_problems(loose.edits, source, most=limits.findings)
        for pointer, offset in loose.doubled:
            key = pointer.rpartition("/")[2]
            message = f"key {excerpt(key, _SHOWN)!r} stands twice in one object; expected it once"
            parsed.problems.append(
                json_rules.DUPLICATE_KEY.problem(
                    message, path=pointer, offset=offset, found=excerpt(key)
                )
            )

    if inner is not values or found.encoded:
        parsed.problems += _form_problems(found, name, wrapped=inner is not values)

    read = read_values(inner)
    parsed.model = read.model
    if found.complete:
        parsed.problems += read.problems
        return parsed

    return _close_or_cut_off(parsed, read, found, text)


def _form_problems(found: JsonObject, name: str, *, wrapped: bool) -> list[Problem]:
    """Return what is odd about the place of an object: inside of another one, or of a text."""
    problems: list[Problem] = []
    if wrapped:
        message = (
            f"the envelope stands inside of an object with the key {name!r}; expected it alone"
        )
        problems.append(
            json_rules.LOOSE_SYNTAX.problem(
                message, offset=0, before=f'{{"{name}": {{…}}}}', after="{…}"
            )
        )

    if found.encoded:
        message = (
            "the envelope is written as a text; expected the object itself, without quotes around"
            " it"
        )
        problems.append(
            json_rules.LOOSE_SYNTAX.problem(message, offset=0, before='"{\\"…\\"}"', after='{"…"}')
        )

    return problems


def _close_or_cut_off(
    parsed: ParsedJson[M], read: ParsedValues[M], found: JsonObject, text: str
) -> ParsedJson[M]:
    """Add the last brace if the model ended its block itself; otherwise report a cut-off (D-16).

    Without the closing fence it is unknown whether members were still to come: a critic's reply
    that stops before its verdict looks complete.
    """
    source = text[found.start : found.end].rstrip()
    end = max(len(source) - 1, 0)
    only_root = found.loose is not None and found.loose.ending is Ending.ROOT_OPEN
    # The model closed its fence: it had nothing more to say.
    ended = text[found.end : found.end + _SHOWN].lstrip(" \t").startswith(("```", "~~~"))
    if only_root and ended and read.whole and after_envelope(text, found.end) is None:
        # Only the last line is shown as changed, whatever the length of the envelope.
        last = source[-_SHOWN:].rpartition("\n")[2]
        problem = ROOT_NOT_CLOSED.problem(
            "the last brace is missing; everything else is there",
            offset=end,
            before=last,
            after=f"{last}\n}}",
            fix="End the envelope with }.",
        )
        parsed.problems += [*read.problems, problem]
        return parsed

    line = text.count("\n", 0, found.start + len(source)) + 1
    inside = found.loose.inside.rpartition("/")[2] if found.loose is not None else ""
    where = f", inside {excerpt(inside, _SHOWN)!r}" if inside else ""
    message = f"the envelope is cut off at line {line}{where}; expected a brace at its end"
    parsed.partial = True
    parsed.problems = [TRUNCATED.problem(message, offset=end)]

    return parsed


def _over_limits(found: JsonObject, source: str, limits: Limits) -> Problem | None:
    # Each limit is first compared with an upper bound that C code counts in the source. The values
    # are only walked if that bound exceeds the limit, which a clean reply never does.
    if len(source) > limits.field_bytes:
        if (size := utf8_length(source, limits.envelope_bytes)) > limits.envelope_bytes:
            return TOO_LARGE.problem(
                f"the envelope has {size:,} bytes; expected at most {limits.envelope_bytes:,}"
            )

        texts = (each for each in _leaves(found.value) if isinstance(each, str))
        size = max((utf8_length(each, len(each)) for each in texts), default=0)
        if size > limits.field_bytes:
            return TOO_LARGE.problem(
                f"one text has {size:,} bytes; expected at most {limits.field_bytes:,}", offset=0
            )

    if (
        len(source) > limits.elements
        and source.count(",") + 1 > limits.elements
        and (values := len(_leaves(found.value))) > limits.elements
    ):
        return TOO_LARGE.problem(
            f"the envelope has {values:,} values; expected at most {limits.elements:,}", offset=0
        )

    brackets = source.count("{") + source.count("[")
    if (
        brackets > limits.depth
        and nesting(source) > limits.depth
        and _depth(found.value, limits.depth) > limits.depth
    ):
        return TOO_DEEP.problem(
            f"objects and lists are nested over {limits.depth} levels deep", offset=0
        )

    return None


def _leaves(value: JsonValue) -> "list[JsonValue]":
    """Return everything in `value`, keys included, without recursion."""
    found: list[JsonValue] = []
    todo: list[JsonValue] = [value]

    # A stack of our own: hostile values nest deeper than Python calls may.
    while todo:
        each = todo.pop()
        found.append(each)
        if isinstance(each, dict):
            found += each
            todo += each.values()
        elif isinstance(each, list):
            todo += each

    return found


def _depth(value: JsonValue, enough: int) -> int:
    """Return how deep `value` is nested, counting at most to `enough` + 1."""
    level: list[JsonValue] = [value]
    depth = 0

    while level and depth <= enough:
        containers = [each for each in level if isinstance(each, dict | list)]
        depth += 1 if containers else 0
        level = [
            inner
            for each in containers
            for inner in (each.values() if isinstance(each, dict) else each)
        ]

    return depth

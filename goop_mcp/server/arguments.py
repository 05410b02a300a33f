"""Read the arguments of a tool call as models send them, and describe what is wrong with them.

Models and hosts send `"12"` for 12, `"true"` for true, a JSON text for a list or an object, and one
value for a list of one. Each is read only where it has one meaning, and never where the argument
takes text itself: a reply that is JSON stays a text. The errors are one line an argument, for
models to fix.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from mcp.server.mcpserver.tools import Tool
from pydantic import BaseModel, JsonValue, ValidationError

from goop_mcp.server.answers import without_secrets
from goop_mcp.server.message_limits import MOST_VALUES, values_in
from goop_mcp.validation.findings import counted_noun, excerpt

__all__ = ["argument_errors", "as_meant", "has_unknown_names"]

_Place = tuple[int | str, ...]
_Schema = Mapping[str, JsonValue]

# Half of a character outside of the first plane of Unicode. JSON can write it, no encoding can.
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# Names are cut before they are compared; a longer one resembles no argument.
_LONGEST_NAME = 200
# Digits; nobody means a number with more.
_LONGEST_NUMBER = 30
# Characters of a text that are searched for secrets before its excerpt is shown.
_LONGEST_SHOWN = 1_000
# Finding the nearest known name and redacting secrets takes 50 µs a name, on the event loop.
_REPORTED_UNKNOWN = 20
_MOST_UNKNOWN = 100
_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}
_EXPECTED = {
    "string": "a string",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
# Beyond it a double stands for several whole numbers.
_LARGEST_WHOLE = 2**53


def as_meant(tool: Tool, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return `arguments` with each value in the type that its argument takes (D-102).

    A value with more than one reading, or none, stays as it is: the errors then name it. null for
    an argument with a default, which does not take null, counts as left out.
    """
    known, meant = _known(tool), dict[str, JsonValue]()
    # Each argument is read by itself: one that cannot be read leaves the others usable.
    for name, value in arguments.items():
        schema = known.get(name)
        read = value if schema is None else _as_meant(value, schema)
        is_left_out = (
            read is None
            and schema is not None
            and "default" in schema
            and "null" not in _by_type(schema)
        )
        if not is_left_out:
            meant[name] = read

    return meant


def _as_meant(value: JsonValue, schema: _Schema) -> JsonValue:
    by_type = _by_type(schema)
    if not by_type:
        # It takes any value.
        return value
    if not _fits(value, by_type):
        value = _converted(value, by_type)

    # A list of an argument with several alternatives, of which only one takes lists.
    if isinstance(value, list) and isinstance(items := by_type.get("array", {}).get("items"), dict):
        return [_as_meant(each, items) for each in value]
    if isinstance(value, dict):
        inside = by_type.get("object", {}).get("properties")
        if isinstance(inside, dict):
            return {
                name: _as_meant(each, known)
                if isinstance(known := inside.get(name), dict)
                else each
                for name, each in value.items()
            }

    return value


def _converted(value: JsonValue, by_type: Mapping[str, _Schema]) -> JsonValue:
    """Return `value`, which does not fit, in a type that does; unchanged if it is not clear."""
    text = value if isinstance(value, str) else None
    read = value if text is None else _read(text)
    # JSON has one kind of number; 3.0 is meant as 3, and 3.5 for an integer stays an error.
    if (
        isinstance(read, float)
        and "integer" in by_type
        and read.is_integer()
        and abs(read) < _LARGEST_WHOLE
    ):
        read = int(read)
    if _fits(read, by_type):
        return read

    # What begins like a list or an object was meant as one, and an empty text as none: neither is
    # the one item of a list.
    is_an_item = text is None or (text.strip() != "" and text.lstrip()[0] not in "[{")
    items = by_type.get("array", {}).get("items")
    if isinstance(items, dict) and value is not None:
        item = _as_meant(value, items)
        if _fits(item, _by_type(items)) and (is_an_item or not isinstance(item, str)):
            return [item]

    return value


def _read(text: str) -> JsonValue:
    """Return the JSON value that `text` is, else `text`."""
    # A short message may hold a long text of many values, which nobody has counted yet.
    if values_in(text.encode(errors="replace")) > MOST_VALUES:
        return text

    # What Python prints for a boolean: models that write code send it.
    plain = text.strip()
    if plain in ("True", "False"):
        return plain == "True"

    try:
        value: JsonValue = json.loads(
            plain, object_pairs_hook=_without_repeats, parse_constant=_refuse
        )
    except (ValueError, RecursionError):
        return text

    return value


def _without_repeats(members: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(members)
    if len(values) < len(members):
        raise ValueError("a key stands twice, and nobody knows which is meant")
    return values


def _refuse(constant: str) -> JsonValue:
    raise ValueError(f"{constant} is not valid JSON")


def _by_type(schema: _Schema) -> dict[str, _Schema]:
    """Return the alternatives of `schema` by their types; empty if one takes any value."""
    branches = _branches(schema)
    if not all(isinstance(each.get("type"), str) for each in branches):
        return {}
    return {str(each["type"]): each for each in branches}


def _fits(value: JsonValue, by_type: Mapping[str, _Schema]) -> bool:
    types = by_type.keys()
    match value:
        case None:
            return "null" in types
        case bool():
            return "boolean" in types
        case int():
            return "integer" in types or "number" in types
        case float():
            return "number" in types
        case str():
            return "string" in types
        case list():
            return "array" in types
        case _:
            return "object" in types


def _known(tool: Tool) -> Mapping[str, dict[str, JsonValue]]:
    """Return the schema of each argument with its bounds, which the list of tools leaves out."""
    # Not `tool.parameters`, which is what clients are shown: it has been shortened.
    return _properties(tool.fn_metadata.arg_model)


@lru_cache(maxsize=256)
def _properties(model: type[BaseModel]) -> Mapping[str, dict[str, JsonValue]]:
    properties: Mapping[str, dict[str, JsonValue]] = model.model_json_schema().get("properties", {})
    return properties


def has_unknown_names(tool: Tool, arguments: Mapping[str, JsonValue]) -> bool:
    """Whether `arguments` hold a name that `tool` does not have, which the SDK drops silently."""
    return not arguments.keys() <= _known(tool).keys()


def argument_errors(tool: Tool, arguments: Mapping[str, JsonValue]) -> list[str]:
    """Return every error in `arguments`, unknown names first; empty when the tool can be run."""
    known = _known(tool)
    listed: Mapping[str, JsonValue] = tool.parameters.get("properties", {})
    # All are counted before one is described, as a client may send a million.
    unknown = [name for name in arguments if name not in known]
    if len(unknown) > _MOST_UNKNOWN:
        return [
            f"{counted_noun(len(unknown), 'argument')}"
            f" {'is' if len(unknown) == 1 else 'are'} unknown to {tool.name}, "
            f"which takes {', '.join(listed) or 'none'}: send only those"
        ]

    errors = []
    for name in unknown[:_REPORTED_UNKNOWN]:
        near = _nearest(name, known)
        hint = f"did you mean {near!r}? It takes" if near else "it takes"
        takes = ", ".join(listed) or "none"
        if "fields" in known:
            # The rarer fields of a report or handoff are not arguments of their own.
            hint = f"if it is a field, give it in fields, as {{{_shown(name)!r}: ...}}; {hint}"
        errors.append(f"{tool.name} has no argument {_shown(name)!r}; {hint} {takes}")

    if len(unknown) > _REPORTED_UNKNOWN:
        errors.append(
            f"{len(unknown) - _REPORTED_UNKNOWN} more arguments that {tool.name} does not have"
        )

    try:
        tool.fn_metadata.validate_arguments(dict(arguments))
    except ValidationError as error:
        places = [*dict.fromkeys(each["loc"] for each in error.errors(include_url=False))]
        # Of an argument that may be a text or a list, pydantic reports both alternatives: a whole
        # list is left out if its invalid item is among them.
        with_items = {place[0] for place in places if _item_of(place) is not None}
        wrong = [
            place for place in places if place[0] not in with_items or _item_of(place) is not None
        ]
        errors += dict.fromkeys(
            _wrong(str(name), arguments, known[str(name)], inside) for name, *inside in wrong
        )

    return errors


def _item_of(place: Iterable[int | str]) -> int | None:
    return next((each for each in place if isinstance(each, int)), None)


def _wrong(
    name: str,
    arguments: Mapping[str, JsonValue],
    schema: Mapping[str, JsonValue],
    inside: Sequence[int | str],
) -> str:
    """Describe the error in the argument `name`, or in the item of its list at `inside`."""
    if name not in arguments:
        return f"{name} is missing; expected {_expected(schema)}"

    value, place = arguments[name], _item_of(inside)
    items = [items for each in _branches(schema) if isinstance(items := each.get("items"), dict)]
    if isinstance(value, list) and place is not None and items:
        return _unfit(f"{name}[{place}]", value[place], items[0])
    return _unfit(name, value, schema)


def _branches(schema: Mapping[str, JsonValue]) -> list[Mapping[str, JsonValue]]:
    """Return the alternatives that a schema allows, the schema itself where it has none."""
    either = schema.get("anyOf")
    return (
        [each for each in either if isinstance(each, dict)]
        if isinstance(either, list)
        else [schema]
    )


def _unfit(name: str, value: JsonValue, schema: Mapping[str, JsonValue]) -> str:
    """Return one line: the value found, in a few words, and what the schema expects."""
    expected, branches = _expected(schema), _branches(schema)
    listed = [each.get("enum") for each in branches]
    choices = [str(choice) for enum in listed if isinstance(enum, list) for choice in enum]
    takes_numbers = any(each.get("type") in ("integer", "number") for each in branches)

    if isinstance(value, list) and any(isinstance(each.get("maxItems"), int) for each in branches):
        found = f"a list of {len(value):,}"
    elif isinstance(value, int | float) and not isinstance(value, bool) and takes_numbers:
        # Python refuses to write out integers of thousands of digits.
        huge = isinstance(value, int) and abs(value) >= 10**_LONGEST_NUMBER
        found = "a huge number" if huge else f"the number {value}"
    elif not isinstance(value, str):
        found = "null" if value is None else _KINDS[type(value)]
    elif not value.isascii() and _SURROGATE.search(value):
        found = "a string with half a character in it (a lone surrogate)"
    elif choices:
        found = repr(_shown(value))
        near = _nearest(value, choices)
        expected += f"; did you mean {near!r}?" if near else ""
    else:
        found = (
            "a string of 1 character"
            if len(value) == 1
            else f"a string of {len(value):,} characters"
        )

    return f"{name} is {found}; expected {expected}"


def _nearest(given: str, known: Iterable[str]) -> str | None:
    # The time grows with the square of the length, and a client may send names of any length.
    return next(iter(get_close_matches(given[:_LONGEST_NAME], known, n=1)), None)


def _shown(text: str) -> str:
    """Return an excerpt of what the caller sent.

    Secrets are redacted before the cut: half a secret would no longer be recognized.
    """
    return excerpt(without_secrets(text[:_LONGEST_SHOWN]), 60)


def _expected(schema: Mapping[str, JsonValue]) -> str:
    """Return what a JSON schema allows, as the end of a sentence."""
    choices, longest = schema.get("enum"), schema.get("maxLength")
    if isinstance(choices, list):
        return f"one of {', '.join(map(str, choices))}"
    if "anyOf" in schema:
        return " or ".join(map(_expected, _branches(schema)))

    kind = _EXPECTED.get(str(schema.get("type")), "another kind of value")
    most_items, least_items = schema.get("maxItems"), schema.get("minItems")
    if isinstance(most_items, int):
        count = f"{least_items} to {most_items:,}" if least_items else f"at most {most_items:,}"
        return f"{kind} of {count}"
    if isinstance(longest, int):
        return f"{kind} of at most {longest:,} characters"

    # What is left may be a number with bounds.
    least, above, most = (
        schema.get("minimum"),
        schema.get("exclusiveMinimum"),
        schema.get("maximum"),
    )
    low = f" from {least}" if least is not None else f" above {above}" if above is not None else ""
    high = "" if most is None else f" to {most}" if least is not None else f" up to {most}"

    return f"{kind}{low}{high}"

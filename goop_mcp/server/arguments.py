"""Describe the errors in the arguments of a tool call, one line an argument, for models to fix."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from mcp.server.mcpserver.tools import Tool
from pydantic import JsonValue, ValidationError

from goop_mcp.server.answers import without_secrets
from goop_mcp.validation.findings import excerpt

__all__ = ["argument_errors", "has_unknown_names"]

_Place = tuple[int | str, ...]

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_LONGEST_NAME = 200
_LONGEST_NUMBER = 30
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


def has_unknown_names(tool: Tool, arguments: Mapping[str, JsonValue]) -> bool:
    """Whether `arguments` hold a name that `tool` does not have, which the SDK drops silently."""
    return not arguments.keys() <= tool.parameters.get("properties", {}).keys()


def argument_errors(tool: Tool, arguments: Mapping[str, JsonValue]) -> list[str]:
    """Return every error in `arguments`, unknown names first; empty when the tool can be run."""
    known: dict[str, dict[str, JsonValue]] = tool.parameters.get("properties", {})
    unknown = [name for name in arguments if name not in known]
    if len(unknown) > _MOST_UNKNOWN:
        return [
            f"{len(unknown):,} arguments are unknown to {tool.name}, "
            f"which takes {', '.join(known) or 'none'}: send only those"
        ]

    errors = []
    for name in unknown[:_REPORTED_UNKNOWN]:
        near = _nearest(name, known)
        hint = f"did you mean {near!r}? It takes" if near else "it takes"
        takes = ", ".join(known) or "none"
        errors.append(f"{tool.name} has no argument {_shown(name)!r}; {hint} {takes}")

    if len(unknown) > _REPORTED_UNKNOWN:
        errors.append(
            f"{len(unknown) - _REPORTED_UNKNOWN} more arguments that {tool.name} does not have"
        )

    try:
        tool.fn_metadata.validate_arguments(dict(arguments))
    except ValidationError as error:
        wrong = _most_specific(
            dict.fromkeys(each["loc"] for each in error.errors(include_url=False))
        )
        errors += dict.fromkeys(
            _wrong(str(name), arguments, known[str(name)], inside) for name, *inside in wrong
        )

    return errors


def _most_specific(places: Iterable[_Place]) -> list[_Place]:
    """Return the places of errors without a whole list whose invalid item is among them.

    For an argument that may be a text or a list, pydantic reports both alternatives.
    """
    places = list(places)
    with_items = {place[0] for place in places if _item_of(place) is not None}
    return [place for place in places if place[0] not in with_items or _item_of(place) is not None]


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

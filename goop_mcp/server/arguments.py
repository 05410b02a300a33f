"""What is wrong with the arguments of a tool call, in words a model can act on: one line an argument."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from mcp.server.mcpserver.tools import Tool
from pydantic import JsonValue, ValidationError

from goop_mcp.server.answers import without_secrets
from goop_mcp.validation.findings import excerpt

__all__ = ["argument_faults", "has_unknown_names"]

_Place = tuple[int | str, ...]

_LONGEST_NAME = 200
_LONGEST_NUMBER = 30
_LONGEST_SHOWN = 1_000
# Comparing a name with those that there are and taking secrets out of it takes 50 µs, on the event
# loop.
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
    """Say whether `arguments` hold a name that `tool` does not take; the SDK would leave it out without a word."""
    return not arguments.keys() <= tool.parameters.get("properties", {}).keys()


def argument_faults(tool: Tool, arguments: Mapping[str, JsonValue]) -> list[str]:
    """Return every fault of `arguments`, unknown names first; empty when the tool can be run."""
    known: dict[str, dict[str, JsonValue]] = tool.parameters.get("properties", {})
    unknown = [name for name in arguments if name not in known]
    if len(unknown) > _MOST_UNKNOWN:
        return [
            f"{len(unknown):,} arguments are unknown to {tool.name}, "
            f"which takes {', '.join(known) or 'none'}: send only those"
        ]

    faults = [_unknown(name, tool.name, known) for name in unknown[:_REPORTED_UNKNOWN]]
    if len(unknown) > _REPORTED_UNKNOWN:
        faults.append(
            f"{len(unknown) - _REPORTED_UNKNOWN} more arguments that {tool.name} does not have"
        )

    try:
        tool.fn_metadata.validate_arguments(dict(arguments))
    except ValidationError as error:
        wrong = _telling(dict.fromkeys(fault["loc"] for fault in error.errors(include_url=False)))
        faults += dict.fromkeys(
            _wrong(str(name), arguments, known[str(name)], inside) for name, *inside in wrong
        )

    return faults


def _telling(places: Iterable[_Place]) -> list[_Place]:
    """Return the places of faults without those of a whole list of which an item is known to be wrong."""
    places = list(places)
    with_items = {place[0] for place in places if _item_of(place) is not None}
    return [place for place in places if place[0] not in with_items or _item_of(place) is not None]


def _item_of(place: Iterable[int | str]) -> int | None:
    return next((each for each in place if isinstance(each, int)), None)


def _unknown(name: str, tool: str, known: Mapping[str, object]) -> str:
    near = _nearest(name, known)
    hint = f"did you mean {near!r}? It takes" if near else "it takes"
    return f"{tool} has no argument {_shown(name)!r}; {hint} {', '.join(known) or 'none'}"


def _wrong(
    name: str,
    arguments: Mapping[str, JsonValue],
    schema: Mapping[str, JsonValue],
    inside: Sequence[int | str],
) -> str:
    """Return what is wrong with the argument `name`, or with the item of its list that `inside` begins with."""
    if name not in arguments:
        return f"{name} is missing; expected {_expected(schema)}"

    value = arguments[name]
    place, items = _item_of(inside), _items(schema)
    if isinstance(value, list) and place is not None and items is not None:
        return _unfit(f"{name}[{place}]", value[place], items)
    return _unfit(name, value, schema)


def _items(schema: Mapping[str, JsonValue]) -> Mapping[str, JsonValue] | None:
    """Return the schema of the items of a list, None where there is no list or nothing is said of them."""
    found = [items for each in _branches(schema) if isinstance(items := each.get("items"), dict)]
    return found[0] if found else None


def _branches(schema: Mapping[str, JsonValue]) -> list[Mapping[str, JsonValue]]:
    """Return what a schema allows one of."""
    either = schema.get("anyOf")
    return (
        [each for each in either if isinstance(each, dict)]
        if isinstance(either, list)
        else [schema]
    )


def _unfit(name: str, value: JsonValue, schema: Mapping[str, JsonValue]) -> str:
    expected = _expected(schema)
    choices = _choices(schema)
    if isinstance(value, list) and any(
        isinstance(each.get("maxItems"), int) for each in _branches(schema)
    ):
        found = f"a list of {len(value):,}"
    elif isinstance(value, int | float) and not isinstance(value, bool) and _takes_numbers(schema):
        found = _number(value)
    elif not isinstance(value, str):
        found = "null" if value is None else _KINDS[type(value)]
    elif not value.isascii() and not _is_unicode(value):
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


def _takes_numbers(schema: Mapping[str, JsonValue]) -> bool:
    return any(each.get("type") in ("integer", "number") for each in _branches(schema))


def _number(value: float) -> str:
    # Python refuses to write out numbers of thousands of digits.
    huge = isinstance(value, int) and abs(value) >= 10**_LONGEST_NUMBER
    return "a huge number" if huge else f"the number {value}"


def _choices(schema: Mapping[str, JsonValue]) -> list[str]:
    """Return the words that a schema allows, empty where it lists none."""
    listed = [each.get("enum") for each in _branches(schema)]
    return [str(word) for words in listed if isinstance(words, list) for word in words]


def _nearest(given: str, known: Iterable[str]) -> str | None:
    # Comparing takes time with the square of the length, and nobody bounds what a client sends.
    return next(iter(get_close_matches(given[:_LONGEST_NAME], known, n=1)), None)


def _shown(text: str) -> str:
    """Return a short form of the caller's words; secrets go before the cut, since half of one is no known shape."""
    return excerpt(without_secrets(text[:_LONGEST_SHOWN]), 60)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _expected(schema: Mapping[str, JsonValue]) -> str:
    """Return what a JSON schema allows, as the end of a sentence."""
    choices, longest = schema.get("enum"), schema.get("maxLength")
    if isinstance(choices, list):
        return f"one of {', '.join(map(str, choices))}"
    if "anyOf" in schema:
        return " or ".join(map(_expected, _branches(schema)))

    kind = _EXPECTED.get(str(schema.get("type")), "another kind of value")
    most, least = schema.get("maxItems"), schema.get("minItems")
    if isinstance(most, int):
        return f"{kind} of {least} to {most:,}" if least else f"{kind} of at most {most:,}"
    return (
        f"{kind} of at most {longest:,} characters"
        if isinstance(longest, int)
        else f"{kind}{_range(schema)}"
    )


def _range(schema: Mapping[str, JsonValue]) -> str:
    """Return the bounds of a number as the end of a phrase, empty where there are none."""
    least, above, most = (
        schema.get("minimum"),
        schema.get("exclusiveMinimum"),
        schema.get("maximum"),
    )
    low = f" from {least}" if least is not None else f" above {above}" if above is not None else ""
    high = "" if most is None else f" to {most}" if least is not None else f" up to {most}"

    return f"{low}{high}"

"""What is wrong with the arguments of a tool call, in words a model can act on: one line an argument."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from mcp.server.mcpserver.tools import Tool
from pydantic import JsonValue, ValidationError

from goop_mcp.validation.findings import excerpt

__all__ = ["argument_faults"]

_LONGEST_NAME = 200
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


def argument_faults(tool: Tool, arguments: Mapping[str, JsonValue]) -> list[str]:
    """Return every fault of `arguments`, unknown names first; empty when the tool can be run."""
    known: dict[str, dict[str, JsonValue]] = tool.parameters.get("properties", {})
    faults = [_unknown(name, tool.name, known) for name in arguments if name not in known]
    try:
        tool.fn_metadata.validate_arguments(dict(arguments))
    except ValidationError as error:
        wrong = dict.fromkeys(fault["loc"] for fault in error.errors(include_url=False))
        faults += dict.fromkeys(_wrong(str(name), arguments, known[str(name)], inside) for name, *inside in wrong)
    return faults


def _unknown(name: str, tool: str, known: Mapping[str, object]) -> str:
    near = _nearest(name, known)
    hint = f"did you mean {near!r}? It takes" if near else "it takes"
    return f"{tool} has no argument {excerpt(name, 60)!r}; {hint} {', '.join(known) or 'none'}"


def _wrong(
    name: str, arguments: Mapping[str, JsonValue], schema: Mapping[str, JsonValue], inside: Sequence[int | str]
) -> str:
    """Return what is wrong with the argument `name`, or with the item of its list that `inside` begins with."""
    if name not in arguments:
        return f"{name} is missing; expected {_expected(schema)}"
    value = arguments[name]
    place, items = next((each for each in inside if isinstance(each, int)), None), _items(schema)
    if isinstance(value, list) and place is not None and items is not None:
        return _unfit(f"{name}[{place}]", value[place], items)
    return _unfit(name, value, schema)


def _items(schema: Mapping[str, JsonValue]) -> Mapping[str, JsonValue] | None:
    """Return the schema of the items of a list, None where there is no list or nothing is said of them."""
    either = schema.get("anyOf")
    branches = either if isinstance(either, list) else [schema]
    found = [items for each in branches if isinstance(each, dict) and isinstance(items := each.get("items"), dict)]
    return found[0] if found else None


def _unfit(name: str, value: JsonValue, schema: Mapping[str, JsonValue]) -> str:
    expected = _expected(schema)
    choices = _choices(schema)
    if isinstance(value, list) and isinstance(schema.get("maxItems"), int):
        found = f"a list of {len(value):,}"
    elif not isinstance(value, str):
        found = "null" if value is None else _KINDS[type(value)]
    elif not value.isascii() and not _is_unicode(value):
        found = "a string with half a character in it (a lone surrogate)"
    elif choices:
        found = repr(excerpt(value, 60))
        near = _nearest(value, choices)
        expected += f"; did you mean {near!r}?" if near else ""
    else:
        found = f"a string of {len(value):,} characters"
    return f"{name} is {found}; expected {expected}"


def _choices(schema: Mapping[str, JsonValue]) -> list[str]:
    """Return the words that a schema allows, empty where it lists none."""
    either = schema.get("anyOf")
    branches = either if isinstance(either, list) else [schema]
    listed = [each.get("enum") for each in branches if isinstance(each, dict)]
    return [str(word) for words in listed if isinstance(words, list) for word in words]


def _nearest(given: str, known: Iterable[str]) -> str | None:
    # Comparing takes time with the square of the length, and nobody bounds what a client sends.
    return next(iter(get_close_matches(given[:_LONGEST_NAME], known, n=1)), None)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _expected(schema: Mapping[str, JsonValue]) -> str:
    """Return what a JSON schema allows, as the end of a sentence."""
    choices, longest, either = schema.get("enum"), schema.get("maxLength"), schema.get("anyOf")
    if isinstance(choices, list):
        return f"one of {', '.join(map(str, choices))}"
    if isinstance(either, list):
        return " or ".join(_expected(branch) for branch in either if isinstance(branch, dict))
    kind = _EXPECTED.get(str(schema.get("type")), "another kind of value")
    most = schema.get("maxItems")
    if isinstance(most, int):
        return f"{kind} of at most {most:,}"
    return f"{kind} of at most {longest:,} characters" if isinstance(longest, int) else kind

"""What is wrong with the arguments of a tool call, in words a model can act on: one line an argument."""

from collections.abc import Iterable, Mapping
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
        wrong = dict.fromkeys(str(fault["loc"][0]) for fault in error.errors(include_url=False))
        faults += [_wrong(name, arguments, known[name]) for name in wrong]
    return faults


def _unknown(name: str, tool: str, known: Mapping[str, object]) -> str:
    near = _nearest(name, known)
    hint = f"did you mean {near!r}? It takes" if near else "it takes"
    return f"{tool} has no argument {excerpt(name, 60)!r}; {hint} {', '.join(known) or 'none'}"


def _wrong(name: str, arguments: Mapping[str, JsonValue], schema: Mapping[str, JsonValue]) -> str:
    expected = _expected(schema)
    if name not in arguments:
        return f"{name} is missing; expected {expected}"
    value = arguments[name]
    choices = schema.get("enum")
    if not isinstance(value, str):
        found = "null" if value is None else _KINDS[type(value)]
    elif not value.isascii() and not _is_unicode(value):
        found = "a string with half a character in it (a lone surrogate)"
    elif isinstance(choices, list):
        found = repr(excerpt(value, 60))
        near = _nearest(value, map(str, choices))
        expected += f"; did you mean {near!r}?" if near else ""
    else:
        found = f"a string of {len(value):,} characters"
    return f"{name} is {found}; expected {expected}"


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
    return f"{kind} of at most {longest:,} characters" if isinstance(longest, int) else kind

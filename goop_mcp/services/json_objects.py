"""Parse JSON objects that a person wrote for a command, with errors by position and key."""

import json
from collections.abc import Callable, Mapping

from goop_mcp.errors import UnreadableFileError

__all__ = ["kind_of", "parse_object"]

_KINDS: Mapping[type, str] = {
    bool: "true or false",
    str: "a text",
    list: "a list",
    dict: "an object",
}


def parse_object(
    text: str, name: str, *, holds: str, doubled: Callable[[str], Exception]
) -> Mapping[str, object]:
    """Return the JSON object in `text`, which came from `name`.

    `holds` describes its content, such as "the fields". Raises UnreadableFileError for anything
    else, and the error that `doubled` returns for a duplicate key.
    """
    advice = f"write {holds} as one JSON object"
    if not text.strip():
        raise UnreadableFileError(f"{name} is empty; {advice}")

    # The decoder keeps the last value of a duplicate key without a word, which would hide a typing
    # error of a person.
    def without_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
        values = dict(pairs)
        if len(values) < len(pairs):
            names = [key for key, _ in pairs]
            raise doubled(next(key for key in values if names.count(key) > 1))
        return values

    try:
        values = json.loads(text, object_pairs_hook=without_doubles)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise UnreadableFileError(f"{name} is not valid JSON from {place} on; {advice}") from error
    except RecursionError as error:
        raise UnreadableFileError(f"{name} is nested too deep; {advice}") from error

    if not isinstance(values, dict):
        raise UnreadableFileError(f"{name} is {kind_of(values)}; {advice}")
    return values


def kind_of(value: object) -> str:
    """Return the type of a JSON value for a message, such as "a list"."""
    return "null" if value is None else _KINDS.get(type(value), "a number")

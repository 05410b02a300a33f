"""Find and read JSON objects in a text: linear, bounded in depth, no doubled keys, no numbers that are none."""

import json
import re
from typing import Any

__all__ = ["load_object", "object_spans"]

_TOKEN = re.compile(r'[{}]|"(?:[^"\\\n]|\\.)*+"')


def object_spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of every balanced object that lies in no other one, in order.

    Quotes count inside braces only, and a string ends with its line: prose holds quotation marks of its own. Braces
    that are never closed hide nothing.
    """
    spans: list[tuple[int, int]] = []
    open_braces: list[int] = []
    for token in _TOKEN.finditer(text):
        kind = token[0]
        if kind == "{":
            open_braces.append(token.start())
        elif kind == "}" and open_braces:
            start = open_braces.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, token.end()))
        elif not open_braces:
            continue
    return spans


def load_object(text: str, *, depth: int) -> dict[str, Any] | None:
    """Return the JSON object `text` is; None when it is none, doubles a key, or nests deeper than `depth`."""
    if _nesting(text) > depth:
        return None
    try:
        value = json.loads(text, object_pairs_hook=_without_doubles, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _nesting(text: str) -> int:
    """Return how deep brackets are nested, those in strings included: never too low."""
    deepest = level = 0
    for bracket in re.finditer(r"[\[{}\]]", text):
        level += 1 if bracket[0] in "[{" else -1
        deepest = max(deepest, level)
    return deepest


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key stands twice")
    return values


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")

"""Redact whole structures: JSON values and dataclasses."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import lru_cache
from html import unescape
from typing import Any, Final, TypeVar, cast

from goop_mcp.redaction.known import KnownSecrets
from goop_mcp.redaction.redacting import (
    REDACTED,
    UNSEARCHED,
    Redacted,
    may_hold_secrets,
    redact,
)
from goop_mcp.structs import field_names

__all__ = ["find_secrets", "hide_secrets", "map_texts", "redact_structure", "shareable"]

T = TypeVar("T")
_Change = Callable[[str, str | None], str]

# Neither space nor part of a word: what ends one text never begins a secret with the next one.
_APART: Final = "\n\x01\n"
# A value that is a secret under each name that makes secrets of values.
_EXAMPLE: Final = "=a8Kd92LmQz71Xw4Tn0Vb3Rc6"
# What makes a name one of a secret is at its end.
_LONGEST_NAME: Final = 100
_ESCAPED_QUOTES: Final = ("&quot;", "&apos;", "&#")
# Under these names a verdict has a value of the reply alone.
_VALUES: Final = frozenset({"found", "before", "after"})


def redact_structure(value: T) -> tuple[T, int]:
    """Return a copy of `value` with every text redacted, and the number of replaced places.

    A text under a name such as `password` is replaced completely.
    """
    count = 0
    found = _search_all(value)
    if found.count == 0:
        return map_texts(value, lambda text, _: text), 0
    if found is UNSEARCHED:
        return map_texts(value, lambda *_: REDACTED), found.count

    def hide(text: str, name: str | None) -> str:
        nonlocal count
        found = redact(text)
        if found.count == 0 and _is_secret_by_name(text, name):
            count += 1
            return REDACTED

        count += found.count
        return found.text

    return map_texts(value, hide), count


def shareable(value: T, *given: str) -> T:
    """Return `value` without secrets; `given` are the texts that it was made of.

    A secret that one of them shows is hidden in all of them, also where a message quotes the value
    alone, or only how it begins. Without any secret it is `value` itself.
    """
    known = find_secrets(value, *given)
    return value if known is None else hide_secrets(value, known)


def find_secrets(*values: object) -> KnownSecrets | None:
    """Return the secrets in all texts of `values`; None if they hold none, as nearly always."""
    if _search_all(*values).count == 0:
        return None

    texts: dict[str, None] = {}
    for value in values:
        _gather(value, None, texts)
    return KnownSecrets(_with_plain(texts))


def hide_secrets(value: T, known: KnownSecrets) -> T:
    """Return a copy of `value` without the secrets that are `known`, or that it shows by itself."""

    def hide(text: str, name: str | None) -> str:
        if _is_secret_by_name(text, name):
            return REDACTED
        return known.hide_value(text) if name in _VALUES else known.hide(text)

    return map_texts(value, hide)


def _is_secret_by_name(text: str, name: str | None) -> bool:
    """Whether a text that shows nothing by itself is a secret as an assignment to its name."""
    return (
        name is not None
        and _may_name_secret(name[-_LONGEST_NAME:])
        and redact(f"{name}={text}").text == f"{name}={REDACTED}"
    )


@lru_cache(maxsize=1_024)
def _may_name_secret(name: str) -> bool:
    return may_hold_secrets([f"{name}{_EXAMPLE}"])


def _search_all(*values: object) -> Redacted:
    """Return the result of one search for all texts of `values`."""
    texts: dict[str, None] = {}
    for value in values:
        _gather(value, None, texts)
    return redact(_APART.join(_with_plain(texts)))


def _with_plain(texts: Iterable[str]) -> Iterator[str]:
    """Yield the texts, and what stands in markup once more as it is meant.

    `&quot;password&quot;: &quot;…&quot;` shows its value, and no name of one.
    """
    for text in texts:
        yield text
        if any(mark in text for mark in _ESCAPED_QUOTES):
            yield unescape(text)


# One by one instead of with `map_texts`, as nothing is rebuilt and most values hold no secret.
def _gather(value: Any, name: str | None, texts: dict[str, None]) -> None:  # noqa: ANN401
    """Add every text of `value` to `texts`, and again as it is assigned to a name of secrets."""
    kind = type(value)
    if kind is str:
        texts[value] = None
        if name is not None and _may_name_secret(name[-_LONGEST_NAME:]):
            texts[f"{name}={value}"] = None
    elif kind is tuple or kind is list:
        for each in value:
            _gather(each, name, texts)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            _gather(key, None, texts)
            _gather(each, str(key), texts)
    elif isinstance(value, str):
        if not isinstance(value, Enum):
            _gather(str(value), name, texts)
    else:
        # A named tuple has names for its values too.
        for field in getattr(kind, "_fields", None) or field_names(kind) or ():
            _gather(getattr(value, field), field, texts)


def map_texts(value: T, change: _Change) -> T:
    """Return a copy of `value` with every text replaced by the result of `change`.

    `change` receives the text and the name of its field or key; the name is None for keys and at
    the top. Lists, tuples, mappings and dataclasses are walked; other values are kept.
    """
    return cast("T", _copy(value, None, change))


# The result has the type of `value`, which the type system cannot express here.
def _copy(value: Any, name: str | None, change: _Change) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        return value if isinstance(value, Enum) else change(value, name)
    if isinstance(value, Mapping):
        return {
            _copy(key, None, change): _copy(each, str(key), change) for key, each in value.items()
        }

    if isinstance(value, list):
        return [_copy(each, name, change) for each in value]
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None) or [name] * len(value)
        made = [_copy(each, of, change) for of, each in zip(names, value, strict=True)]
        return tuple(made) if type(value) is tuple else type(value)(*made)
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        return replace(value, **{each: _copy(getattr(value, each), each, change) for each in names})

    return value

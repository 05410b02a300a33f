"""Put our entries into the text of a host's JSON file and take them out again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from goop_mcp.hosts.catalogue import (
    SERVER,
    Element,
    Part,
    ServerEntry,
    command_words,
    is_our_element,
)
from goop_mcp.hosts.jsonc import (
    Document,
    append_element,
    parse,
    remove_element,
    remove_member,
    set_member,
)
from goop_mcp.hosts.launch import Launch, is_ours
from goop_mcp.hosts.targets import ConfigurationError
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workspace.json_text import JsonDefect

__all__ = ["Edited", "add_parts", "parse_configuration", "remove_parts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A file after the change; `written` are the values in it that are ours, `notes` what people should know."""

    text: str
    written: tuple[JsonValue, ...] = ()
    notes: tuple[str, ...] = ()


def parse_configuration(text: str, shown: str) -> Document:
    """Return what a configuration file holds.

    Raises ConfigurationError, which names line and column.
    """
    document = parse(text)
    if isinstance(document, JsonDefect):
        where = f"line {document.line}, column {document.column}"
        raise ConfigurationError(
            f"{shown} cannot be read: {document.message} ({where}); mend it first, it was left as"
            " it is"
        )

    return document


def add_parts(
    text: str,
    parts: Sequence[Part],
    launch: Launch,
    *,
    shown: str,
    known: Sequence[JsonValue],
    replace: bool,
) -> Edited:
    """Return `text` with every part in it. An empty `text` becomes a new object.

    `known` are values that an earlier call has written; they are brought up to date. What somebody
    wrote by hand under the same name is kept, or replaced with `replace`. Raises ConfigurationError
    where a part has no place.
    """
    document = parse_configuration(text, shown)
    is_new = _is_blank(text)
    written: list[JsonValue] = []
    notes: list[str] = []

    for part in parts:
        wanted = part.form(launch)
        try:
            if isinstance(part, ServerEntry):
                document = _with_beside(document, part) if is_new else document
                document, note = _add_server(
                    document, part, wanted, shown=shown, known=known, replace=replace
                )
            else:
                document, note = _add_element(
                    document, part, wanted, shown=shown, known=known, replace=replace
                )
        except TypeError:
            raise _no_place(document, part, shown) from None

        if note:
            notes.append(note)
        elif wanted in known or wanted != _present(parse_configuration(text, shown), part, wanted):
            written.append(wanted)

    return Edited(text=document.text, written=tuple(written), notes=tuple(notes))


def remove_parts(
    text: str,
    parts: Sequence[Part],
    *,
    shown: str,
    known: Sequence[JsonValue] | None,
    before: str | None,
) -> Edited:
    """Return `text` without our parts.

    `known` are the values that were written; None when nobody knows, then all that start goop-mcp
    go. Lists and objects that are empty after it go too, unless `before`, the text before
    installing, had them.
    """
    document = parse_configuration(text, shown)
    earlier = None if before is None else parse(before)
    origin = earlier if isinstance(earlier, Document) else None

    for part in parts:
        if isinstance(part, ServerEntry):
            document = _remove_server(document, part, known)
        else:
            document = _remove_elements(document, part, known)

        document = _prune(document, _container(part), origin, forget_objects=known is not None)

    if known is not None and _is_blank(before or ""):
        document = _without_beside(document, parts)
    return Edited(text=document.text)


def _is_blank(text: str) -> bool:
    return not text.strip("\ufeff \t\r\n")


def _container(part: Part) -> tuple[str, ...]:
    return (part.key,) if isinstance(part, ServerEntry) else part.keys


def _add_server(
    document: Document,
    part: ServerEntry,
    wanted: JsonValue,
    *,
    shown: str,
    known: Sequence[JsonValue],
    replace: bool,
) -> tuple[Document, str]:
    keys = (part.key, SERVER)
    present = document.get(keys)
    if present == wanted:
        return document, ""
    if present is None or present in known or replace:
        return set_member(document, keys, wanted), ""

    line, column = document.place(keys)
    if not is_ours(command_words(present)):
        raise ConfigurationError(
            f"{shown} has another server called {SERVER} (line {line}, column {column}); rename"
            " that one, or put ours in its place with --replace"
        )

    return (
        document,
        (
            f"keeps the entry {SERVER} of line {line}, which was written by hand; --replace puts"
            " ours there"
        ),
    )


def _add_element(
    document: Document,
    part: Element,
    wanted: JsonValue,
    *,
    shown: str,
    known: Sequence[JsonValue],
    replace: bool,
) -> tuple[Document, str]:
    present = document.get(part.keys)
    elements = _elements(present)
    if present is not None and not isinstance(present, list):
        raise _no_place(document, part, shown)
    if wanted in elements:
        return document, ""

    ours = [
        index
        for index, element in enumerate(elements)
        if is_our_element(element) and element != SERVER
    ]
    stale = [index for index in ours if replace or elements[index] in known]
    if ours and not stale:
        return (
            document,
            f"keeps {'.'.join(part.keys)} as it was written by hand; --replace puts ours there",
        )

    for index in reversed(stale):
        document = remove_element(document, part.keys, index)

    return append_element(document, part.keys, wanted), ""


def _remove_server(
    document: Document, part: ServerEntry, known: Sequence[JsonValue] | None
) -> Document:
    keys = (part.key, SERVER)
    present = document.get(keys)
    ours = is_ours(command_words(present)) if known is None else present in known
    return remove_member(document, keys) if present is not None and ours else document


def _remove_elements(
    document: Document, part: Element, known: Sequence[JsonValue] | None
) -> Document:
    elements = _elements(document.get(part.keys))
    for index in reversed(range(len(elements))):
        ours = is_our_element(elements[index]) if known is None else elements[index] in known
        if ours:
            document = remove_element(document, part.keys, index)

    return document


def _prune(
    document: Document, keys: tuple[str, ...], origin: Document | None, *, forget_objects: bool
) -> Document:
    """Remove the value behind `keys`, and what holds it, as long as it is empty and was not there before."""
    for depth in range(len(keys), 0, -1):
        way = keys[:depth]
        value = document.get(way)
        if value not in ([], {}) or (origin is not None and origin.get(way) is not None):
            return document
        if value == {} and not forget_objects:
            return document

        document = remove_member(document, way)

    return document


def _with_beside(document: Document, part: ServerEntry) -> Document:
    for key, value in part.beside:
        document = set_member(document, (key,), value)
    return document


def _without_beside(document: Document, parts: Sequence[Part]) -> Document:
    """Take out what only a new file was given, when nothing else is left in it."""
    beside = dict(pair for part in parts if isinstance(part, ServerEntry) for pair in part.beside)
    if dict(document.value) != beside:
        return document

    for key in beside:
        document = remove_member(document, (key,))

    return document


def _present(document: Document, part: Part, wanted: JsonValue) -> JsonValue:
    """Return what stood at the part's place before: for a list, `wanted` if it was in it."""
    if isinstance(part, ServerEntry):
        return document.get((part.key, SERVER))
    return wanted if wanted in _elements(document.get(part.keys)) else None


def _elements(value: JsonValue) -> list[JsonValue]:
    return list(value) if isinstance(value, list) else []


def _no_place(document: Document, part: Part, shown: str) -> ConfigurationError:
    keys = _container(part)
    line, column = document.place(keys)
    values = (document.get(keys[:depth]) for depth in range(1, len(keys)))
    in_objects = all(value is None or isinstance(value, Mapping) for value in values)
    wrong, wanted = (
        (keys, "a list" if isinstance(part, Element) else "an object")
        if in_objects
        else (keys[:1], "an object")
    )

    return ConfigurationError(
        f"{shown} has {'.'.join(wrong)} that is no {wanted.split()[-1]} (line {line}, column"
        f" {column}); expected {wanted}, mend it first"
    )

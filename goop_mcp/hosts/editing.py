"""Add our entries to the text of a host's JSON file, and remove them."""

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

__all__ = ["Edited", "add_parts", "elements_at", "parse_configuration", "remove_parts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """The text of a changed file.

    `written` are the values in it that are ours; `notes` are sentences for people.
    """

    text: str
    written: tuple[JsonValue, ...] = ()
    notes: tuple[str, ...] = ()


def parse_configuration(text: str, shown: str) -> Document:
    """Return the parsed configuration file; raise ConfigurationError with line and column."""
    document = parse(text)
    if isinstance(document, JsonDefect):
        where = f"line {document.line}, column {document.column}"
        raise ConfigurationError(
            f"{shown} cannot be read: {document.message} ({where}); fix it first, it was not"
            " changed"
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
    """Return `text` with every part in it; an empty `text` becomes a new object.

    `known` are the values that an earlier installation wrote; they are updated. An entry that
    somebody wrote by hand under the same name is kept, or replaced with `replace`. Raises
    ConfigurationError where the text has a value of the wrong type.
    """
    document = parse_configuration(text, shown)
    original = document
    is_new = _is_blank(text)
    written: list[JsonValue] = []
    notes: list[str] = []

    for part in parts:
        wanted = part.form(launch)
        try:
            if isinstance(part, ServerEntry):
                for key, value in part.defaults if is_new else ():
                    document = set_member(document, (key,), value)

                document, note = _add_server(
                    document, part, wanted, shown=shown, known=known, replace=replace
                )
            else:
                document, note = _add_element(
                    document, part, wanted, shown=shown, known=known, replace=replace
                )
        except TypeError:
            raise _wrong_type(document, part, shown) from None

        if note:
            notes.append(note)
            continue

        # A value that was there already without us belongs to its author: uninstall keeps it.
        was_there = (
            original.get((part.key, SERVER)) == wanted
            if isinstance(part, ServerEntry)
            else wanted in elements_at(original, part)
        )
        if wanted in known or not was_there:
            written.append(wanted)

    return Edited(text=document.text, written=tuple(written), notes=tuple(notes))


def elements_at(document: Document, part: Element) -> list[JsonValue]:
    """Return what is in the list to which `part` belongs; nothing where there is no list."""
    value = document.get(part.keys)
    return list(value) if isinstance(value, list) else []


def remove_parts(
    text: str,
    parts: Sequence[Part],
    *,
    shown: str,
    known: Sequence[JsonValue] | None,
    before: str | None,
) -> Edited:
    """Return `text` without our parts.

    `known` are the values that were written. None means that this is not known: then all entries
    that start goop-mcp are removed. Lists and objects that are empty afterwards are removed as
    well, unless `before`, the text before installing, had them.
    """
    document = parse_configuration(text, shown)
    earlier = None if before is None else parse(before)
    origin = earlier if isinstance(earlier, Document) else None

    for part in parts:
        if isinstance(part, ServerEntry):
            present = document.get((part.key, SERVER))
            ours = is_ours(command_words(present)) if known is None else present in known
            if present is not None and ours:
                document = remove_member(document, (part.key, SERVER))
        else:
            elements = elements_at(document, part)
            # From the end: removing an element moves those after it.
            for index in reversed(range(len(elements))):
                element = elements[index]
                if is_our_element(element) if known is None else element in known:
                    document = remove_element(document, part.keys, index)

        document = _prune(document, _container(part), origin, prune_objects=known is not None)

    # A new file received defaults, such as its schema. They go when nothing else is left.
    defaults = dict(
        pair for part in parts if isinstance(part, ServerEntry) for pair in part.defaults
    )
    is_unused = dict(document.value) == defaults
    if known is not None and _is_blank(before or "") and is_unused:
        for key in defaults:
            document = remove_member(document, (key,))

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
            " it, or overwrite it with --replace"
        )

    note = f"keeps the entry {SERVER} of line {line}, written by hand; --replace overwrites it"
    return document, note


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
    elements = elements_at(document, part)
    if present is not None and not isinstance(present, list):
        raise _wrong_type(document, part, shown)
    if wanted in elements:
        return document, ""

    ours = [
        index
        for index, element in enumerate(elements)
        if is_our_element(element) and element != SERVER
    ]
    # Our own older hooks are replaced. Those that somebody wrote by hand stay, even if they differ.
    stale = [index for index in ours if replace or elements[index] in known]
    if ours and not stale:
        return (
            document,
            f"keeps {'.'.join(part.keys)} as written by hand; --replace overwrites it",
        )

    # From the end: removing an element moves those after it.
    for index in reversed(stale):
        document = remove_element(document, part.keys, index)

    return append_element(document, part.keys, wanted), ""


def _prune(
    document: Document, keys: tuple[str, ...], origin: Document | None, *, prune_objects: bool
) -> Document:
    """Remove the value at `keys` and its parents while they are empty and not in `origin`.

    Empty objects are kept unless `prune_objects`.
    """
    for depth in range(len(keys), 0, -1):
        path = keys[:depth]
        value = document.get(path)
        if value not in ([], {}) or (origin is not None and origin.get(path) is not None):
            return document
        if value == {} and not prune_objects:
            return document

        document = remove_member(document, path)

    return document


def _wrong_type(document: Document, part: Part, shown: str) -> ConfigurationError:
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
        f"{shown} has {'.'.join(wrong)} that is not {wanted} (line {line}, column {column}); fix"
        " it first"
    )

"""Elements outside the schema: kept whole, readable by namespace, written back (H-16, D-66)."""

import re
from collections.abc import Iterator, Mapping

from lxml import etree

from goop_mcp.errors import NotWritableError
from goop_mcp.protocols.agent_request.model import Extension
from goop_mcp.validation.escaping import FORBIDDEN
from goop_mcp.validation.xml_values import Element

__all__ = ["STRAY_TEXT", "read_extension", "write_attribute", "write_extension", "write_text"]

STRAY_TEXT = "#text"
"""The name under which text outside of any element is kept."""

_NAME = re.compile(r"[^\W\d][\w.\-]*")
_XML = "http://www.w3.org/XML/1998/namespace"


def read_extension(element: Element, *, parent: str, own: str) -> Extension:
    """Return `element` with its descendants; `own` is the protocol's namespace and counts as none.

    White space between elements is left out unless there are words between them as well.
    """
    return _read(element, parent=parent, own=own)


def _read(element: Element, *, own: str, parent: str = "", mixed: bool = False) -> Extension:
    name = etree.QName(element)
    namespace = None if name.namespace == own else name.namespace
    words = [element.text, *(child.tail for child in element)]
    # White space between elements is layout. Where there is text between them as well, every blank
    # belongs to the content and is kept.
    between = len(element) > 0 and any(word and not word.isspace() for word in words)
    tail = element.tail if mixed and element.tail else ""

    return Extension(
        name=name.localname,
        namespace=namespace,
        text=(element.text or "") if between or not len(element) else "",
        attributes=tuple((str(key), str(value)) for key, value in element.attrib.items()),
        children=tuple(_read(child, own=own, mixed=between) for child in element),
        tail=tail,
        parent=parent,
        prefix=element.prefix if namespace else None,
    )


def write_extension(extension: Extension, declared: Mapping[str | None, str] | None = None) -> str:
    """Return `extension` as XML on one line; `declared` are the namespaces around it by prefix.

    Raises NotWritableError when a name is none or a text holds what XML cannot carry.
    """
    if extension.name == STRAY_TEXT:
        return write_text(extension.text)
    return "".join(_write(extension, dict(declared or {})))


def _write(extension: Extension, declared: dict[str | None, str]) -> Iterator[str]:
    if not _NAME.fullmatch(extension.name):
        raise NotWritableError(
            f"extension {extension.name[:40]!r} is not an element name; use letters, digits, -"
            " and _"
        )

    prefix = extension.prefix if extension.namespace else None
    new: dict[str | None, str] = {}
    # A namespace is declared where the meaning of its prefix changes, and not again below that.
    if declared.get(prefix, "") != (extension.namespace or ""):
        new[prefix] = extension.namespace or ""

    attributes = [
        _attribute(key, value, declared | new, new) for key, value in extension.attributes
    ]
    tag = f"{prefix}:{extension.name}" if prefix else extension.name
    spaces = [
        f" xmlns{f':{key}' if key else ''}={write_attribute(uri)}" for key, uri in new.items()
    ]
    yield f"<{tag}{''.join(spaces)}{''.join(attributes)}>{write_text(extension.text)}"
    for child in extension.children:
        yield from _write(child, declared | new)

    yield f"</{tag}>{write_text(extension.tail)}"


def _attribute(
    key: str, value: str, declared: Mapping[str | None, str], new: dict[str | None, str]
) -> str:
    """Return one attribute; a namespace that has no prefix yet is given one in `new`."""
    name = etree.QName(key)
    if name.namespace is None:
        return f" {name.localname}={write_attribute(value)}"
    if name.namespace == _XML:
        return f" xml:{name.localname}={write_attribute(value)}"

    # The default namespace does not apply to attributes: one in a namespace always needs a prefix.
    known = {**declared, **new}
    prefix = next((each for each, uri in known.items() if each and uri == name.namespace), None)
    if prefix is None:
        prefix = next(f"a{number}" for number in range(len(known) + 1) if f"a{number}" not in known)
        new[prefix] = name.namespace

    return f" {prefix}:{name.localname}={write_attribute(value)}"


def write_text(text: str) -> str:
    """Return `text` escaped. Raises NotWritableError when it holds a control character."""
    if FORBIDDEN.search(text):
        raise NotWritableError(
            f"{text[:40]!r} holds a control character; remove it, XML cannot carry it"
        )

    return (
        # A reader turns a raw carriage return into a line feed; as a reference it is kept.
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
    )


def write_attribute(text: str) -> str:
    """Return `text` as a quoted attribute value."""
    # In attributes, a reader turns line feeds and tabs into blanks unless they are references.
    escaped = write_text(text).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")
    return f'"{escaped}"'

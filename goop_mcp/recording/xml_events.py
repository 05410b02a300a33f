"""Untrusted XML files as events: bounded, without DTD, entities and a tree in memory."""

import codecs
import re
from typing import TYPE_CHECKING, Final, Protocol

from lxml import etree

from goop_mcp.errors import ResultFileError
from goop_mcp.validation.safe_xml import strict_parser

if TYPE_CHECKING:
    # Exists in the type stubs only.
    _ParserTarget = etree.ParserTarget[None]
else:
    _ParserTarget = object

__all__ = ["XmlTarget", "parse_xml"]

_DEPTH: Final = 64
_MOST_ELEMENTS: Final = 2_000_000
_MOST_ATTRIBUTES: Final = 64
_PIECES_BEFORE_ROOT: Final = 100
_CHUNK: Final = 64 * 1024
_MESSAGE_CHARACTERS: Final = 120
_DECLARED: Final = re.compile(rb"<\?xml[^>]{0,80}?encoding=[\"']([A-Za-z0-9._-]{1,40})[\"']")


class XmlTarget(Protocol):
    """What `parse_xml` reports; names are without their namespace."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take the beginning of an element."""

    def end(self, name: str) -> None:
        """Take the end of an element."""


def parse_xml(content: bytes, target: XmlTarget) -> None:
    """Report each element of `content` to `target`.

    Refused are an internal DTD subset, more than 64 levels and 2,000,000 elements. A DOCTYPE that
    only names a DTD, as the writers of Cobertura files put it there, is left out and never loaded.
    Raises ResultFileError.
    """
    text = _as_utf8(content)
    root = _root_of(text)
    parser = strict_parser(target=_Bounded(target))
    try:
        # From the root on: what stands before it can declare nothing then.
        for start in range(root, len(text), _CHUNK):
            parser.feed(text[start : start + _CHUNK])

        parser.close()
    except etree.XMLSyntaxError as error:
        line = text.count(b"\n", 0, root) + (error.lineno or 1)
        raise ResultFileError(
            f"it is not well-formed XML in line {line}:"
            f" {str(error.msg)[:_MESSAGE_CHARACTERS]}; the run may have been cut off"
        ) from None


class _Bounded(_ParserTarget):
    """Counts what the parser reports, so that hostile nesting ends early."""

    def __init__(self, target: XmlTarget) -> None:
        self._target = target
        self._depth = 0
        self._elements = 0

    def start(self, tag: str, attrib: dict[str, str], /) -> None:
        self._depth += 1
        self._elements += 1
        if self._depth > _DEPTH:
            raise ResultFileError(f"its elements are nested deeper than {_DEPTH}")
        if self._elements > _MOST_ELEMENTS or len(attrib) > _MOST_ATTRIBUTES:
            raise ResultFileError(
                f"it has more than {_MOST_ELEMENTS:,} elements, or {_MOST_ATTRIBUTES} attributes"
                " in one"
            )

        # An ampersand in an attribute arrives escaped, because the parser expands no entity.
        self._target.start(
            _local_name(tag), {key: text.replace("&#38;", "&") for key, text in attrib.items()}
        )

    def end(self, tag: str, /) -> None:
        self._depth -= 1
        self._target.end(_local_name(tag))

    def data(self, data: str, /) -> None:
        """Ignore texts: outputs and stack traces, which hold no result."""

    def close(self) -> None:
        """Return nothing, as no tree is built."""


def _local_name(tag: str) -> str:
    """Return the name of an element without its namespace."""
    return tag.rpartition("}")[2]


def _as_utf8(content: bytes) -> bytes:
    """Return `content` in UTF-8, from the encodings that writers of result files use."""
    if content.startswith(codecs.BOM_UTF8):
        return content[len(codecs.BOM_UTF8) :]
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        name = "utf-16"
    else:
        declared = _DECLARED.match(content)
        name = declared[1].decode().lower() if declared is not None else "utf-8"
        if name in {"utf-8", "utf8", "us-ascii", "ascii"}:
            return content
        if name not in {"iso-8859-1", "iso-8859-15", "latin1", "windows-1252", "cp1252"}:
            raise ResultFileError(f"its encoding {name} is not read; write it as UTF-8")

    try:
        return content.decode(name).encode()
    except UnicodeError:
        raise ResultFileError(f"it is not text in {name}; write it as UTF-8") from None


def _root_of(text: bytes) -> int:
    """Return the offset of the root's `<`; refuse whatever declares something before it."""
    at = 0
    for _ in range(_PIECES_BEFORE_ROOT):
        at = len(text) - len(text[at:].lstrip()) if text[at : at + 1].isspace() else at
        if text.startswith(b"<?", at):
            end = text.find(b"?>", at) + 2
        elif text.startswith(b"<!--", at):
            end = text.find(b"-->", at) + 3
        elif text[at : at + 9].upper() == b"<!DOCTYPE":
            end = text.find(b">", at) + 1
            if b"[" in text[at:end]:
                raise ResultFileError(
                    "it declares entities or elements in a DOCTYPE, which is not read"
                )
        elif text.startswith(b"<", at) and not text.startswith(b"<!", at):
            return at
        else:
            break

        if end <= at:
            break

        at = end

    raise ResultFileError("it does not begin with an XML element; expected a result file")

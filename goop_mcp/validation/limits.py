"""Limits on what is read, so that a hostile reply cannot block a process."""

from goop_mcp.structs import DataStruct

__all__ = ["DEFAULT_LIMITS", "Limits"]


class Limits(DataStruct, frozen=True, kw_only=True):
    """Largest sizes that are read. Over a limit the envelope is not parsed (D-84).

    Sizes of texts are in bytes of UTF-8, `field_bytes` is the text of one element or attribute.
    `depth` counts elements from the root, which is 1. Use `dataclasses.replace` to change single
    values.
    """

    text_bytes: int = 2 * 1024 * 1024
    envelope_bytes: int = 512 * 1024
    field_bytes: int = 64 * 1024
    tags: int = 40_000
    elements: int = 20_000
    attributes: int = 64
    depth: int = 64
    candidates: int = 64
    findings: int = 100
    feedback_characters: int = 4_000
    feedback_findings: int = 8


DEFAULT_LIMITS = Limits()


def utf8_length(text: str, enough: int) -> int:
    """Return the size of `text` in UTF-8, or its length in characters if that exceeds `enough`.

    Counting characters first avoids encoding many megabytes only to refuse them. Lone surrogates
    count three bytes.
    """
    if len(text) > enough or text.isascii():
        return len(text)
    return len(text.encode("utf-8", "surrogatepass"))

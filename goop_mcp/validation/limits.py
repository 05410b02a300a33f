"""Bounds on what is read, so that one hostile reply cannot hold up a process."""

from dataclasses import dataclass

__all__ = ["DEFAULT_LIMITS", "Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Largest sizes that are read. Over a limit the envelope is not parsed (D-84).

    Sizes of texts are in bytes of UTF-8, `field_bytes` is the text of one element or attribute.
    `depth` counts elements from the root, which is 1. Replace single values with
    `dataclasses.replace`.
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
    """Return the size of `text` in UTF-8, or its length in characters when that alone exceeds `enough`.

    Counting characters first keeps a text of many megabytes from being encoded only to be refused. Lone
    surrogates count three bytes.
    """
    if len(text) > enough or text.isascii():
        return len(text)
    return len(text.encode("utf-8", "surrogatepass"))

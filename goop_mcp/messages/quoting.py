"""Agents' text inside a message: data that stays on its line and cannot end a section (D-85)."""

import re

__all__ = ["cell", "code", "line", "paragraph"]

_LONGEST = 2_000
# What Markdown would read as the start of a heading, a list, a quote, a table, a fence, a divider or a box.
_MARKUP_AT_START = re.compile(r"(?:#|[-+*=>|_~`]|\d+[.)]\s)")
_CALL = re.compile(r"(?:run|next(?:\s+step)?)\s*:", re.IGNORECASE)
_NOT_PRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def line(text: str, *, longest: int = _LONGEST) -> str:
    """Return `text` on one line without control characters, cut to `longest` characters; "–" for nothing."""
    if len(text) <= longest and text.isprintable() and "  " not in text:
        return text.strip() or "–"
    flat = " ".join(text[: 4 * longest].split())
    if not flat.isprintable():
        flat = _NOT_PRINTABLE.sub("", flat).strip()
    if len(flat) > longest:
        flat = flat[: longest - 1] + "…"
    return flat or "–"


def paragraph(text: str) -> str:
    """Return `text` as one line that may stand alone: no heading, list, divider or box begins there."""
    flat = line(text)
    if _CALL.match(flat):
        return f"→ {flat}"
    if _MARKUP_AT_START.match(flat):
        return f"\\{flat}"
    return flat


def cell(text: str) -> str:
    """Return `text` as a cell of a table or a part of a line divided by `|`."""
    return line(text).replace("|", "\\|")


def code(text: str) -> str:
    """Return `text` as it may stand between two backticks."""
    return line(text.replace("`", "'"))

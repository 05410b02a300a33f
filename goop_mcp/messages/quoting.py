"""Agents' text inside a message: data that stays on its line and cannot end a section (D-85)."""

import re
from typing import Final

__all__ = [
    "FIELDS",
    "cell",
    "code",
    "fenced",
    "field",
    "inert",
    "line",
    "paragraph",
    "quoted",
    "without_controls",
]

FIELDS: Final = (
    *(
        "actions",
        "next_agent",
        "next_command",
        "instruction",
        "files_to_read",
        "blockers",
        "questions",
        "reason",
    ),
    *(
        "rule",
        "retry",
        "issues",
        "state_changes",
        "new_session",
        "accepted",
        "rejected",
        "recorded",
        "duplicate",
    ),
    *(
        "not recorded",
        "written",
        "not written",
        "shown at",
        "undo",
        "phase",
        "secrets taken out",
        "left out",
        "forgotten",
    ),
    *(
        "saved",
        "refreshed",
        "nothing was saved",
        "memory",
        "title",
        "concepts",
        "source_files",
        "facts",
        "content",
    ),
    *(
        "session_id",
        "note",
        "remark",
        "warning",
        "warnings",
        "repair",
        "repairs",
        "disagreement",
        "disagreements",
    ),
    *("verdict", "decision", "status", "fix", "repaired", "goop-mcp", "error", "message"),
    "envelope",
    *("round", "waiting", "choices", "missing", "command", "revision", "handoff", "size"),
    *("omitted", "findings", "flags", "result", "profile", "gates", "trust", "the rest"),
)
"""The names that begin our own lines in text answers; no text of an agent may begin with one."""

_LONGEST = 2_000
_MARK = "  | "
# What Markdown would read as the start of a heading, a list, a quote, a table, a fence, a divider
# or a box.
_MARKUP_AT_START = re.compile(r"(?:#|[-+*=>|_~`]|\d+[.)]\s)")
_CALL = re.compile(r"(?:run|next(?:\s+step)?)\s*:", re.IGNORECASE)
# A tag, also one that a host escaped.
_TAG = re.compile(r"(?:<|&lt;)(?=[A-Za-z/!?])")
_NAMES = "|".join(map(re.escape, FIELDS))
_LIKE_A_FIELD = re.compile(
    rf"(?:{_NAMES})(?: (?:at revision|as report)\s?\d"
    rf"|(?: \([^)]{{0,40}}\)| at revision| as report)?\s?[:：])",
    re.IGNORECASE,
)
# Control characters, line separators, halves of pairs, and what turns the direction of writing
# around.
_NOT_PRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_TICKS = re.compile(r"`+")


def line(text: str, *, longest: int = _LONGEST) -> str:
    """Return `text` as one line without control characters, cut to `longest`; "–" for nothing."""
    # Nearly every text is short and plain, and this function runs for each value of an answer.
    if len(text) <= longest and text.isprintable() and "  " not in text:
        return text.strip() or "–"

    # Only a bounded part is processed: the text may be a megabyte, and the rest would be cut
    # anyway.
    flat = " ".join(text[: 4 * longest].split())
    if not flat.isprintable():
        flat = _NOT_PRINTABLE.sub("", flat).strip()
    if len(flat) > longest:
        flat = flat[: longest - 1] + "…"
    return flat or "–"


def paragraph(text: str) -> str:
    """Return `text` as one line that starts no heading, list, divider, box or field of ours."""
    flat = line(text)
    if _CALL.match(flat):
        return f"→ {flat}"
    if _LIKE_A_FIELD.match(flat):
        return f"› {flat}"
    if _MARKUP_AT_START.match(flat):
        return f"\\{flat}"
    return flat


def field(name: str, *values: str) -> str:
    """Return a line `name: value, value`; each value stays on it."""
    return f"{name}: {', '.join(map(line, values))}"


def quoted(name: str, *texts: str) -> list[str]:
    """Return `texts` as they are, each line marked as not ours, below a line that says so."""
    lines = [f"{name} (quoted; what agents wrote is data):"]
    for text in texts:
        lines += [f"{_MARK}{each}".rstrip() for each in without_controls(text).split("\n")]
    return lines


def fenced(text: str, language: str = "text") -> list[str]:
    """Return the lines of `text` in a fence that it cannot end."""
    # A fence can be closed only by a run at least as long as its own.
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return [f"{fence}{language}", *without_controls(text).rstrip("\n").split("\n"), fence]


def without_controls(text: str) -> str:
    """Return `text` without control characters; every line break becomes a line feed."""
    if text.isprintable():
        return text
    lines = text.splitlines()
    return "\n".join([_NOT_PRINTABLE.sub("", each.replace("\t", "    ")) for each in lines])


def cell(text: str) -> str:
    """Return `text` as a cell of a table or a part of a line divided by `|`."""
    return line(text).replace("|", "\\|")


def code(text: str) -> str:
    """Return `text` as it may stand between two backticks."""
    return line(text.replace("`", "'"))


def inert(document: str) -> str:
    """Return Markdown without HTML tags and images: a viewer runs nothing and fetches nothing.

    For a whole document whose texts are already single lines: without control characters, no tag
    can be hidden from the pattern.
    """
    return _TAG.sub("‹", document).replace("![", "!\\[")

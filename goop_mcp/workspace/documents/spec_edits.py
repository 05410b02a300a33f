"""Edit the few lines of SPEC.md that belong to a step: the lock in its header, its amendments.

Everything else belongs to people: no other character changes, and a document without these lines
stays as it is. Pure.
"""

import re
from collections.abc import Mapping

from goop_mcp.messages.quoting import cell
from goop_mcp.workspace.documents.markdown import Line, find_headings, normal_title, read_markdown
from goop_mcp.workspace.documents.spec import read_spec

__all__ = ["add_amendment", "set_lock"]

_VALUE = re.compile(
    r"(?P<label>[ \t>*_-]*[A-Za-z][A-Za-z ]{0,30}(?::[*_]{0,3}|[*_]{1,3}:)[ \t]*)(?P<value>.*)"
)
_LABEL = re.compile(r"[^A-Za-z ]+")
_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_NONE = "–"


def set_lock(text: str, *, locked: bool, now: str) -> str:
    """Return SPEC.md with Status, Locked and Locked At in its header; `now` is ISO 8601."""
    values = {
        "status": "Locked" if locked else "Draft",
        "locked": "Yes" if locked else "No",
        "locked at": now if locked else _NONE,
        "last updated": now,
    }
    return _with_header(text, values)


def add_amendment(text: str, *, reason: str, now: str) -> str:
    """Return SPEC.md with a row in its Amendment History and the next version in its header.

    A document without that section or table gets both at its end.
    """
    found = read_spec(text).version
    parsed = _VERSION.fullmatch(found or "")
    version = f"{parsed[1]}.{int(parsed[2]) + 1}" if parsed else None
    text = _with_header(text, {"last updated": now} | ({"version": version} if version else {}))
    row = f"| {version or _NONE} | {now[:10]} | amended | {cell(reason)} |"

    headings = find_headings(text)
    at = next(
        (n for n, each in enumerate(headings) if normal_title(each.title).startswith("amendment")),
        None,
    )
    line_end = "\r\n" if "\r\n" in text else "\n"
    head = f"| Version | Date | Change | Reason |{line_end}|---|---|---|---|"
    if at is None:
        parts = [text.rstrip(), "", "## Amendment History", "", head, row, ""]
        return line_end.join(parts)

    # The row follows the last filled line of the section, which is the end of its table.
    start = headings[at].end
    end = next(
        (each.start for each in headings[at + 1 :] if each.level <= headings[at].level), len(text)
    )
    body = text[start:end].rstrip()
    new = row if body.rstrip().endswith("|") else f"{line_end}{head}{line_end}{row}"
    rest = text[start + len(body) : end] or line_end

    return f"{text[:start]}{body}{line_end}{new}{rest}{text[end:]}"


def _with_header(text: str, values: Mapping[str, str]) -> str:
    """Return `text` with `values`, by normalised label, where its header has these fields."""
    document = read_markdown(text)
    head = next((section for section in document.walk() if section.level == 1), document)
    header: tuple[Line, ...] = (*document.lines, *head.lines)
    # Only these lines are the header: a field of the same name further below is somebody's text.
    numbers = {line.number for line in header if not line.code}
    # Not `splitlines`, which also ends lines at characters that Markdown does not.
    lines = _LINE.findall(text)

    for number in sorted(numbers):
        whole = lines[number - 1] if number <= len(lines) else ""
        bare = whole.rstrip("\r\n")
        match = _VALUE.fullmatch(bare)
        if match is None:
            continue

        label = " ".join(_LABEL.sub(" ", match["label"]).split()).lower()
        if label in values:
            # Two blanks at the end are a line break in Markdown.
            blanks = bare[len(bare.rstrip()) :]
            lines[number - 1] = f"{match['label']}{values[label]}{blanks}{whole[len(bare) :]}"

    return "".join(lines)

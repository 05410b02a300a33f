"""The style guide for the messages: its templates, verbatim, with their slots filled."""

import re
from pathlib import Path

GUIDE = (Path(__file__).parent / "visual-style-0.2.0.md").read_text(encoding="utf-8")
_BLOCK = re.compile(
    r"^### (?P<title>[^\n]+)\n```(?:markdown)?\n(?P<text>.*?)\n```$", re.MULTILINE | re.DOTALL
)
TEMPLATES = {block["title"]: block["text"] for block in _BLOCK.finditer(GUIDE)}


def filled(title: str, *slots: tuple[str, str]) -> str:
    """Return the guide's template `title` with each slot, which must stand in it, replaced once."""
    text = TEMPLATES[title]
    for slot, value in slots:
        assert slot in text, f"{title} has no {slot!r}"
        text = text.replace(slot, value, 1)

    return text


def table(heading: str) -> list[list[str]]:
    """Return the rows of the table below `heading`, cells stripped, without the head."""
    section = GUIDE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]

"""Entries that a document shows no longer: a file for each month in the folder `archive`, only ever appended to.

A document keeps its newest entries, so that writing it costs the same however long a project lives (D-103). An append
that was cut off is completed by the next one, and one that was done is not done again: the end of the file tells.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from goop_mcp.errors import WorkspaceError
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import FOLDER
from goop_mcp.workspace.projection_text import Block
from goop_mcp.workspace.replacing import append_file

__all__ = [
    "ARCHIVE_FOLDER",
    "MOST_ENTRIES",
    "PlannedAppend",
    "archive_row",
    "archive_text",
    "archived_parts",
    "newest_blocks",
    "read_archive_name",
]

ARCHIVE_FOLDER: Final = f"{FOLDER}/archive"

MOST_ENTRIES: Final = 100
"""How many entries of ours a document keeps."""

_MOST_BYTES: Final = 256 * 1024
# How far before what was appended last is looked for it: people may have added a note at the end.
_SLACK: Final = 16 * 1024
_MONTH: Final = re.compile(r"[0-9]{4}-[0-9]{2}")
_NAME: Final = re.compile(r"(CHRONICLE|ADL)-([0-9]{4}-[0-9]{2})\.md")
_NO_MONTH: Final = "0000-00"
_FIRST_LOOK: Final = 64


@dataclass(frozen=True, slots=True)
class PlannedAppend:
    """Entries of `document` that are to stand in the file `path` before the document goes without them."""

    document: str
    path: str
    title: bytes
    entries: tuple[bytes, ...]

    def is_done(self, files: ProjectFiles) -> bool:
        """Tell whether all entries stand at the end of the file; what cannot be read is not done."""
        try:
            found = files.read_end(self.path, self._end)
        except WorkspaceError:
            return False

        return found is not None and not self._missing(found, is_whole=False)

    def apply(self, files: ProjectFiles) -> None:
        """Append what is missing; raises as `replace_file`, and what was written then is completed the next time."""
        append_file(files, self.path, end=self._end, missing=self._missing)

    @property
    def _end(self) -> int:
        return sum(map(len, self.entries)) + _SLACK

    def _missing(self, found: bytes, *, is_whole: bool) -> bytes:
        """Return what has to follow `found`, the end of the file or all of it."""
        text = b"".join(entry for entry in self.entries if entry not in found)
        if text and is_whole and self.title.startswith(found):
            text = self.title + text

        done = _overlap(found, text)
        # A line that people wrote last may have no end.
        gap = b"" if done or not text or not found or found.endswith(b"\n\n") else b"\n\n"

        return gap + text[done:]


def newest_blocks(blocks: Sequence[Block]) -> tuple[Sequence[Block], Sequence[Block]]:
    """Return those of `blocks`, oldest first, that go to the archive, and those that the document keeps.

    The newest is always kept. What one revision adds stays together.
    """
    entries = size = 0
    for number, block in enumerate(reversed(blocks)):
        entries += block.entries
        size += len(block.text.encode())
        if number and (entries > MOST_ENTRIES or size > _MOST_BYTES):
            return blocks[: len(blocks) - number], blocks[len(blocks) - number :]

    return (), blocks


def archive_text(document: str, month: str, blocks: Sequence[Block]) -> str:
    """Return the archive of `month` as its file holds it."""
    return _title(document.removesuffix(".md"), month) + "".join(
        f"{block.text}\n\n" for block in blocks
    )


def read_archive_name(name: str) -> tuple[str, str] | None:
    """Return the document and the month of an archive called `name`, None for a name that none can have."""
    match = _NAME.fullmatch(name)
    return None if match is None else (f"{match[1]}.md", match[2])


def archive_row(path: str) -> str:
    """Return the name under which the database remembers how far the document at `path` is archived."""
    return _stem(path)


def archived_parts(path: str, blocks: Sequence[Block]) -> tuple[PlannedAppend, ...]:
    """Return what puts `blocks` of the document at `path` into the archive, a part for each month."""
    stem, name = _stem(path), path.rpartition("/")[2].removesuffix(".md")
    # A clock may go back and forth between two months: still one part for each.
    months: dict[str, list[bytes]] = {}
    for block in blocks:
        months.setdefault(_month(block), []).append(f"{block.text}\n\n".encode())

    def part(month: str, entries: Sequence[bytes]) -> PlannedAppend:
        return PlannedAppend(
            path, f"{stem}-{month}.md", _title(name, month).encode(), tuple(entries)
        )

    return tuple(part(month, entries) for month, entries in months.items())


def _title(name: str, month: str) -> str:
    return f"# {name} {month}\n\nEntries that {name}.md shows no longer, the oldest first.\n\n"


def _stem(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/archive/{name.removesuffix('.md')}"


def _month(block: Block) -> str:
    return block.month if _MONTH.fullmatch(block.month) else _NO_MONTH


def _overlap(found: bytes, text: bytes) -> int:
    """Return how many bytes `text` begins with that `found` ends with already: an append that was cut off."""
    begin = text[:_FIRST_LOOK]
    if len(begin) == _FIRST_LOOK:
        at = found.rfind(begin)
        while at >= 0:
            if text.startswith(found[at:]):
                return len(found) - at

            at = found.rfind(begin, 0, at)

    return next((size for size in range(len(begin), 0, -1) if found.endswith(begin[:size])), 0)

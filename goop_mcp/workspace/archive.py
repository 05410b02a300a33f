"""Archive old entries of a document in append-only files, one for each month.

A document keeps its newest entries, so that the cost of writing it does not grow with the age of
the project (D-103). The end of the file shows how much of an append is on disk: an append that was
cut off is completed by the next one, and a complete one is not repeated.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from goop_mcp.errors import WorkspaceError
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import FOLDER
from goop_mcp.workspace.projection_text import EntryBlock
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
"""How many of our entries a document keeps."""

_MOST_BYTES: Final = 256 * 1024
# People may have added a note after our last append, so the search for it starts this much earlier.
_SLACK: Final = 16 * 1024
_MONTH: Final = re.compile(r"[0-9]{4}-[0-9]{2}")
_NAME: Final = re.compile(r"(CHRONICLE|ADL)-([0-9]{4}-[0-9]{2})\.md")
_NO_MONTH: Final = "0000-00"
_FIRST_LOOK: Final = 64


@dataclass(frozen=True, slots=True)
class PlannedAppend:
    """Entries that must be in the file `path` before they are removed from `document`."""

    document: str
    path: str
    title: bytes
    entries: tuple[bytes, ...]

    def is_done(self, files: ProjectFiles) -> bool:
        """Whether all entries are at the end of the file; False if it cannot be read."""
        try:
            found = files.read_end(self.path, self._end)
        except WorkspaceError:
            return False

        return found is not None and not self._missing(found, is_whole=False)

    def apply(self, files: ProjectFiles) -> None:
        """Append the entries that are missing.

        Raises as `replace_file`; an append that was cut off is completed by the next call.
        """
        append_file(files, self.path, end=self._end, missing=self._missing)

    @property
    def _end(self) -> int:
        return sum(map(len, self.entries)) + _SLACK

    def _missing(self, found: bytes, *, is_whole: bool) -> bytes:
        """Return the bytes to append after `found`, the end of the file or all of it."""
        text = b"".join(entry for entry in self.entries if entry not in found)
        # An empty file, or one whose writer was killed within the title, begins with the title.
        if text and is_whole and self.title.startswith(found):
            text = self.title + text

        # Whole entries were skipped above; the writer may also have been killed within an entry.
        done = _overlap(found, text)
        # The last line that people wrote may have no line end.
        gap = b"" if done or not text or not found or found.endswith(b"\n\n") else b"\n\n"

        return gap + text[done:]


def newest_blocks(
    blocks: Sequence[EntryBlock],
) -> tuple[Sequence[EntryBlock], Sequence[EntryBlock]]:
    """Split `blocks`, oldest first, into those for the archive and those that the document keeps.

    The newest block is always kept. The entries of one revision stay together.
    """
    entries = size = 0
    for number, block in enumerate(reversed(blocks)):
        entries += block.entries
        size += len(block.text.encode())
        if number and (entries > MOST_ENTRIES or size > _MOST_BYTES):
            return blocks[: len(blocks) - number], blocks[len(blocks) - number :]

    return (), blocks


def archive_text(document: str, month: str, blocks: Sequence[EntryBlock]) -> str:
    """Return the text of the archive file of `month`."""
    return _title(document.removesuffix(".md"), month) + "".join(
        f"{block.text}\n\n" for block in blocks
    )


def read_archive_name(name: str) -> tuple[str, str] | None:
    """Return the document and the month of the archive `name`, None for an invalid name."""
    match = _NAME.fullmatch(name)
    return None if match is None else (f"{match[1]}.md", match[2])


def archive_row(path: str) -> str:
    """Return the key under which the database stores how far the document at `path` is archived."""
    return _stem(path)


def archived_parts(path: str, blocks: Sequence[EntryBlock]) -> tuple[PlannedAppend, ...]:
    """Return the appends, one for each month, that archive `blocks` of the document at `path`."""
    stem, name = _stem(path), path.rpartition("/")[2].removesuffix(".md")
    # Blocks of a month need not be neighbours, because a clock may be set back.
    months: dict[str, list[bytes]] = {}
    for block in blocks:
        month = block.month if _MONTH.fullmatch(block.month) else _NO_MONTH
        months.setdefault(month, []).append(f"{block.text}\n\n".encode())

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


def _overlap(found: bytes, text: bytes) -> int:
    """Return the length of the longest end of `found` that `text` begins with."""
    # A long overlap holds the first bytes of `text` as a whole, which `rfind` locates quickly;
    # only an overlap shorter than them has to be tried length by length.
    begin = text[:_FIRST_LOOK]
    if len(begin) == _FIRST_LOOK:
        at = found.rfind(begin)
        while at >= 0:
            if text.startswith(found[at:]):
                return len(found) - at

            at = found.rfind(begin, 0, at)

    return next((size for size in range(len(begin), 0, -1) if found.endswith(begin[:size])), 0)

"""What we put into one file of a host: entries in its JSON, a block of Markdown, or a whole file of ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from goop_mcp.assets import read_asset
from goop_mcp.hosts.catalogue import Part
from goop_mcp.hosts.editing import Edited, add_parts, parse_configuration, remove_parts
from goop_mcp.hosts.instructions import add_block, remove_block
from goop_mcp.hosts.launch import Launch
from goop_mcp.hosts.records import Record
from goop_mcp.hosts.targets import ConfigurationError
from goop_mcp.validation.safe_json import JsonValue

__all__ = ["Block", "Contents", "Entries", "WholeFile"]

_OUR_MARK = "goop-mcp"
"""Stands in the first line of every file that we put in place whole."""


class Contents(Protocol):
    """Adds to the text of a file and takes away again; `shown` is what people call the file."""

    def add(self, text: str | None, *, shown: str, known: Sequence[JsonValue]) -> Edited:
        """Return the file with ours in it.

        `known` are the values that an earlier call has written.
        """

    def remove(self, text: str, *, shown: str, record: Record | None) -> str | None:
        """Return the file without ours, None when nothing is left of it.

        `record` is None when nobody knows.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Entries of a JSON file; `launch` is None where they are only taken away."""

    parts: Sequence[Part]
    launch: Launch | None = None
    replace: bool = False

    def add(self, text: str | None, *, shown: str, known: Sequence[JsonValue]) -> Edited:
        """Add the entries that are missing, and bring those up to date that we wrote."""
        if self.launch is None:
            raise TypeError("entries without a launch can only be taken away")
        return add_parts(
            text or "", self.parts, self.launch, shown=shown, known=known, replace=self.replace
        )

    def remove(self, text: str, *, shown: str, record: Record | None) -> str | None:
        """Take the entries away, and the file too when it was made for them and nothing else is in it."""
        known = None if record is None else record.written
        before = None if record is None or record.before is None else record.before.decode("utf-8")
        left = remove_parts(text, self.parts, shown=shown, known=known, before=before).text
        document = parse_configuration(left, shown)
        is_bare = not document.value and document.plain == document.text
        return None if is_bare and record is not None and record.before is None else left


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of Markdown between markers."""

    text: str = ""

    # No values here
    def add(self, text: str | None, *, shown: str, known: Sequence[JsonValue]) -> Edited:  # noqa: ARG002
        """Put the block in place of an older one, or at the end."""
        return Edited(text=add_block(text or "", self.text, shown=shown))

    def remove(self, text: str, *, shown: str, record: Record | None) -> str | None:
        """Take the block away, and the file too when it was made for it."""
        left = remove_block(text, shown=shown)
        return None if not left.strip() and record is not None and record.before is None else left


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeFile:
    """A file that ships with goop-mcp; `source` is its name among the assets of kind plugins."""

    source: str
    replace: bool = False

    # No values here
    def add(self, text: str | None, *, shown: str, known: Sequence[JsonValue]) -> Edited:  # noqa: ARG002
        """Take the place of an older copy.

        Raises ConfigurationError when a file of somebody else is there.
        """
        if text is not None and not _is_ours(text) and not self.replace:
            raise ConfigurationError(
                f"{shown} is a file of somebody else; rename it, or put ours in its place with"
                " --replace"
            )

        return Edited(text=read_asset("plugins", self.source))

    # All of it is ours
    def remove(self, text: str, *, shown: str, record: Record | None) -> str | None:  # noqa: ARG002
        """Take the file away unless it is somebody else's."""
        return None if _is_ours(text) else text


def _is_ours(text: str) -> bool:
    return _OUR_MARK in text.partition("\n")[0]

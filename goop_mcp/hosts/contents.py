"""What is installed in one file of a host: entries of JSON, a block of Markdown, or all of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from goop_mcp.hosts.catalogue import Asset, Element, Part
from goop_mcp.hosts.editing import (
    Edited,
    add_parts,
    elements_at,
    parse_configuration,
    remove_parts,
)
from goop_mcp.hosts.launch import Launch
from goop_mcp.hosts.records import InstallRecord
from goop_mcp.hosts.targets import ConfigurationError
from goop_mcp.services.commands import COMMAND_MARK
from goop_mcp.validation.safe_json import JsonValue

__all__ = ["Contents", "Entries", "InstructionBlock", "WholeFile", "is_our_file"]

_OUR_MARK = "goop-mcp"
"""Part of the first line of every file that is installed as a whole, except commands."""

_BEGIN = "<!-- goop-mcp: begin -->"
_END = "<!-- goop-mcp: end -->"


class Contents(Protocol):
    """Adds our content to the text of a file and removes it; `shown` names the file in messages."""

    def add(self, text: str | None, *, shown: str, known: Sequence[JsonValue]) -> Edited:
        """Return the file with our content in it.

        `known` are the values that an earlier installation wrote.
        """

    def remove(self, text: str, *, shown: str, record: InstallRecord | None) -> str | None:
        """Return the file without our content, None when the file should be removed.

        `record` is None when it is not known what was installed.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Entries of a JSON file; `launch` is None where they are only removed.

    `renewed` are hooks that are not added, but updated where an earlier installation wrote them.
    """

    parts: Sequence[Part]
    launch: Launch | None = None
    replace: bool = False
    renewed: Sequence[Element] = ()

    def add(self, text: str | None, *, shown: str, known: Sequence[JsonValue]) -> Edited:
        """Add the missing entries, and update those that an earlier installation wrote."""
        if self.launch is None:
            raise TypeError("entries without a launch can only be removed")

        document = parse_configuration(text or "", shown)
        renewed = [
            part
            for part in self.renewed
            if any(value in known for value in elements_at(document, part))
        ]
        parts = [*self.parts, *renewed]
        return add_parts(
            text or "", parts, self.launch, shown=shown, known=known, replace=self.replace
        )

    def earlier(self, text: str, *, shown: str) -> tuple[JsonValue, ...]:
        """Return the values that an earlier version of goop-mcp wrote in another form than today.

        Raises ConfigurationError for a text that cannot be read.
        """
        document = parse_configuration(text, shown)
        hooks = [part for part in (*self.parts, *self.renewed) if isinstance(part, Element)]

        return tuple(
            value
            for part in hooks
            for value in elements_at(document, part)
            if part.is_earlier(value)
        )

    def remove(self, text: str, *, shown: str, record: InstallRecord | None) -> str | None:
        """Remove the entries, and the file when it was created for them and holds nothing else."""
        known = None if record is None else record.written
        before = None if record is None or record.before is None else record.before.decode("utf-8")
        parts = [*self.parts, *self.renewed]
        left = remove_parts(text, parts, shown=shown, known=known, before=before).text
        document = parse_configuration(left, shown)
        is_bare = not document.value and document.plain == document.text
        return None if is_bare and record is not None and record.before is None else left


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionBlock:
    """A block of Markdown between markers."""

    text: str = ""

    # The protocol has `known`, which only JSON needs.
    def add(
        self,
        text: str | None,
        *,
        shown: str,
        known: Sequence[JsonValue],  # noqa: ARG002
    ) -> Edited:
        """Replace the block of an earlier installation, or add it at the end."""
        return Edited(text=add_block(text or "", self.text, shown=shown))

    def remove(self, text: str, *, shown: str, record: InstallRecord | None) -> str | None:
        """Remove the block, and the file when it was created for it and holds nothing else."""
        left = remove_block(text, shown=shown)
        return None if not left.strip() and record is not None and record.before is None else left


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeFile:
    """A file that goop-mcp writes as a whole."""

    asset: Asset
    replace: bool = False

    def add(self, text: str | None, *, shown: str, known: Sequence[JsonValue]) -> Edited:
        """Replace an older copy; keep a command that somebody else wrote or changed.

        Raises ConfigurationError when another file is not ours: goop-mcp does not work without it.
        """
        wanted = self.asset.text()
        edited = Edited(text=wanted, written=(wanted,))
        if text is None or text == wanted or self.replace:
            return edited
        if self.asset.is_command:
            # Without a record the file came with a checkout, and only its mark says whose it is.
            changed = bool(known) and text not in known
            if is_our_file(text) and not changed:
                return edited

            whose = "changed by hand" if is_our_file(text) else "written by somebody else"
            return Edited(text=text, notes=(f"kept, as it was {whose}; --replace overwrites it",))
        if not is_our_file(text):
            raise ConfigurationError(
                f"{shown} is not a file of goop-mcp; rename it, or overwrite it with --replace"
            )

        return edited

    # Neither a message nor a record is needed: the file is ours as a whole, or not at all.
    def remove(
        self,
        text: str,
        *,
        shown: str,  # noqa: ARG002
        record: InstallRecord | None,  # noqa: ARG002
    ) -> str | None:
        """Remove the file if it is ours."""
        return None if is_our_file(text) else text


def is_our_file(text: str) -> bool:
    """Return whether a file that is installed as a whole was written by goop-mcp."""
    # The first line of a command has to be the one above its front matter.
    first, second, *_ = [*text.split("\n", 2), ""]
    return _OUR_MARK in first or second == COMMAND_MARK


def add_block(text: str, block: str, *, shown: str) -> str:
    """Return `text` with `block` between the markers: where an older block was, or at the end.

    Raises ConfigurationError when the markers do not pair up.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    marked = newline.join([_BEGIN, *block.strip().splitlines(), _END])
    span = _block_span(text, shown)
    if span is not None:
        return text[: span[0]] + marked + text[span[1] :]
    if not text.strip("\ufeff \t\r\n"):
        return f"{text}{marked}{newline}"

    gap = newline if text.endswith("\n") else newline * 2

    return f"{text}{gap}{marked}{newline}"


def remove_block(text: str, *, shown: str) -> str:
    """Return `text` without the block and the blank line before it; raise as add_block."""
    span = _block_span(text, shown)
    if span is None:
        return text

    before, after = text[: span[0]], text[span[1] :]
    after = after.removeprefix("\r").removeprefix("\n")
    for newline in ("\r\n", "\n"):
        if before.endswith(newline * 2):
            return before[: -len(newline)] + after

    return before + after


def _block_span(text: str, shown: str) -> tuple[int, int] | None:
    """Return start and end of the block with its markers, None when there is no block."""
    begins, ends = text.count(_BEGIN), text.count(_END)
    if not begins and not ends:
        return None

    begin, end = text.find(_BEGIN), text.find(_END)
    if begins != 1 or ends != 1 or end < begin:
        line = text.count("\n", 0, min(at for at in (begin, end) if at >= 0)) + 1
        raise ConfigurationError(
            f"{shown} has markers of goop-mcp that do not pair up (line {line}); expected one"
            f" {_BEGIN} and one {_END} after it, remove the others by hand"
        )

    return begin, end + len(_END)

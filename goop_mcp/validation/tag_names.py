"""Remove zero-width characters, which nobody sees, from the names of tags and attributes."""

import re

from msgspec.structs import replace

from goop_mcp.validation import xml_rules
from goop_mcp.validation.escaping import ZERO_WIDTH
from goop_mcp.validation.extraction import Extraction
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.markup import Grammar
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.rules import Problem

__all__ = ["CleanedTags", "clean_tags"]

_TAG_NAME = re.compile(r"(?<=<)/?([^\s<>/=\"']{1,80})")
_ATTRIBUTE_NAME = re.compile(r"(?<=\s)([^\s<>/=\"']{1,80})(?=\s{0,8}=\s{0,8}[\"'])")
_TAG_WINDOW = 2_000


class CleanedTags:
    """A text with clean names, and the problems that list what was removed."""

    def __init__(self, source: SourceText, problems: tuple[Problem, ...] = ()) -> None:
        """Store the text, and problems whose offsets count from its start."""
        self.source = source
        self.problems = problems

    def remarked(self, found: Extraction) -> Extraction:
        """Return `found` with the problems inside its chosen block."""
        block = found.chosen
        if block is None or not self.problems:
            return found

        inside = [
            each for each in self.problems if block.start <= (each.hit.offset or 0) < block.end
        ]

        return replace(found, remarks=(*found.remarks, *inside))


def clean_tags(source: SourceText, grammar: Grammar) -> CleanedTags:
    """Remove zero-width characters from the names of tags and attributes that `grammar` knows."""
    text = source.given
    # A text that a host changed has origins already, and both at once do not occur.
    if source.read is not text or text.isascii() or ZERO_WIDTH.search(text) is None:
        return CleanedTags(source)

    parts: list[str] = []
    shifts: list[tuple[int, int]] = []
    problems: list[Problem] = []
    last = read = 0

    names = [(each, grammar.names) for each in _TAG_NAME.finditer(text)]
    attributes = [(each, grammar.attributes) for each in _ATTRIBUTE_NAME.finditer(text)]
    for found, known in sorted([*names, *attributes], key=lambda pair: pair[0].start(1)):
        name = ZERO_WIDTH.sub("", found[1])
        if name == found[1] or name.lower() not in known:
            continue

        # What looks like an attribute is one only within a tag.
        start, end = found.span(1)
        window = text[max(start - _TAG_WINDOW, 0) : start]
        if known is not grammar.names and window.rfind("<") <= window.rfind(">"):
            continue

        parts += (text[last:start], name)
        read += start - last
        message = f"invisible character in the name {excerpt(name, 40)}; expected none"
        shown = excerpt(text[start:end], 60)
        problems.append(
            xml_rules.CONTROL_CHARACTER.problem(
                message, offset=read, found=shown, before=shown, after=name
            )
        )
        read += len(name)
        last = end
        shifts.append((read, end))

    if not problems:
        return CleanedTags(source)

    parts.append(text[last:])
    return CleanedTags(SourceText(text, "".join(parts), shifts), tuple(problems))

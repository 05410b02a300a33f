"""Fenced code blocks after CommonMark (D-07)."""

import re
from collections.abc import Iterator
from heapq import merge

from goop_mcp.validation.hosts import is_host_line
from goop_mcp.validation.list_fences import fences_in_lists

__all__ = ["common_indentation", "fence_spans"]

_INDENTED = re.compile(r"^([ \t]*+)(?=\S)", re.MULTILINE)
# A fence that may belong to the item of a list: it is indented, or follows a marker on its line.
_INDENTED_FENCE = re.compile(r"^[ \t\-*+.)0-9]++(?:```|~~~)", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]*+(?:[-*+]|\d{1,9}[.)])(?=\s|\Z)", re.MULTILINE)
_HOST_LINE_WINDOW = 500


def fence_spans(text: str) -> list[tuple[int, int, str]]:
    """Return (start of content, end of content, info string) of every fenced block, in order.

    As in CommonMark: backticks or tildes, closed by a run of the same character at least as long,
    up to three spaces of indentation beyond that of the whole text or of the list item around,
    closed by the end of the item or of the text if not before. The info string of a backtick fence
    has no backtick. Fences inside a fence are content.
    """
    # One character is searched with memchr, fifty times faster than three, and few texts have it.
    runs = [run for run in ("```", "~~~") if run[0] in text and run in text]
    if not runs:
        return []

    base = common_indentation(text)
    # Mostly every run of fence characters starts a line, and counting them is ten times as fast as
    # the pattern.
    may_be_indented = any(
        text.count(run) != text.count(f"\n{run}") + text.startswith(run) for run in runs
    )
    if (
        may_be_indented
        and _INDENTED_FENCE.search(text) is not None
        and _ITEM.search(text) is not None
    ):
        return fences_in_lists(text, base)

    allowed = base + 3
    spans: list[tuple[int, int, str]] = []
    run, start, info = "", 0, ""

    # The lines are merged lazily: a list of them would take fifty times the size of a text that
    # consists of fences.
    backticks, tildes = _lines_with_runs(text, "`"), _lines_with_runs(text, "~")
    for line_start, at, line_end in merge(backticks, tildes) if "~~~" in runs else backticks:
        mark = text[at:line_end]
        # An info string may hold the fence character, so the run and not the line is measured.
        rest = mark.lstrip(mark[0])
        length = len(mark) - len(rest)
        rest = rest.strip()
        if at > line_start and len(text[line_start:at].expandtabs(4)) > allowed:
            continue
        if not run:
            # CommonMark, section 4.5: backticks in the info string make it inline code.
            if not (mark[0] == "`" and "`" in rest):
                run, start, info = mark[:length], line_end + 1, rest
        # A closing fence has no info string: a marked fence inside of a fence is content, whatever
        # its length.
        elif not rest and mark[0] == run[0] and length >= len(run):
            spans.append((start, line_start, info))
            run = ""

    if run:
        spans.append((start, len(text), info))
    return spans


def _lines_with_runs(text: str, character: str) -> Iterator[tuple[int, int, int]]:
    """Yield (start of line, start of run, end of line) of each line that begins with a run.

    A run has three of `character` or more.
    """
    at, seen = text.find(character * 3), 0
    while at >= 0:
        line_start = text.rfind("\n", seen, at) + 1 or seen
        line_end = text.find("\n", at)
        line_end = len(text) if line_end < 0 else line_end
        if not text[line_start:at].strip(" \t"):
            yield line_start, at, line_end

        seen = line_end
        at = text.find(character * 3, line_end)


def common_indentation(text: str) -> int:
    """Return by how many columns every line is indented, except blank and host lines."""
    least: int | None = None
    for line in _INDENTED.finditer(text):
        width = len(line[1].expandtabs(4))
        # A host adds lines of its own without indentation to a reply that it indented.
        if width == 0:
            if is_host_line(text[line.start() : line.start() + _HOST_LINE_WINDOW]):
                continue
            return 0

        least = width if least is None else min(least, width)

    return least or 0

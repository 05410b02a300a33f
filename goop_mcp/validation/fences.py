"""Fenced code blocks after CommonMark (D-07)."""

import re

from goop_mcp.validation.hosts import is_host_line

__all__ = ["common_indentation", "fence_spans"]

_INDENTED = re.compile(r"^([ \t]*+)(?=\S)", re.MULTILINE)
_HOST_LINE_WINDOW = 500
_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)


def fence_spans(text: str) -> list[tuple[int, int, str]]:
    """Return (start of content, end of content, info string) of every fenced block, in order .

    After CommonMark: backticks or tildes, closed by a run of the same character at least as long, up to three spaces
    of indentation beyond that of the whole text, closed by the end of the text if not before. The info string of a
    backtick fence holds no backtick. Fences inside a fence are content.
    """
    if "```" not in text and "~~~" not in text:
        return []
    allowed = common_indentation(text) + 3
    spans: list[tuple[int, int, str]] = []
    run, start, info = "", 0, ""
    for mark in _FENCE.finditer(text):
        rest = mark[3].strip()
        if len(mark[1].expandtabs(4)) > allowed:
            continue
        if not run:
            if not (mark[2][0] == "`" and "`" in rest):
                run, start, info = mark[2], mark.end() + 1, rest
        elif not rest and mark[2][0] == run[0] and len(mark[2]) >= len(run):
            spans.append((start, mark.start(), info))
            run = ""
    if run:
        spans.append((start, len(text), info))
    return spans


def common_indentation(text: str) -> int:
    """Return by how many columns every line is indented; blank lines and the host's own do not count."""
    least: int | None = None
    for line in _INDENTED.finditer(text):
        width = len(line[1].expandtabs(4))
        if width == 0:
            if is_host_line(text[line.start() : line.start() + _HOST_LINE_WINDOW]):
                continue
            return 0
        least = width if least is None else min(least, width)
    return least or 0

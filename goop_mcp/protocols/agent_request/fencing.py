"""Put a request back into its prompt, in a fence as the protocol wants it (D-07, D-13, D-83)."""

import re

from goop_mcp.protocols.agent_request.placement import Fence, find_fences

__all__ = ["put_in_fence"]

_LEAST = 4
_OPENING = re.compile(
    r"(?P<indent>[ \t]*+)(?P<run>`{3,}+|~{3,}+)[ \t]*+(?P<language>[A-Za-z0-9]*+)["
    r" \t]*+(?P<rest>.*)"
)
_CLOSING = re.compile(
    r"(?P<before>(?:[ \t]*\r?\n)+[ \t]*)(?P<run>`{3,}|~{3,})(?=[ \t]*(?:\r?\n|$))"
)
_RUNS = {mark: re.compile(rf"^[ \t]*({mark}{{3,}})", re.MULTILINE) for mark in "`~"}


def put_in_fence(text: str, span: tuple[int, int], envelope: str) -> str:
    """Return `text` with `envelope` in place of `span`, in an xml fence that it does not close.

    An existing fence is kept: it is marked xml, and it is made longer only where a fence inside the
    request had closed it. The rest of the text does not change.
    """
    start, end = span
    line_end = "\r\n" if "\r\n" in text else "\n"
    fence = next((each for each in find_fences(text) if each.holds(start)), None)
    # Without a fence, a run longer than any in the request is chosen, so that no line closes it.
    # The opening needs a line of its own: blanks before the request go, other text stays above it.
    if fence is None:
        before, after = text[:start], text[end:].lstrip(" \t")
        begun = before.rpartition("\n")[2]
        before = before + line_end if begun.strip() else before[: len(before) - len(begun)]
        run = _longer("`" * (_LEAST - 1), envelope)
        gap = "" if not after or after.startswith(("\n", "\r\n")) else line_end

        return f"{before}{run}xml{line_end}{envelope}{line_end}{run}{gap}{after}"

    # The request reaches past the end of its fence only if a line inside closed it. The closing run
    # that was found then belongs to the request, and a new one must be written after it.
    before, run, longer = _opened(text, fence, envelope, collides=end > fence.end)
    after = text[end:]
    closing = _CLOSING.match(after)
    if longer != run and closing is not None:
        after = closing["before"] + longer + after[closing.end() :]
    elif longer != run:
        gap = "" if not after or after.startswith(("\n", "\r\n")) else line_end
        after = f"{line_end}{longer}{gap}{after}"

    return before + text[fence.start : start] + envelope + after


def _opened(text: str, fence: Fence, envelope: str, *, collides: bool) -> tuple[str, str, str]:
    """Return the text up to the fence's content with a corrected opening, its old and new run."""
    at = text.rfind("\n", 0, fence.start - 1) + 1
    line = text[at : fence.start].rstrip("\r\n")
    ending = text[at + len(line) : fence.start]
    opening = _OPENING.fullmatch(line)
    if opening is None:
        return text[: fence.start], "", ""

    run = opening["run"]
    longer = _longer(run, envelope) if collides else run
    if opening["language"].lower() != "xml":
        rest = f" {opening['rest']}" if opening["rest"] else ""
        line = f"{opening['indent']}{longer}xml{rest}"
    else:
        # The first occurrence only: the rest of the opening may contain backticks as well.
        line = line.replace(run, longer, 1)

    return text[:at] + line + ending, run, longer


def _longer(run: str, envelope: str) -> str:
    """Return a run longer than `run` and than any that begins a line of `envelope`."""
    longest = max((len(found) for found in _RUNS[run[0]].findall(envelope)), default=0)
    return run[0] * (max(len(run), longest) + 1)

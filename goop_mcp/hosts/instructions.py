"""Add a block between two markers to AGENTS.md or CLAUDE.md, and remove it."""

from goop_mcp.hosts.targets import ConfigurationError

__all__ = ["BEGIN", "END", "add_block", "remove_block"]

BEGIN = "<!-- goop-mcp: begin -->"
END = "<!-- goop-mcp: end -->"


def add_block(text: str, block: str, *, shown: str) -> str:
    """Return `text` with `block` between the markers: where an older block was, or at the end.

    Raises ConfigurationError when the markers do not pair up.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    marked = newline.join([BEGIN, *block.strip().splitlines(), END])
    span = _span(text, shown)
    if span is not None:
        return text[: span[0]] + marked + text[span[1] :]
    if not text.strip("\ufeff \t\r\n"):
        return f"{text}{marked}{newline}"

    gap = newline if text.endswith("\n") else newline * 2

    return f"{text}{gap}{marked}{newline}"


def remove_block(text: str, *, shown: str) -> str:
    """Return `text` without the block and the blank line before it; raise as add_block."""
    span = _span(text, shown)
    if span is None:
        return text

    before, after = text[: span[0]], text[span[1] :]
    after = after.removeprefix("\r").removeprefix("\n")
    for newline in ("\r\n", "\n"):
        if before.endswith(newline * 2):
            return before[: -len(newline)] + after

    return before + after


def _span(text: str, shown: str) -> tuple[int, int] | None:
    """Return start and end of the block with its markers, None when there is no block."""
    begins, ends = text.count(BEGIN), text.count(END)
    if not begins and not ends:
        return None

    begin, end = text.find(BEGIN), text.find(END)
    if begins != 1 or ends != 1 or end < begin:
        line = text.count("\n", 0, min(at for at in (begin, end) if at >= 0)) + 1
        raise ConfigurationError(
            f"{shown} has markers of goop-mcp that do not pair up (line {line}); expected one"
            f" {BEGIN} and one {END} after it, remove the others by hand"
        )

    return begin, end + len(END)

"""Wrap a page in Markdown for a terminal."""

import textwrap

__all__ = ["render_page"]

_WIDEST = 100
_FENCE = "```"


def render_page(markdown: str, *, width: int | None) -> str:
    """Return `markdown` with sentences wrapped to `width` cells, code not; None wraps nothing."""
    if width is None:
        return markdown

    lines: list[str] = []
    fence = ""

    for line in markdown.splitlines():
        if fence or line.startswith(_FENCE):
            lines.append(line)
            fence = "" if line == fence else fence or line
        else:
            lines.extend(textwrap.wrap(line, min(width, _WIDEST), break_on_hyphens=False) or [""])

    return "\n".join(lines) + "\n"

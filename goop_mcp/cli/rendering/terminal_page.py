"""A page in Markdown as a terminal shows it: headings, and tables with lines."""

import io

from rich.console import Console
from rich.markdown import Markdown

__all__ = ["render_terminal_page"]

_WIDEST = 100


def render_terminal_page(markdown: str, *, width: int, colour: bool) -> str:
    """Return `markdown` drawn for a terminal of `width` cells, without styles unless `colour`."""
    drawn = io.StringIO()
    console = Console(
        file=drawn, width=min(width, _WIDEST), force_terminal=colour, no_color=not colour, color_system="standard"
    )
    console.print(Markdown(markdown, hyperlinks=False))
    return drawn.getvalue()

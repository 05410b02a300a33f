"""Draw a page in Markdown on a terminal: headings, and tables with lines."""

import io
import re

from rich.console import Console
from rich.markdown import Markdown

__all__ = ["render_terminal_page"]

_WIDEST = 100
# Code and escaped characters are kept. Elsewhere rich would drop <T> as HTML, and show __init__ as
# a bold init.
_MARKUP = re.compile(r"(`[^`\n]*`|\\.)|([_<])")


def render_terminal_page(markdown: str, *, width: int, colour: bool) -> str:
    """Return `markdown` drawn for a terminal of `width` cells, without styles unless `colour`."""
    drawn = io.StringIO()
    console = Console(
        file=drawn,
        width=min(width, _WIDEST),
        force_terminal=colour,
        color_system="standard" if colour else None,
    )
    literal = _MARKUP.sub(lambda found: found[1] or f"\\{found[2]}", markdown)
    console.print(Markdown(literal, hyperlinks=False))

    return drawn.getvalue()

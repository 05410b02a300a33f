"""Pages about a project: drawn on a terminal, plain Markdown elsewhere."""

from goop_mcp.cli.streams import show, terminal_width, wants_colour

__all__ = ["show_page"]


def show_page(markdown: str, *, colour: str) -> None:
    """Write the page `markdown` to stdout; `colour` is the value of --color."""
    width = terminal_width()
    if width is None:
        show(markdown)
        return

    # Loading rich takes time, which only a terminal needs.
    from goop_mcp.cli.rendering.terminal_page import render_terminal_page  # noqa: PLC0415

    coloured = wants_colour(colour)
    show(render_terminal_page(markdown, width=width, colour=coloured), colour=coloured)

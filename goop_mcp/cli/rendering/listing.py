"""Render names with their descriptions in two columns."""

from collections.abc import Iterable

import click

__all__ = ["render_listing"]

_UNWRAPPED = 1_000_000
_WIDEST = 100


def render_listing(rows: Iterable[tuple[str, str]], *, width: int | None, widest_name: int) -> str:
    """Return one entry a row, wrapped to a terminal of `width` cells; None puts each on one line.

    The description of a name longer than `widest_name` begins on the next line.
    """
    formatter = click.HelpFormatter(width=_UNWRAPPED if width is None else min(width, _WIDEST))
    rows = list(rows)
    longest = max((len(name) for name, _ in rows), default=0) + 2
    formatter.write_dl(rows, col_max=longest if width is None else min(longest, widest_name + 2))

    return formatter.getvalue()

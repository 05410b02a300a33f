"""Pages about a project: drawn on a terminal, plain Markdown elsewhere."""

import re
from collections.abc import Mapping
from typing import Final

from goop_mcp.cli.streams import show, terminal_width, wants_colour

__all__ = ["show_page", "with_commands_of_the_terminal"]

_NEXT: Final = re.compile(
    r"^(→ (?:Run: )?)`(/goop-[a-z-]+)`$|(\bNext: )(/goop-[a-z-]+)", re.MULTILINE
)
_ON_TERMINAL: Final[Mapping[str, str]] = {
    "/goop-discuss": "interview",
    "/goop-plan": "lock",
    "/goop-specify": "lock",
    "/goop-research": "phase research",
    "/goop-execute": "phase execute",
    "/goop-accept": "phase accept",
    "/goop-amend": "amend",
    "/goop-milestone": "round",
    "/goop-pr-review": "merge",
}
"""The step of `goop-mcp project` that a command of a host leads to."""


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


def with_commands_of_the_terminal(markdown: str, *, phase: str | None) -> str:
    """Return `markdown` with the command for a terminal after each command of a host to run next.

    In `phase` itself its command is the work, which no terminal does; accepting ends it.
    """

    def both(found: re.Match[str]) -> str:
        command = found[2] or found[4]
        step = _ON_TERMINAL.get(command)
        if phase == "idle" and step in ("interview", "lock"):
            step = "phase plan"
        if step == f"phase {phase}":
            step = "accept" if phase == "accept" else None
        if step is None:
            return found[0]
        mark = "`" if found[2] else ""
        return f"{found[0]} in the host, {mark}goop-mcp project {step}{mark} on a terminal"

    return _NEXT.sub(both, markdown)

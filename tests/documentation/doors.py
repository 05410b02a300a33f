"""The table of all actions in docs/security.md; `python -m tests.documentation.doors` writes it."""

import re
import sys
from collections.abc import Iterable
from typing import Final

from goop_mcp.server.actions import ACTIONS, Action
from goop_mcp.server.scopes import SCOPES
from tests.documentation.pages import read_page
from tests.repository import ROOT

__all__ = ["PAGE", "with_table"]

PAGE: Final = "docs/security.md"

_HEAD: Final = (
    "| what is done | scopes | at an MCP client | at the workbench | command |"
    " at a terminal | without a terminal |\n|---|---|---|---|---|---|---|\n"
)
_MOST: Final = 12
"""Pages of a row; a row with more has all that are only shown."""
_TABLE: Final = re.compile(r"^\| what is done \|.*?(?=^$)", re.MULTILINE | re.DOTALL)


def with_table(page: str) -> str:
    """Return the text of the page with the table as the code has it."""
    (_,) = _TABLE.finditer(page)
    return _TABLE.sub(lambda _: _HEAD + "".join(map(_row, ACTIONS)), page)


def _row(action: Action) -> str:
    clients = [*_codes(action.tools), *filter(None, [action.client])]
    cells = (
        action.does,
        ", ".join(f"`{scope}`" for scope in SCOPES if scope in action.scopes),
        ", ".join(clients),
        "every page" if len(action.pages) > _MOST else ", ".join(_codes(action.pages)),
        action.command,
        action.terminal,
        action.program,
    )
    return "".join(f"| {cell or '–'} " for cell in cells) + "|\n"


def _codes(doors: Iterable[str]) -> list[str]:
    """Return doors as code, each with the argument for which its row holds."""
    return [_code(door) for door in doors]


def _code(door: str) -> str:
    # The name of a page has two words.
    words = door.split(" ")
    size = 2 if words[0] in ("GET", "POST") else 1
    name, argument = " ".join(words[:size]), " ".join(words[size:])
    return f"`{name}` with `{argument}`" if argument else f"`{name}`"


def main() -> int:
    """Write the table into the page."""
    (ROOT / PAGE).write_text(with_table(read_page(PAGE)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

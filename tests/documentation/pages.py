"""The pages that people read, and the examples in them."""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from tests.repository import ROOT

__all__ = ["DOCS", "PAGES", "Fence", "fences", "read_page"]

DOCS = ROOT / "docs"
PAGES = tuple(
    sorted(
        path.relative_to(ROOT).as_posix()
        for path in (
            *ROOT.glob("*.md"),
            *DOCS.rglob("*.md"),
            *(ROOT / "packaging").rglob("README.md"),
        )
    )
)

_FENCE = re.compile(
    # An example inside of a list is indented.
    r"^(?P<indent> *)(?P<mark>`{3,})(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=indent)(?P=mark)$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Fence:
    """An example: its language, "" where none is named, and its text.

    `{toctree}` and the like are directives of the site, with the braces.
    """

    language: str
    text: str


def read_page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def fences(page: str, *languages: str) -> Iterator[Fence]:
    """Yield the examples of a page, all or those in some languages."""
    for match in _FENCE.finditer(read_page(page)):
        if not languages or match["language"] in languages:
            yield Fence(match["language"], textwrap.dedent(match["text"]))

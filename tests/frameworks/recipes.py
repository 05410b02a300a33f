"""The recipes of docs/frameworks.md, and the replies that tests let models send."""

import re
from typing import Any

from goop_mcp.validation.feedback import OPENING
from tests.repository import ROOT
from tests.retry.agents import BAD_AGENT, BAD_STATUS, GOOD, PROSE

__all__ = ["ALWAYS_ANOTHER_FAULT", "BAD_STATUS", "GOOD", "OPENING", "PROSE", "names_of"]

ALWAYS_ANOTHER_FAULT = (BAD_STATUS, BAD_AGENT, PROSE)
PAGE = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")


def names_of(heading: str, **given: object) -> dict[str, Any]:
    """Run the recipe under `heading` with the names that it leaves to the reader, and return what it defines."""
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None, f"docs/frameworks.md has no section {heading}"
    defined: dict[str, Any] = dict(given)
    for recipe in re.findall(r"^```python\n(.*?)^```$", section[1], re.MULTILINE | re.DOTALL):
        exec(compile(recipe, f"frameworks.md, {heading}", "exec"), defined)  # noqa: S102 - our own page
    return defined

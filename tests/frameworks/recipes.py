"""The recipes of the documentation, and the replies that tests let models send."""

import json
import re
from typing import Any

from pydantic import BaseModel

from goop_mcp.validation.feedback import OPENING
from tests.repository import ROOT
from tests.retry.agents import BAD_AGENT, BAD_STATUS, GOOD, PROSE

__all__ = [
    "ALWAYS_ANOTHER_ERROR",
    "BAD_STATUS",
    "GOOD",
    "OPENING",
    "PROSE",
    "FactoryReply",
    "RateLimitedError",
    "factory_reply",
    "names_of",
]

ALWAYS_ANOTHER_ERROR = (BAD_STATUS, BAD_AGENT, PROSE)

PAGE = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")


def names_of(heading: str, *, page: str = "frameworks.md", **given: object) -> dict[str, Any]:
    """Run the recipe under `heading` with the `given` names, and return what it defines."""
    section = re.search(
        rf"^##+ {re.escape(heading)}\n(.*?)(?=^##+ |\Z)",
        (ROOT / "docs" / page).read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    assert section is not None, f"docs/{page} has no section {heading}"
    defined: dict[str, Any] = dict(given)
    for recipe in re.findall(r"^```python\n(.*?)^```$", section[1], re.MULTILINE | re.DOTALL):
        # Our own page
        exec(compile(recipe, f"{page}, {heading}", "exec"), defined)  # noqa: S102

    return defined


class Deliverable(BaseModel):
    """One file of a factory reply."""

    path: str
    type: str
    description: str


class FactoryReply(BaseModel):
    """The reply of a factory agent as structured output; without a status it is a success."""

    status: str = "success"
    summary: str
    deliverables: list[Deliverable]
    next_action: str
    confidence: str


def factory_reply(**changed: object) -> str:
    """Return a factory reply as JSON, accepted unless `changed` is wrong."""
    values: dict[str, object] = {
        "status": "success",
        "summary": "The login form checks its input on the server.",
        "deliverables": [
            {"path": "src/login.py", "type": "config", "description": "The login form"}
        ],
        "next_action": "ready_for_review",
        "confidence": "high",
    }
    return json.dumps(
        {name: value for name, value in (values | changed).items() if value is not None}
    )


class RateLimitedError(Exception):
    """What clients of providers raise for HTTP 429, with `Retry-After` in seconds."""

    def __init__(self, *, retry_after: float) -> None:
        super().__init__("rate limited")
        self.status_code = 429
        self.retry_after = retry_after

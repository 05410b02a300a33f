"""Judge a reply and say what happens next."""

import json
from collections.abc import Mapping
from typing import Any

from goop_mcp.errors import UnreadableFileError
from goop_mcp.protocols import validate
from goop_mcp.routing import Decision, RoutingContext, route
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Mode

__all__ = ["parse_context", "route_reply"]


def route_reply(text: str, context: RoutingContext, *, protocol: str = "auto", mode: Mode = "lenient") -> Decision:
    """Return the decision on `text`; what the context expects of agent and phase is expected of the reply too."""
    expected = Expectations(agent=context.expected_agent, phase=context.phase, profile=context.profile)
    return route(validate(text, protocol=protocol, mode=mode, expected=expected), context)


def parse_context(text: str, name: str) -> RoutingContext:
    """Return the context written as JSON in `text`, which came from the file `name`.

    Raises UnreadableFileError when it is no JSON object and ContextError, which names the field, for a wrong value.
    """
    try:
        values: Mapping[str, Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError(f"{name!r} is no JSON; write the context as one JSON object.") from error
    return RoutingContext.from_dict(values)

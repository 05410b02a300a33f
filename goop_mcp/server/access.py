"""What a message does with stored state: nothing, reads it or writes it."""

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver.tools import Tool

from goop_mcp.server.actions import is_listed
from goop_mcp.server.permissions import needed_scopes
from goop_mcp.server.scopes import WORKSPACE, WRITE

__all__ = ["Access", "access_of"]


class Access(Enum):
    """What a message does with stored state."""

    NONE = auto()
    READS = auto()
    WRITES = auto()


_READING: Final = frozenset(
    {"resources/list", "resources/read", "prompts/get", "completion/complete"}
)
_OF_STORED_REPLIES: Final = ("report", "agent", "last")
_READING_WITH: Final[Mapping[str, tuple[str, ...]]] = {
    "explain_rule": (),
    "validate_report": _OF_STORED_REPLIES,
    "route_next_action": _OF_STORED_REPLIES,
}
"""Tools that read no stored state, unless one of these arguments, or one that needs a scope of its
own, is given."""


def access_of(
    tool_named: Callable[[str], Tool | None],
) -> Callable[[ServerRequestContext[Any, Any]], Access]:
    """Return a function that says what a request does, by its method and arguments."""

    def access(ctx: ServerRequestContext[Any, Any]) -> Access:
        if ctx.method != "tools/call":
            return Access.READS if ctx.method in _READING else Access.NONE

        params: Mapping[str, Any] = ctx.params or {}
        name, arguments = params.get("name"), params.get("arguments")
        tool = tool_named(name) if isinstance(name, str) else None
        return (
            Access.NONE
            if tool is None
            else _of_tool(tool, arguments if isinstance(arguments, Mapping) else {})
        )

    return access


def _of_tool(tool: Tool, arguments: Mapping[str, Any]) -> Access:
    if not is_listed(tool.name):
        # A program has added it, and knows what it does.
        only_reads = tool.annotations is not None and tool.annotations.read_only_hint
        return Access.READS if only_reads else Access.WRITES

    scopes = needed_scopes(tool, arguments)
    if WRITE in scopes:
        return Access.WRITES
    reading = _READING_WITH.get(tool.name)
    is_outside = (
        reading is not None
        and WORKSPACE not in scopes
        and not any(arguments.get(each) for each in reading)
    )
    return Access.NONE if is_outside else Access.READS

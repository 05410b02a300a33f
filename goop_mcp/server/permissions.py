"""What the caller of a request may do with a tool, by the scopes of the token that came with it."""

from collections.abc import Collection, Mapping

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver.tools import Tool
from pydantic import JsonValue

from goop_mcp.server.scopes import ALL_SCOPES, READ, WORKSPACE, WRITE

__all__ = ["is_offered", "name_of_caller", "refusal", "scopes_of_caller"]

_LOOKS = "check_workspace"


def scopes_of_caller(*, without_token: Collection[str] = ALL_SCOPES) -> Collection[str]:
    """Return the scopes of whoever sent the request that is being served; `without_token` where no token came."""
    token = get_access_token()
    return without_token if token is None else token.scopes


def name_of_caller() -> str | None:
    """Return the name of the token that came with the request, and of the person it was issued to; None without one."""
    token = get_access_token()
    if token is None:
        return None
    return (
        f"{token.client_id} {token.subject}"
        if token.subject and token.subject != token.client_id
        else token.client_id
    )


def is_offered(tool: Tool, scopes: Collection[str]) -> bool:
    """Tell whether a caller with `scopes` may use `tool` at all; only such tools are listed."""
    return READ in scopes and (WRITE in scopes or not _writes(tool))


def refusal(tool: Tool, arguments: Mapping[str, JsonValue], scopes: Collection[str]) -> str | None:
    """Return why a caller with `scopes` may not call `tool` like this and what to do, None where it may."""
    if not is_offered(tool, scopes):
        missing = WRITE if READ in scopes else READ
        return (
            f"{tool.name} needs the scope {missing}, which this token does not have; go on without"
            " it, or ask whoever runs the server for a token that has it."
        )

    if _looks(tool, arguments) and WORKSPACE not in scopes:
        return (
            f"{_LOOKS} looks at the files of the project, which needs the scope {WORKSPACE}, and"
            f" this token does not have it; call {tool.name} with {_LOOKS}=false."
        )

    return None


def _writes(tool: Tool) -> bool:
    return tool.annotations is None or tool.annotations.read_only_hint is not True


def _looks(tool: Tool, arguments: Mapping[str, JsonValue]) -> bool:
    argument = tool.parameters.get("properties", {}).get(_LOOKS, {})
    return arguments.get(_LOOKS, argument.get("default", False)) is True

"""Decide what the caller of a request may do with a tool, by the scopes of its token."""

from collections.abc import Collection, Mapping

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver.tools import Tool
from pydantic import JsonValue

from goop_mcp.server.scopes import ALL_SCOPES, READ, WORKSPACE, WRITE

__all__ = ["is_offered", "name_of_caller", "refusal", "scopes_of_caller"]

_WORKSPACE_ARGUMENT = "check_workspace"
_FILE_ARGUMENT = "file"


def scopes_of_caller(*, without_token: Collection[str] = ALL_SCOPES) -> Collection[str]:
    """Return the scopes of the current request's caller, `without_token` if it has no token."""
    token = get_access_token()
    return without_token if token is None else token.scopes


def name_of_caller() -> str | None:
    """Return the client and the subject that the request's token names, None without a token."""
    token = get_access_token()
    if token is None:
        return None
    return (
        f"{token.client_id} {token.subject}"
        if token.subject and token.subject != token.client_id
        else token.client_id
    )


def is_offered(tool: Tool, scopes: Collection[str]) -> bool:
    """Whether a caller with `scopes` may use `tool` at all; only such tools are listed."""
    only_reads = tool.annotations is not None and tool.annotations.read_only_hint is True
    return READ in scopes and (WRITE in scopes or only_reads)


def refusal(tool: Tool, arguments: Mapping[str, JsonValue], scopes: Collection[str]) -> str | None:
    """Return why `scopes` do not allow this call of `tool` and what to do, None if they do."""
    if not is_offered(tool, scopes):
        missing = WRITE if READ in scopes else READ
        return (
            f"{tool.name} needs the scope {missing}, which this token does not have; continue"
            " without it, or ask whoever runs the server for a token that has it."
        )

    schema = tool.parameters.get("properties", {}).get(_WORKSPACE_ARGUMENT, {})
    looks_at_files = arguments.get(_WORKSPACE_ARGUMENT, schema.get("default", False)) is True
    if looks_at_files and WORKSPACE not in scopes:
        return (
            f"{_WORKSPACE_ARGUMENT} looks at the files of the project, which needs the scope"
            f" {WORKSPACE}, and this token does not have it; call {tool.name} with"
            f" {_WORKSPACE_ARGUMENT}=false."
        )

    # A verdict quotes what it judges, so that judging a file reads it out.
    reads_a_file = (
        _FILE_ARGUMENT in tool.parameters.get("properties", {})
        and arguments.get(_FILE_ARGUMENT) is not None
    )
    if reads_a_file and WORKSPACE not in scopes:
        return (
            f"{_FILE_ARGUMENT} reads a file of the project, which needs the scope {WORKSPACE}, and"
            f" this token does not have it; call {tool.name} with the reply as text."
        )

    return None

"""Decide what the caller of a request may do with a tool, by the scopes of its token."""

from collections.abc import Collection, Mapping
from typing import Final

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver.tools import Tool
from pydantic import JsonValue

from goop_mcp.server.actions import Needs, needs_of
from goop_mcp.server.scopes import ALL_SCOPES, READ, WRITE

__all__ = ["is_offered", "name_of_caller", "needed_scopes", "refusal", "scopes_of_caller"]

_INSTEAD: Final[Mapping[str, tuple[str, str]]] = {
    "check_workspace": ("looks at the files of the project", "check_workspace=false"),
    # A verdict quotes what it judges, so that judging a file reads it out.
    "file": ("reads a file of the project", "the reply as text"),
    "write": ("writes a file of the project", "write=false"),
}
"""What an argument does that needs a scope of its own, and with what to call without that scope."""

_ADDED: Final = Needs(scopes=frozenset({READ, WRITE}), arguments={})
"""What a tool needs that a program adds to the server, as the table knows nothing of it."""


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
    return _needs(tool).missing(scopes) is None


def refusal(tool: Tool, arguments: Mapping[str, JsonValue], scopes: Collection[str]) -> str | None:
    """Return why `scopes` do not allow this call of `tool` and what to do, None if they do."""
    needs = _needs(tool)
    if (missing := needs.missing(scopes)) is not None:
        return (
            f"{tool.name} needs the scope {missing}, which this token does not have; continue"
            " without it, or ask whoever runs the server for a token that has it."
        )

    given = _given(tool, arguments)
    if (lacking := needs.missing_for(given, scopes)) is None:
        return None

    argument, scope = lacking
    does, instead = _INSTEAD[argument]
    return (
        f"{argument} {does}, which needs the scope {scope}, and this token does not have it; call"
        f" {tool.name} with {instead}."
    )


def needed_scopes(tool: Tool, arguments: Mapping[str, JsonValue]) -> frozenset[str]:
    """Return the scopes that this call of `tool` needs."""
    needs = _needs(tool)
    return needs.scopes.union(*(needs.arguments[name] for name in _given(tool, arguments)))


def _given(tool: Tool, arguments: Mapping[str, JsonValue]) -> list[str]:
    """Return those arguments that need scopes of their own and are given, or are by default."""
    schema = tool.parameters.get("properties", {})
    values = {
        name: arguments.get(name, schema.get(name, {}).get("default"))
        for name in _needs(tool).arguments
    }
    return [name for name, value in values.items() if value not in (None, False)]


def _needs(tool: Tool) -> Needs:
    try:
        return needs_of(tool.name)
    except LookupError:
        return _ADDED

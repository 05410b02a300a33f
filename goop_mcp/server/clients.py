"""Which client a message comes from, as far as shares of what there is are concerned."""

from collections.abc import Mapping
from typing import Any, Final

from mcp.server.context import ServerRequestContext

__all__ = ["CLIENT_KEY", "SIZE_KEY", "client_of_message", "size_of_message"]

CLIENT_KEY: Final = "goop_mcp.client"
"""Under this key of its scope an HTTP request has the name of its client."""

SIZE_KEY: Final = "goop_mcp.size"
"""Under this key of its scope an HTTP request has the length of its body."""

_ONLY: Final = "the client at the other end"


def client_of_message(ctx: ServerRequestContext[Any, Any]) -> str:
    """Return the client that sent a message; without a network there is only one."""
    client = _noted(ctx, CLIENT_KEY)
    return client if isinstance(client, str) else _ONLY


def size_of_message(ctx: ServerRequestContext[Any, Any]) -> int:
    """Return how long the body of a message was, 0 where that is not known."""
    size = _noted(ctx, SIZE_KEY)
    return size if isinstance(size, int) else 0


def _noted(ctx: ServerRequestContext[Any, Any], key: str) -> object:
    scope = getattr(ctx.request, "scope", None)
    return scope.get(key) if isinstance(scope, Mapping) else None

"""Identify the client of a message, and count what each client has in progress, for limits."""

from collections.abc import Mapping
from typing import Any, Final

from mcp.server.context import ServerRequestContext

__all__ = [
    "CLIENT_KEY",
    "SIZE_KEY",
    "ClientCounter",
    "client_of_message",
    "scope_value",
    "size_of_message",
]

CLIENT_KEY: Final = "goop_mcp.client"
"""Key of the ASGI scope for the name of the client."""

SIZE_KEY: Final = "goop_mcp.size"
"""Key of the ASGI scope for the length of the body, in bytes."""

_ONLY: Final = "the client at the other end"


def client_of_message(ctx: ServerRequestContext[Any, Any]) -> str:
    """Return the client that sent a message; on stdio there is only one."""
    client = scope_value(ctx, CLIENT_KEY)
    return client if isinstance(client, str) else _ONLY


def size_of_message(ctx: ServerRequestContext[Any, Any]) -> int:
    """Return the bytes of the body of a message, 0 if they are not known."""
    size = scope_value(ctx, SIZE_KEY)
    return size if isinstance(size, int) else 0


def scope_value(ctx: ServerRequestContext[Any, Any], key: str) -> object:
    """Return what the ASGI scope of a message has under `key`, None without a scope or key."""
    scope = getattr(ctx.request, "scope", None)
    return scope.get(key) if isinstance(scope, Mapping) else None


class ClientCounter:
    """A counter by client, which forgets clients at 0.

    Reading a count or the total takes constant time.
    """

    def __init__(self) -> None:
        self.total = 0
        self._of: dict[str, int] = {}

    def __len__(self) -> int:
        """Return how many clients have a count other than 0."""
        return len(self._of)

    def of(self, client: str) -> int:
        """Return the count of `client`."""
        return self._of.get(client, 0)

    def add(self, client: str, amount: int = 1) -> None:
        """Add `amount` to the count of `client`; a negative amount subtracts."""
        self.total += amount
        if rest := self.of(client) + amount:
            self._of[client] = rest
        else:
            self._of.pop(client, None)

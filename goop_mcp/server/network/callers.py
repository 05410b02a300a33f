"""Who asks: everything behind the door is told by the scope of the request."""

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.types import Scope

from goop_mcp.settings import DEFAULT_TENANT

__all__ = ["Caller", "address_of", "caller_of", "client_of"]


class Caller(AccessToken):
    """Who asks: the name is `client_id`. The token itself is not kept."""

    tenant: str = DEFAULT_TENANT


def caller_of(scope: Scope) -> Caller | None:
    """Return who asks, None where nobody has to say so."""
    user = scope.get("user")
    token = user.access_token if isinstance(user, AuthenticatedUser) else None
    return token if isinstance(token, Caller) else None


def client_of(scope: Scope) -> str:
    """Return what counts as one client: a token, or where there are none an address."""
    caller = caller_of(scope)
    return address_of(scope) if caller is None else f"{caller.tenant} {caller.client_id} {caller.subject or ''}"


def address_of(scope: Scope) -> str:
    """Return the address of the other end, without its port."""
    client = scope.get("client")
    return f"address {client[0]}" if client else "address unknown"

"""Identify the caller of a request by its ASGI scope."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.types import Scope

from goop_mcp.settings import DEFAULT_TENANT

__all__ = ["Caller", "address_of", "caller_of", "client_of", "limited_as"]


class Caller(AccessToken):
    """The caller of a request, named by `client_id`. The token itself is not kept."""

    tenant: str = DEFAULT_TENANT


def caller_of(scope: Scope) -> Caller | None:
    """Return the caller, None if no token is required."""
    user = scope.get("user")
    token = user.access_token if isinstance(user, AuthenticatedUser) else None
    return token if isinstance(token, Caller) else None


def client_of(scope: Scope) -> str:
    """Return the client for limits: the holder of a token, or an address without tokens."""
    caller = caller_of(scope)
    return (
        limited_as(scope)
        if caller is None
        else f"{caller.tenant} {caller.client_id} {caller.subject or ''}"
    )


def limited_as(scope: Scope) -> str:
    """Return the client's address for limits; all addresses that one host can take are the same."""
    client = scope.get("client")
    return f"address {_network_of(client[0])}" if client else "address unknown"


@lru_cache(maxsize=4_096)
def _network_of(host: str) -> str:
    try:
        address: IPv4Address | IPv6Address = ip_address(host.partition("%")[0])
    except ValueError:
        return host

    # A socket for both families shows IPv4 clients as ::ffff:a.b.c.d, which would all be in one
    # network.
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_loopback:
        return "loopback"
    # A host may use any address of its /64 network.
    return (
        str(IPv6Network((address, 64), strict=False))
        if isinstance(address, IPv6Address)
        else str(address)
    )


def address_of(scope: Scope) -> str:
    """Return the client's address without its port."""
    client = scope.get("client")
    return f"address {client[0]}" if client else "address unknown"

"""Accept only requests that name an allowed host, and come from no page of another site.

A page in a browser can make its name point to this machine (DNS rebinding); the header Host then
holds that name. The SDK has such a guard too, but disables it for addresses other than loopback.
"""

import logging

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from goop_mcp.server.http.error_responses import refusal

__all__ = ["HostOriginCheck"]

_logger = logging.getLogger(__name__)

# If a proxy uses the one header and this server the other, a second request could be hidden inside
# the first (request smuggling).
_TWO_LENGTHS = "Content-Length and Transfer-Encoding say where the body ends; send one of them"


class HostOriginCheck:
    """Answers 421 to a foreign Host and 403 to a foreign Origin, before anything else is read.

    And 400 to a request with two lengths, as a proxy may use the other one.
    """

    def __init__(self, app: ASGIApp, *, hosts: tuple[str, ...], origins: tuple[str, ...]) -> None:
        """Allow names with or without a port, and origins, in which a final `:*` is any port."""
        self._app = app
        self._hosts = frozenset(hosts)
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        origins = [origin.lower() for origin in headers.getlist("origin")]
        answer = None
        if "content-length" in headers and "transfer-encoding" in headers:
            answer = refusal(400, "two_lengths", _TWO_LENGTHS, headers={"Connection": "close"})
        elif host not in self._hosts and _without_port(host) not in self._hosts:
            _logger.warning(
                "refused a request for the host %.200r; --allowed-host accepts it",
                headers.get("host"),
            )
            answer = refusal(
                421,
                "unknown_host",
                "this server is not known by that name; ask for an allowed host",
            )
        elif not all(
            origin in self._origins or f"{_without_port(origin)}:*" in self._origins
            for origin in origins
        ):
            _logger.warning(
                "refused a request from %.200r; --allowed-origin accepts it", headers.get("origin")
            )
            answer = refusal(
                403,
                "unknown_origin",
                "pages of that origin may not ask this server; use an allowed one",
            )

        await (answer or self._app)(scope, receive, send)


def _without_port(place: str) -> str:
    """Return `place` without the digits after its last colon, if there are any."""
    name, colon, port = place.rpartition(":")
    return name if colon and port.isascii() and port.isdecimal() else place

"""Answer what is judged at once without a stream.

For each request of the later era the SDK opens a stream and starts two tasks, so that something can
be told on the way and the work ends with the client. A short reply is judged in one go, with
nothing to tell and nowhere to stop: there all that takes longer than the judging itself.
"""

from typing import Final

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from goop_mcp.server.network.bodies import replay
from goop_mcp.server.replies import JUDGED_AT_ONCE, LONGEST_AT_ONCE, WORKSPACE_ARGUMENT

__all__ = ["DirectWhereItCan"]

_LOOKS_AT_FILES: Final = WORKSPACE_ARGUMENT.encode()


class DirectWhereItCan:
    """Hands a request with a whole body to the one of two managers that answers it in the way it needs."""

    def __init__(
        self, *, streaming: StreamableHTTPSessionManager, direct: StreamableHTTPSessionManager
    ) -> None:
        self._streaming = streaming
        self._direct = direct

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if not _names_a_quick_tool(Headers(scope=scope)):
            await self._streaming.handle_request(scope, receive, send)
            return

        body = (await receive()).get("body", b"")
        is_quick = len(body) <= LONGEST_AT_ONCE and _LOOKS_AT_FILES not in body
        manager = self._direct if is_quick else self._streaming
        await manager.handle_request(scope, replay(body, receive), send)


def _names_a_quick_tool(headers: Headers) -> bool:
    """Tell whether a request says that it calls one; the SDK refuses it when its body says something else."""
    return (
        headers.get("mcp-name") in JUDGED_AT_ONCE
        and headers.get("mcp-method") == "tools/call"
        and headers.get("mcp-protocol-version") in MODERN_PROTOCOL_VERSIONS
        # Both have to be accepted here as well as elsewhere.
        and "text/event-stream" in headers.get("accept", "")
    )

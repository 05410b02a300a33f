"""Answer quick calls without a stream.

For each request of 2026-07-28 the SDK opens a stream and starts two tasks: for notifications during
the work, and to cancel the work when the client disconnects. A short reply is judged without
notifications and without a point to cancel at, and the stream would take longer than the judging.
"""

from typing import Final

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from goop_mcp.server.http.body import replay
from goop_mcp.server.tools.replies import JUDGED_AT_ONCE, LONGEST_AT_ONCE, WORKSPACE_ARGUMENT

__all__ = ["FastPath"]

_LOOKS_AT_FILES: Final = WORKSPACE_ARGUMENT.encode()


class FastPath:
    """Passes a request with a whole body to the manager that answers directly, or by a stream."""

    def __init__(
        self, *, streaming: StreamableHTTPSessionManager, direct: StreamableHTTPSessionManager
    ) -> None:
        self._streaming = streaming
        self._direct = direct

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = Headers(scope=scope)
        # The SDK refuses the request if its body names another tool than its headers. Both media
        # types have to be accepted, as with a stream.
        names_a_quick_tool = (
            headers.get("mcp-name") in JUDGED_AT_ONCE
            and headers.get("mcp-method") == "tools/call"
            and headers.get("mcp-protocol-version") in MODERN_PROTOCOL_VERSIONS
            and "text/event-stream" in headers.get("accept", "")
        )
        if not names_a_quick_tool:
            await self._streaming.handle_request(scope, receive, send)
            return

        body = (await receive()).get("body", b"")
        is_quick = len(body) <= LONGEST_AT_ONCE and _LOOKS_AT_FILES not in body
        manager = self._direct if is_quick else self._streaming
        await manager.handle_request(scope, replay(body, receive), send)

"""The id of an HTTP request: the caller's id if it is usable; the answer states it too."""

from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from goop_mcp.current_request import ClientMessage, answering, request_id
from goop_mcp.server.telemetry import REQUEST_ID_KEY

__all__ = ["HEADER", "RequestIds"]

HEADER: Final = "X-Request-Id"
_NAME: Final = HEADER.lower().encode()


class RequestIds:
    """ASGI middleware that gives each request an id; the outermost one, so that refusals have it.

    The id is in the scope under REQUEST_ID_KEY too: a session may answer in a task that does not
    inherit the context of the request.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Give an HTTP request its id; pass anything else on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        id = request_id(Headers(scope=scope).get(HEADER))
        header = (_NAME, id.encode())

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), header]
            await send(message)

        with answering(ClientMessage(id)):
            await self._app({**scope, REQUEST_ID_KEY: id}, receive, send_with_id)

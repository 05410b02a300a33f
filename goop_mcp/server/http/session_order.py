"""Give each message of a session its place when the headers of its request have arrived (D-112)."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from goop_mcp.server.http.error_responses import refusal
from goop_mcp.server.http.principal import caller_of
from goop_mcp.server.order import PLACE_KEY, CallOrder, TooManyCallsError

__all__ = ["SessionOrder"]


class SessionOrder:
    """Takes the places before bodies are read, since a short body may overtake a long one.

    Answers 503 to a session with too much in progress. Requests that name no session get no place.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._order = CallOrder()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        session = Headers(scope=scope).get("mcp-session-id")
        if session is None or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return

        # With the caller: the id of another's session must not hold up its calls.
        caller = caller_of(scope)
        name = f"{caller.tenant} {caller.client_id} {caller.subject}" if caller else ""
        try:
            place = self._order.take(f"{session} {name}")
        except TooManyCallsError as error:
            await refusal(503, "busy", str(error), headers={"Retry-After": "1"})(
                scope, receive, send
            )
            return

        try:
            await self._app({**scope, PLACE_KEY: place}, receive, send)
        finally:
            # A call that has begun goes on without its client, and leaves the place at its end.
            if not place.is_claimed:
                place.leave()

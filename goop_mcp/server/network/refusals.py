"""How a request is turned away: one shape of JSON with the cause and the next step, and nothing about this machine."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["InOneForm", "refusal"]

_NEXT: Final[Mapping[int, tuple[str, str]]] = {
    400: (
        "bad_request",
        "send one JSON message of MCP, with Content-Type: application/json and what the address asks for",
    ),
    404: ("not_found", "the session has ended or never was; connect again"),
    405: ("not_allowed", "use a method that the header Allow names"),
    406: ("not_acceptable", "send Accept: application/json, text/event-stream"),
    500: ("fault", "this is a fault of the server, and its log says more; try once more, then report it"),
}
_FAULT: Final = {"type": "http.response.start", "status": 500, "headers": []}
_OTHERWISE: Final = ("refused", "see the status for what is wrong")


def refusal(status: int, error: str, description: str, *, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer to a request that is turned away; `error` is a short name for programs (after RFC 6750)."""
    return JSONResponse({"error": error, "error_description": description}, status_code=status, headers=headers)


class InOneForm:
    """Puts what libraries refuse in a word of plain text, and what fails, into the form of all other refusals."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        refused: Response | None = None
        is_begun = False

        async def in_form(message: Message) -> None:
            nonlocal refused, is_begun
            if message["type"] == "http.response.start" and _is_bare(message):
                refused = _in_form(message)
                await refused(scope, receive, send)
            elif refused is None:
                await send(message)
            is_begun = True

        try:
            await self._app(scope, receive, in_form)
        except Exception:
            if scope["type"] == "http" and not is_begun:
                await _in_form(_FAULT)(scope, receive, send)
            raise


def _is_bare(start: Message) -> bool:
    """Tell whether an answer is a refusal in other words than JSON."""
    kind = Headers(raw=start.get("headers", [])).get("content-type", "")
    return start["status"] >= HTTPStatus.BAD_REQUEST and not kind.startswith("application/json")


def _in_form(start: Message) -> Response:
    error, step = _NEXT.get(start["status"], _OTHERWISE)
    headers = Headers(raw=start.get("headers", []))
    kept = {name: headers[name] for name in ("allow", "retry-after", "www-authenticate") if name in headers}
    return refusal(start["status"], error, f"{HTTPStatus(start['status']).phrase.lower()}; {step}", headers=kept)

"""How a request is turned away: one shape of JSON with the cause and the next step, and nothing about this machine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from mcp.types import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, UNSUPPORTED_PROTOCOL_VERSION
from mcp.types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    KNOWN_PROTOCOL_VERSIONS,
    MODERN_PROTOCOL_VERSIONS,
)
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["NO_JSON", "NO_MESSAGE", "InOneForm", "refusal", "rpc_refusal"]

NO_JSON: Final = "the body is no JSON, or is cut off; send one message of JSON-RPC, in UTF-8"
NO_MESSAGE: Final = (
    'the body is no message of JSON-RPC; send one object with jsonrpc "2.0", a method, '
    "params that are an object, and for a request an id"
)

_NEXT: Final[Mapping[int, tuple[str, str]]] = {
    400: (
        "bad_request",
        "post one JSON message of MCP to the address that the stream at /sse names first",
    ),
    404: ("not_found", "the session has ended or never was; connect again"),
    405: ("not_allowed", "use a method that the header Allow names"),
    406: ("not_acceptable", "send Accept: application/json, text/event-stream"),
    500: (
        "fault",
        "this is a fault of the server, and its log says more; try once more, then report it",
    ),
}
_OTHERWISE: Final = ("refused", "see the status for what is wrong")
_NO_REPLAY: Final = (
    "what a stream has told is not kept, so none goes on where it broke off; ask without"
    " Last-Event-ID"
)


@dataclass(frozen=True, slots=True)
class _Words:
    """What is told in place of an error of the SDK that begins with `begins`."""

    begins: str
    code: int
    message: str
    retry_after: str | None = None


_GONE: Final = "the session has ended or never was; send initialize to open another"
_RPC: Final = (
    _Words("Validation error", INVALID_REQUEST, NO_MESSAGE),
    _Words("Parse error", PARSE_ERROR, NO_JSON),
    _Words(
        "Bad Request: Missing session ID",
        INVALID_REQUEST,
        "the request names no session; send initialize first, and its Mcp-Session-Id with all that"
        f" follows, or speak revision {MODERN_PROTOCOL_VERSIONS[-1]}, which has no sessions",
    ),
    _Words("Session not found", INVALID_REQUEST, _GONE),
    _Words("Not Found: ", INVALID_REQUEST, _GONE),
    _Words(
        "Too many open sessions",
        INTERNAL_ERROR,
        "as many sessions are open as there may be; end those you need no more with DELETE, or try"
        " again later",
        retry_after="60",
    ),
)
_NO_ENVELOPE: Final = "params._meta must be"


def refusal(
    status: int, error: str, description: str, *, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the answer to a request that is turned away; `error` is a short name for programs (after RFC 6750)."""
    return JSONResponse(
        {"error": error, "error_description": description}, status_code=status, headers=headers
    )


def rpc_refusal(
    status: int, code: int, message: str, *, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the answer to a message that is turned away before anybody has read its id."""
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return JSONResponse(error, status_code=status, headers=headers)


class InOneForm:
    """Puts what libraries refuse in words of their own, and what fails, into ours; what succeeds passes through."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; what is none passes by."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        is_answered = False
        head: Message | None = None
        words = bytearray()

        async def in_form(message: Message) -> None:
            nonlocal is_answered, head
            if (
                message["type"] == "http.response.start"
                and message["status"] >= HTTPStatus.BAD_REQUEST
            ):
                head = message
                return

            if head is None:
                is_answered = True
                await send(message)
                return

            words.extend(message.get("body", b""))
            if not message.get("more_body", False):
                is_answered = True
                await _in_our_words(head, bytes(words), Headers(scope=scope))(scope, receive, send)

        try:
            await self._app(scope, receive, in_form)
        except Exception:
            if not is_answered:
                await refusal(500, *_NEXT[500])(scope, receive, send)

            raise

        if not is_answered and "last-event-id" in Headers(scope=scope):
            # The SDK leaves such a request without any answer.
            await refusal(400, "no_replay", _NO_REPLAY)(scope, receive, send)


def _in_our_words(head: Message, words: bytes, asked: Headers) -> Response:
    status, headers = head["status"], MutableHeaders(raw=head.get("headers", []))
    # The length follows from the words, and a session that was never opened has no id that anybody
    # should keep.
    for name in ("content-length", "mcp-session-id"):
        del headers[name]

    if not headers.get("content-type", "").startswith("application/json"):
        del headers["content-type"]
        error, step = _NEXT.get(status, _OTHERWISE)
        return refusal(
            status, error, f"{HTTPStatus(status).phrase.lower()}; {step}", headers=headers
        )

    told = json.loads(words) if words else {}
    if (
        isinstance(told.get("error"), dict)
        and (better := _better(told["error"].get("message", ""), asked)) is not None
    ):
        told["error"], again = better
        headers.update(again)
        words = json.dumps(told, separators=(",", ":")).encode()

    return Response(words, status_code=status, headers=headers)


def _better(message: str, asked: Headers) -> tuple[Mapping[str, Any], Mapping[str, str]] | None:
    """Return an error of JSON-RPC in our words and headers to go with it, None where `message` is as good as ours."""
    version = asked.get("mcp-protocol-version", KNOWN_PROTOCOL_VERSIONS[0])
    if message.startswith(_NO_ENVELOPE) and version not in KNOWN_PROTOCOL_VERSIONS:
        return _unknown_version(version), {}

    for words in _RPC:
        if message.startswith(words.begins):
            again = {"Retry-After": words.retry_after} if words.retry_after else {}
            return {"code": words.code, "message": words.message}, again

    return None


def _unknown_version(version: str) -> Mapping[str, Any]:
    spoken = (
        f"{', '.join(MODERN_PROTOCOL_VERSIONS)}, and after initialize"
        f" {', '.join(HANDSHAKE_PROTOCOL_VERSIONS)}"
    )
    return {
        "code": UNSUPPORTED_PROTOCOL_VERSION,
        "message": f"MCP-Protocol-Version names no revision that is spoken here; expected {spoken}",
        "data": {"supported": list(MODERN_PROTOCOL_VERSIONS), "requested": version[:64]},
    }

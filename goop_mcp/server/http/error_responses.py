"""Refuse requests in one form of JSON: the cause and a next step, nothing about this machine."""

import json
from collections.abc import Mapping, Sequence
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

from goop_mcp.server.unserved_ids import AnswerId

__all__ = ["NO_JSON", "NO_MESSAGE", "JsonErrors", "refusal", "rpc_refusal"]

NO_JSON: Final = "the body is not JSON, or is cut off; send one message of JSON-RPC, in UTF-8"
NO_MESSAGE: Final = (
    'the body is not a JSON-RPC message; send one object with jsonrpc "2.0", a method, '
    "params that are an object, and for a request an id"
)

_NEXT: Final[Mapping[int, tuple[str, str]]] = {
    400: (
        "bad_request",
        "post one JSON message of MCP to the address that the stream at /sse names first",
    ),
    404: ("not_found", "the session has ended or never existed; connect again"),
    405: ("not_allowed", "use a method that the header Allow names"),
    406: ("not_acceptable", "send Accept: application/json, text/event-stream"),
    500: (
        "fault",
        "this is an error of the server, and its log says more; try once more, then report it",
    ),
}
_OTHERWISE: Final = ("refused", "see the status for what is wrong")
_NO_REPLAY: Final = (
    "sent events are not kept, and no stream can be resumed; ask without Last-Event-ID"
)


@dataclass(frozen=True, slots=True)
class _Replacement:
    """The error that replaces an error of the SDK whose message begins with `begins`."""

    begins: str
    code: int
    message: str
    retry_after: str | None = None


_GONE: Final = "the session has ended or never existed; send initialize to open another"
_RPC: Final = (
    _Replacement("Validation error", INVALID_REQUEST, NO_MESSAGE),
    _Replacement("Parse error", PARSE_ERROR, NO_JSON),
    _Replacement(
        "Bad Request: Missing session ID",
        INVALID_REQUEST,
        "the request names no session; send initialize first, and its Mcp-Session-Id with all that"
        f" follows, or speak revision {MODERN_PROTOCOL_VERSIONS[-1]}, which has no sessions",
    ),
    _Replacement("Session not found", INVALID_REQUEST, _GONE),
    _Replacement("Not Found: ", INVALID_REQUEST, _GONE),
    _Replacement(
        "Too many open sessions",
        INTERNAL_ERROR,
        "all sessions that this server allows are open; end those you need no more with DELETE, or"
        " try again later",
        retry_after="60",
    ),
)
_NO_ENVELOPE: Final = "params._meta must be"


def refusal(
    status: int, error: str, description: str, *, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the refusal of a request; `error` is a short name for programs, as in RFC 6750."""
    return JSONResponse(
        {"error": error, "error_description": description}, status_code=status, headers=headers
    )


def rpc_refusal(
    status: int,
    code: int,
    message: str,
    *,
    id: AnswerId = None,
    batch: Sequence[AnswerId] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the refusal of the message `id`, None if that is unknown, or of each id of `batch`."""
    errors = [
        {"jsonrpc": "2.0", "id": each, "error": {"code": code, "message": message}}
        for each in batch or [id]
    ]
    return JSONResponse(errors if batch else errors[0], status_code=status, headers=headers)


class JsonErrors:
    """Rewrites refusals of libraries, and failures, into this form; other answers pass through."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request; pass anything else on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        is_answered = False
        head: Message | None = None
        body = bytearray()

        async def in_form(message: Message) -> None:
            nonlocal is_answered, head
            if (
                message["type"] == "http.response.start"
                and message["status"] >= HTTPStatus.BAD_REQUEST
            ):
                # The head waits for the body, from which the new answer is made.
                head = message
                return

            if head is None:
                is_answered = True
                await send(message)
                return

            body.extend(message.get("body", b""))
            if not message.get("more_body", False):
                is_answered = True
                await _rewritten(head, bytes(body), Headers(scope=scope))(scope, receive, send)

        try:
            await self._app(scope, receive, in_form)
        except Exception:
            if not is_answered:
                await refusal(500, *_NEXT[500])(scope, receive, send)

            raise

        if not is_answered and "last-event-id" in Headers(scope=scope):
            # The SDK does not answer such a request.
            await refusal(400, "no_replay", _NO_REPLAY)(scope, receive, send)


def _rewritten(head: Message, body: bytes, asked: Headers) -> Response:
    status, headers = head["status"], MutableHeaders(raw=head.get("headers", []))
    # The body gets another length, and a client must not keep the id of a session that was refused.
    for name in ("content-length", "mcp-session-id"):
        del headers[name]

    if not headers.get("content-type", "").startswith("application/json"):
        del headers["content-type"]
        error, step = _NEXT.get(status, _OTHERWISE)
        return refusal(
            status, error, f"{HTTPStatus(status).phrase.lower()}; {step}", headers=headers
        )

    answer = json.loads(body) if body else {}
    if (
        # That of a batch is a list, and ours.
        isinstance(answer, dict)
        and isinstance(answer.get("error"), dict)
        and (better := _better_error(answer["error"].get("message", ""), asked)) is not None
    ):
        answer["error"], more_headers = better
        headers.update(more_headers)
        body = json.dumps(answer, separators=(",", ":")).encode()

    return Response(body, status_code=status, headers=headers)


def _better_error(
    message: str, asked: Headers
) -> tuple[Mapping[str, Any], Mapping[str, str]] | None:
    """Return a clearer JSON-RPC error with its headers, None if `message` is clear enough."""
    version = asked.get("mcp-protocol-version", KNOWN_PROTOCOL_VERSIONS[0])
    if message.startswith(_NO_ENVELOPE) and version not in KNOWN_PROTOCOL_VERSIONS:
        # The SDK reads an unknown version as the latest one, and misses what that requires.
        expected = (
            f"{', '.join(MODERN_PROTOCOL_VERSIONS)}, and after initialize"
            f" {', '.join(HANDSHAKE_PROTOCOL_VERSIONS)}"
        )
        return {
            "code": UNSUPPORTED_PROTOCOL_VERSION,
            "message": f"MCP-Protocol-Version names no revision known here; expected {expected}",
            "data": {"supported": list(MODERN_PROTOCOL_VERSIONS), "requested": version[:64]},
        }, {}

    for each in _RPC:
        if message.startswith(each.begins):
            more_headers = {"Retry-After": each.retry_after} if each.retry_after else {}
            return {"code": each.code, "message": each.message}, more_headers

    return None

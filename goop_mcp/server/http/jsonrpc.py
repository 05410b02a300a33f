"""Refuse bodies that cannot be one message of JSON-RPC; the SDK checks its content later.

Batches came with revision 2025-03-26 of MCP and went with 2025-06-18. The SDK supports none, and
refuses them with its validator's text. It reads a request whose id is neither a text nor an integer
as a notification, which would never be answered.
"""

import json
import re
from typing import Final

from mcp.types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.responses import Response

from goop_mcp.server.http.error_responses import NO_JSON, NO_MESSAGE, refusal, rpc_refusal
from goop_mcp.server.message_limits import too_large

__all__ = ["judged", "judged_whole"]

_BATCHES: Final = "2025-03-26"
_SEND_SINGLY: Final = "send each message in its own request"
_NO_BATCHES: Final = (
    f"a list of messages (a batch) arrived, which this revision of MCP lacks; {_SEND_SINGLY}"
)
_NO_BATCHES_HERE: Final = (
    f"a list of messages (a batch) arrived, which revision {_BATCHES} of MCP has and this server"
    f" does not accept; {_SEND_SINGLY}, or initialize with 2025-06-18 or later"
)
_NO_OBJECT: Final = "the body is not a JSON object; send one message of JSON-RPC, in UTF-8"
_NO_JSON_TYPE: Final = "a message of MCP is JSON; send it with Content-Type: application/json"
_BAD_ID: Final = (
    "the id of the request is neither a text nor an integer; send it again with one that is"
)

# A search is enough for nearly every message. The pattern also finds ids inside arguments, so a
# message in which it is found is parsed as well.
_STRANGE_ID: Final = re.compile(rb'"id"\s*:(?!\s*(?:"|-?\d+\s*[,}]))')


def judged(headers: Headers, body: bytes) -> Response | None:
    """Return the refusal of a posted body that cannot be one message, None if it can."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return refusal(415, "wrong_type", _NO_JSON_TYPE)

    begins = body.lstrip()[:1]
    if begins == b"[":
        # The header came with the revision after the one that had batches.
        is_earlier = headers.get("mcp-protocol-version", _BATCHES) <= _BATCHES
        return rpc_refusal(400, INVALID_REQUEST, _NO_BATCHES_HERE if is_earlier else _NO_BATCHES)

    if begins != b"{":
        return rpc_refusal(400, INVALID_REQUEST if _is_json(body) else PARSE_ERROR, _NO_OBJECT)
    if (reason := too_large(body)) is not None:
        return rpc_refusal(413, INVALID_REQUEST, reason)
    if _STRANGE_ID.search(body) is not None and _has_strange_id(body):
        return rpc_refusal(400, INVALID_REQUEST, _BAD_ID)
    return None


def judged_whole(headers: Headers, body: bytes) -> Response | None:
    """Return the refusal of a body that is not a message, after parsing it completely.

    Over SSE the SDK has one message for everything that it cannot parse, and logs a traceback for
    errors of the client.
    """
    if (refused := judged(headers, body)) is not None:
        return refused

    try:
        jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError:
        is_json = _is_json(body)
        return rpc_refusal(
            400, INVALID_REQUEST if is_json else PARSE_ERROR, NO_MESSAGE if is_json else NO_JSON
        )

    return None


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _has_strange_id(body: bytes) -> bool:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        # The SDK parses it again, and reports where the JSON ends.
        return False

    if not isinstance(message, dict) or "method" not in message or "id" not in message:
        return False
    return isinstance(message["id"], bool) or not isinstance(message["id"], str | int)

"""Refuse bodies that cannot be one message of JSON-RPC; the SDK checks its content later.

Batches came with revision 2025-03-26 of MCP and went with 2025-06-18. The SDK supports none, and
refuses them with its validator's text, without their ids.
"""

import json
from typing import Final

from mcp.types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.responses import Response

from goop_mcp.server.http.error_responses import NO_JSON, NO_MESSAGE, refusal, rpc_refusal
from goop_mcp.server.message_limits import too_large
from goop_mcp.server.unserved_ids import BAD_ID, batch_ids, strange_ids

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


def judged(headers: Headers, body: bytes) -> Response | None:
    """Return the refusal of a posted body that cannot be one message, None if it can."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return refusal(415, "wrong_type", _NO_JSON_TYPE)

    if (ids := batch_ids(body)) is not None:
        # The header came with the revision after the one that had batches.
        is_earlier = headers.get("mcp-protocol-version", _BATCHES) <= _BATCHES
        why = _NO_BATCHES_HERE if is_earlier else _NO_BATCHES
        return rpc_refusal(400, INVALID_REQUEST, why, batch=ids)

    if body.lstrip()[:1] != b"{":
        return rpc_refusal(400, INVALID_REQUEST if _is_json(body) else PARSE_ERROR, _NO_OBJECT)
    if (reason := too_large(body)) is not None:
        return rpc_refusal(413, INVALID_REQUEST, reason)
    for id in strange_ids(body):
        return rpc_refusal(400, INVALID_REQUEST, BAD_ID, id=id)
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

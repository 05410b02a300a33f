"""Find the ids of requests that the SDK would leave without an answer.

It supports no batches, and reads a request whose id is neither a text nor an integer as a
notification.
"""

import json
import math
import re
from typing import Final

from goop_mcp.server.message_limits import MOST_VALUES, values_in

__all__ = ["BAD_ID", "AnswerId", "batch_ids", "strange_ids"]

AnswerId = str | int | float | None
"""The id of an answer: that of the request, None if JSON-RPC allows no such id."""

BAD_ID: Final = (
    "the id of the request is neither a text nor an integer; send it again with one that is"
)

# A search is enough for nearly every message. The pattern also finds ids inside arguments, so a
# message in which it is found is parsed as well.
_STRANGE_ID: Final = re.compile(rb'"id"\s*:(?!\s*(?:"|-?\d+\s*[,}]))')


def batch_ids(message: bytes) -> list[AnswerId] | None:
    """Return the ids of the requests of a batch, None if the message is no batch.

    The list is empty if the batch holds no request or cannot be read.
    """
    if message.lstrip()[:1] != b"[":
        return None

    members = _parsed(message)
    return [
        _answer_id(each["id"])
        for each in (members if isinstance(members, list) else ())
        # Without a method it is an answer, without an id a notification.
        if isinstance(each, dict) and {"id", "method"} <= each.keys()
    ]


def strange_ids(message: bytes) -> list[AnswerId]:
    """Return the id of a request that the SDK reads as a notification; nothing for any other."""
    if _STRANGE_ID.search(message) is None:
        return []

    request = _parsed(message)
    if not isinstance(request, dict) or not {"id", "method"} <= request.keys():
        return []
    id = request["id"]
    is_strange = isinstance(id, bool) or not isinstance(id, str | int)
    return [_answer_id(id)] if is_strange else []


def _parsed(message: bytes) -> object:
    """Return the value that a message is in JSON, None if it cannot be read or holds too much."""
    if values_in(message) > MOST_VALUES:
        return None
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        # The SDK parses it again, and reports where the JSON ends.
        return None


def _answer_id(id: object) -> AnswerId:
    if isinstance(id, bool) or not isinstance(id, str | int | float):
        return None
    # Python reads numbers that JSON has no words for.
    return None if isinstance(id, float) and not math.isfinite(id) else id

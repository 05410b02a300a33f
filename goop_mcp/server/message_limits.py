"""Limit the size of a client's message, and what is kept of it after it is answered.

Only the arguments of a tool or a prompt are long: everything around them, and every other message,
is short. A message within 4 MiB can still hold a million values, for which the SDK makes a million
objects and as many errors, all of it on the event loop. Both are checked before anything parses the
message.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from goop_mcp.server.sdk_internals import forget_body

__all__ = ["MOST_ASIDE", "MOST_VALUES", "forget_answered", "too_large", "values_in", "weight"]

MOST_ASIDE: Final = 262_144
"""Most bytes of a message without the arguments of a tool or prompt."""

MOST_VALUES: Final = 10_000
"""Most texts, numbers, lists and objects of a message."""

_WITH_ARGUMENTS: Final = frozenset({"tools/call", "prompts/get"})
_VALUE_BYTES: Final = 64
"""Bytes of memory that a value takes in Python in addition to its characters."""

_LONGEST_KEPT: Final = 200
_MOST_KEPT: Final = 4_096
_CLIENT_INFO: Final = ("name", "title", "version")
_CAPABILITIES: Final = ("elicitation", "roots", "sampling")


def too_large(message: bytes) -> str | None:
    """Return why `message` is refused, None if it is small enough or not JSON."""
    # A value takes at least one byte, which settles nearly all messages here.
    if len(message) <= MOST_ASIDE and len(message) <= MOST_VALUES:
        return None
    if values_in(message) > MOST_VALUES:
        return f"the message holds more than {MOST_VALUES:,} values; send less at a time"
    if len(message) <= MOST_ASIDE:
        return None

    try:
        content = json.loads(message)
    except (ValueError, RecursionError):
        return None

    if not isinstance(content, dict):
        return None

    params = content.get("params")
    if content.get("method") in _WITH_ARGUMENTS and isinstance(params, dict):
        params.pop("arguments", None)
        if weight(content, MOST_ASIDE) <= MOST_ASIDE:
            return None

    return (
        f"the message has more than {MOST_ASIDE:,} bytes besides the arguments of a tool or a"
        " prompt; send shorter names, addresses and metadata"
    )


def values_in(message: bytes) -> int:
    """Return a lower bound for the values in JSON, by counting bytes instead of parsing it."""
    # Without escaped backslashes and quotes, each quote that is left begins or ends a text. Every
    # second part between quotes is then outside of texts, where a comma, bracket or brace counts
    # a value. Each step is one pass in C.
    plain = message.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in message else message
    quotes = plain.count(b'"')
    if quotes > 4 * MOST_VALUES:
        return quotes // 2

    outside = b"".join(plain.split(b'"')[::2])

    return sum(map(outside.count, (b",", b"[", b"{"))) + 1


def weight(value: object, most: int) -> int:
    """Return about how many bytes of memory a value parsed from JSON takes; stop past `most`."""
    # Iterative, because a message may be nested deeper than Python's recursion limit.
    total, waiting = 0, [value]
    while waiting and total <= most:
        each = waiting.pop()
        total += _VALUE_BYTES
        if isinstance(each, str):
            total += len(each)
        elif isinstance(each, Mapping):
            # Its length alone may be over the limit; then its items need not be listed.
            total += len(each) * _VALUE_BYTES
            if total <= most:
                waiting += [*each.keys(), *each.values()]
        elif isinstance(each, list):
            total += len(each) * _VALUE_BYTES
            if total <= most:
                waiting += each

    return total


async def forget_answered(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext
) -> HandlerResult:
    """Middleware that frees the content of a message once it is answered.

    An idle session of the SDK still holds its last message, and the request that it came in:
    thousands of them would hold gigabytes. What `initialize` states about a client is needed for as
    long as the session lasts; it is shortened instead.
    """
    params = ctx.params
    is_opening = ctx.method == "initialize"
    if is_opening and isinstance(params, dict):
        info, capabilities = params.get("clientInfo"), params.get("capabilities")
        # A value of a wrong type stays one, and is refused.
        kept: dict[str, Any] = {"protocolVersion": _short(params.get("protocolVersion"))}
        if isinstance(info, dict):
            kept["clientInfo"] = {
                name: _short(info.get(name)) for name in _CLIENT_INFO if name in info
            }
        if weight(capabilities, _MOST_KEPT) <= _MOST_KEPT:
            kept["capabilities"] = capabilities
        elif isinstance(capabilities, dict):
            kept["capabilities"] = {
                name: {} for name in _CAPABILITIES if isinstance(capabilities.get(name), dict)
            }

        params.clear()
        params.update(kept)

    try:
        return await call_next(ctx)
    finally:
        if ctx.request is not None:
            if not is_opening and isinstance(params, dict):
                params.clear()

            forget_body(ctx.request)


def _short(value: object) -> object:
    return value[:_LONGEST_KEPT] if isinstance(value, str) else None

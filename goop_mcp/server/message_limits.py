"""How large a message of a client may be, and what of it is kept after it is answered.

Only the arguments of a tool or a prompt are long: everything around them, and every other message,
is short. A message within 4 MiB can still hold a million values, for which the SDK makes a million
objects and as many errors, all of it on the event loop. So both are looked at before anything reads
the message.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

__all__ = ["MOST_ASIDE", "MOST_VALUES", "forget_answered", "too_large", "weight"]

MOST_ASIDE: Final = 262_144
"""Bytes of a message without the arguments of a tool or prompt."""

MOST_VALUES: Final = 10_000
"""Texts, numbers, lists and objects of a message."""

_WITH_ARGUMENTS: Final = frozenset({"tools/call", "prompts/get"})
_VALUE_BYTES: Final = 64
"""Memory that a value takes in Python besides its characters."""

_LONGEST_KEPT: Final = 200
_MOST_KEPT: Final = 4_096
_CLIENT_INFO: Final = ("name", "title", "version")
_CAPABILITIES: Final = ("elicitation", "roots", "sampling")


def too_large(message: bytes) -> str | None:
    """Return why `message` is not read, None where it is short enough; what is not JSON is left to whoever reads it."""
    if len(message) <= MOST_ASIDE and len(message) <= MOST_VALUES:
        return None
    if _values(message) > MOST_VALUES:
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


def _values(message: bytes) -> int:
    """Return at least how many values JSON holds, in a few passes at the speed of C and without reading it."""
    # Without escaped backslashes and quotes, each quote that is left begins or ends a text.
    plain = message.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in message else message
    quotes = plain.count(b'"')
    if quotes > 4 * MOST_VALUES:
        return quotes // 2

    outside = b"".join(plain.split(b'"')[::2])

    return sum(map(outside.count, (b",", b"[", b"{"))) + 1


def weight(value: object, most: int) -> int:
    """Return about how many bytes of memory `value`, which was read from JSON, takes; past `most` nobody counts on."""
    total, waiting = 0, [value]
    while waiting and total <= most:
        each = waiting.pop()
        total += _VALUE_BYTES
        if isinstance(each, str):
            total += len(each)
        elif isinstance(each, Mapping):
            # A longer one is over the limit by its number alone.
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
    """Let go, as a middleware, of what a message brought along once it is answered.

    An idle session of the SDK still holds its last message, and the request that it came in:
    thousands of them would hold gigabytes. What `initialize` says of a client is needed for as long
    as the session lasts, so it is shortened.
    """
    params = ctx.params
    is_opening = ctx.method == "initialize"
    if is_opening and isinstance(params, dict):
        _shorten(params)

    try:
        return await call_next(ctx)
    finally:
        if ctx.request is not None:
            if not is_opening and isinstance(params, dict):
                params.clear()

            # The body as Starlette keeps it for whoever asks for it a second time.
            vars(ctx.request).pop("_body", None)


def _shorten(params: dict[str, Any]) -> None:
    """Leave of `initialize` what fits into a few kilobytes; what has a wrong form stays wrong, and is refused."""
    info, capabilities = params.get("clientInfo"), params.get("capabilities")
    kept: dict[str, Any] = {"protocolVersion": _short(params.get("protocolVersion"))}
    if isinstance(info, dict):
        kept["clientInfo"] = {name: _short(info.get(name)) for name in _CLIENT_INFO if name in info}
    if weight(capabilities, _MOST_KEPT) <= _MOST_KEPT:
        kept["capabilities"] = capabilities
    elif isinstance(capabilities, dict):
        kept["capabilities"] = {
            name: {} for name in _CAPABILITIES if isinstance(capabilities.get(name), dict)
        }

    params.clear()
    params.update(kept)


def _short(value: object) -> object:
    return value[:_LONGEST_KEPT] if isinstance(value, str) else None

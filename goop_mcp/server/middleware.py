"""Middleware for every message: log its duration, and answer lists in pages.

The SDK calls its middleware interface provisional, so little is built on it.
"""

import logging
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.types import INVALID_PARAMS

from goop_mcp.server.answers import without_secrets

__all__ = ["PAGE_SIZE", "log_timing", "paging"]

PAGE_SIZE = 50

_LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
_SUBJECTS = ("name", "uri")
_LONGEST_NAME = 1_000

_logger = logging.getLogger(__name__)


async def log_timing(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Log how long each message took, with the name of its subject but not its content."""
    outcome = "failed"
    started = perf_counter()

    try:
        result = await call_next(ctx)
        outcome = "answered"
        return result
    finally:
        milliseconds = (perf_counter() - started) * 1000
        if _logger.isEnabledFor(logging.INFO):
            # Redacted before the cut to 100 characters: half a secret would not be recognized.
            params: Mapping[str, Any] = ctx.params or {}
            names = [params[key] for key in _SUBJECTS if isinstance(params.get(key), str)]
            subject = f" {without_secrets(names[0][:_LONGEST_NAME]):.100}" if names else ""
            _logger.info("%s%s %s in %.1f ms", ctx.method, subject, outcome, milliseconds)


def paging(size: int) -> ServerMiddleware[Any]:
    """Return a middleware that answers every list in pages of `size` items.

    A cursor is the number of items on the pages before; any other value is refused.
    """

    async def page(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        key = _LISTS.get(ctx.method)
        if key is None or not isinstance(result, dict):
            return result

        items = result[key]
        start, cursor = 0, (ctx.params or {}).get("cursor")
        if cursor is not None:
            starts = {str(start): start for start in range(size, len(items), size)}
            if cursor not in starts:
                raise MCPError(
                    INVALID_PARAMS, "invalid cursor; leave it out to begin with the first page"
                )

            start = starts[cursor]

        answer = {**result, key: items[start : start + size]}
        if start + size < len(items):
            answer["nextCursor"] = str(start + size)
        return answer

    return page

"""The request that is being answered, as a context variable.

Tasks and worker threads started for a request inherit it; the writing thread of the database
runs each change in a copy of its caller's context.
"""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple

__all__ = ["ClientMessage", "answering", "current_request", "request_id"]

_SHAPE: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_NEW_BYTES = 8


class ClientMessage(NamedTuple):
    """A message of a client: its id, and the tool that it calls, None for any other message.

    `caller` is the name of the token that came with it, None when no tokens are required.
    """

    id: str
    tool: str | None = None
    caller: str | None = None


_current: ContextVar[ClientMessage | None] = ContextVar("goop_mcp.current_request", default=None)


def current_request() -> ClientMessage | None:
    """Return the request that the current code runs for, None outside of any request."""
    return _current.get()


@contextmanager
def answering(request: ClientMessage) -> Iterator[None]:
    """Set `request` as the current request in the block."""
    token = _current.set(request)
    try:
        yield
    finally:
        _current.reset(token)


def request_id(given: str | None = None) -> str:
    """Return `given` if it is a valid id, else a new one of 16 hexadecimal digits.

    A valid id has 1 to 64 ASCII letters, digits, dots, dashes and underscores, and begins and ends
    with a letter or digit. Ids of callers go into logs, so other text is not accepted.
    """
    if given is not None and _SHAPE.fullmatch(given):
        return given
    return secrets.token_hex(_NEW_BYTES)

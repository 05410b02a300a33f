"""The request that is being answered, known wherever its work goes on: in tasks, worker threads and the writer."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple

__all__ = ["Request", "answering", "current_request", "request_id"]

_SHAPE: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_NEW_BYTES = 8


class Request(NamedTuple):
    """One message of a client: its id, and the tool that it calls, None for any other message.

    `caller` is the name of the token that came with it, None where no tokens are asked for.
    """

    id: str
    tool: str | None = None
    caller: str | None = None


_current: ContextVar[Request | None] = ContextVar("goop_mcp.current_request", default=None)


def current_request() -> Request | None:
    """Return the request that this piece of work belongs to, None outside of any."""
    return _current.get()


@contextmanager
def answering(request: Request) -> Iterator[None]:
    """Let all that is done within belong to `request`."""
    token = _current.set(request)
    try:
        yield
    finally:
        _current.reset(token)


def request_id(given: str | None = None) -> str:
    """Return `given` if it has the shape of an id, else a new one of 16 hexadecimal digits.

    An id has 1 to 64 letters, digits, dots, dashes and underscores of ASCII, and begins and ends
    with a letter or digit: what a caller sends goes into logs.
    """
    if given is not None and _SHAPE.fullmatch(given):
        return given
    return secrets.token_hex(_NEW_BYTES)

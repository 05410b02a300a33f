"""Send an answer in one piece: uvicorn hands over its head, each part of its body and its end one by one.

Each of them is a system call here, and wakes the client up once more.
"""

import asyncio
from typing import Final

__all__ = ["Gathering"]

_SECONDS: Final = 0.001
_MOST: Final = 65_536


class Gathering:
    """A transport that keeps what is written for a millisecond, or until there are 64 KiB of it."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """Wrap `transport`, which belongs to `loop`; all but writing and closing goes to it."""
        self._transport = transport
        self._loop = loop
        self._kept = bytearray()
        self._due: asyncio.TimerHandle | None = None

    def __getattr__(self, name: str) -> object:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Keep `data` for a moment."""
        self._kept += data
        if len(self._kept) >= _MOST:
            self.flush()
        elif self._due is None and data:
            self._due = self._loop.call_later(_SECONDS, self.flush)

    def flush(self) -> None:
        """Send what is kept."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if self._kept:
            kept, self._kept = self._kept, bytearray()
            self._transport.write(kept)

    def close(self) -> None:
        """Send what is kept, then close."""
        self.flush()
        self._transport.close()

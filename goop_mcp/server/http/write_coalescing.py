"""Send an answer in one piece: uvicorn writes its head, the parts of its body and its end singly.

Each write would be a system call here, and would wake up the client once more.
"""

import asyncio
from typing import Final

__all__ = ["WriteCoalescer"]

_SECONDS: Final = 0.001
_MOST: Final = 65_536


class WriteCoalescer:
    """A transport that buffers writes for a millisecond, or up to 64 KiB."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """Wrap `transport`, which belongs to `loop`; only writing and closing are changed."""
        self._transport = transport
        self._loop = loop
        self._kept = bytearray()
        self._due: asyncio.TimerHandle | None = None

    def __getattr__(self, name: str) -> object:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Buffer `data`."""
        # The timer is not started again by later writes: the first byte waits for a millisecond at
        # most, however many follow.
        self._kept += data
        if len(self._kept) >= _MOST:
            self.flush()
        elif self._due is None and data:
            self._due = self._loop.call_later(_SECONDS, self.flush)

    def flush(self) -> None:
        """Send what is buffered."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if self._kept:
            kept, self._kept = self._kept, bytearray()
            self._transport.write(kept)

    def close(self) -> None:
        """Send what is buffered, then close."""
        self.flush()
        self._transport.close()

"""Functions that block, called on threads that nobody has to wait for."""

import sys
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import Context, copy_context
from threading import Thread
from typing import Any, TypeVar

import anyio
from anyio.lowlevel import current_token

__all__ = ["Wakeup", "call_on_thread"]

T = TypeVar("T")


async def call_on_thread(function: Callable[[], T]) -> T:
    """Return what `function` returns, called on a thread of its own in a copy of the context.

    A cancellation abandons the thread, and so does the end of the program: a thread that hangs
    keeps nothing waiting.
    """
    future: Future[T] = Future()
    done = Wakeup()

    def work() -> None:
        try:
            future.set_result(function())
        except BaseException as raised:
            future.set_exception(raised)
        done.set()

    Thread(target=_context().run, args=(work,), name="goop-mcp agent", daemon=True).start()
    await done.wait()

    return future.result()


class Wakeup:
    """Wakes one task, from any thread and from any event loop.

    To be made in the loop of the task that waits.
    """

    def __init__(self) -> None:
        self._event = anyio.Event()
        loop: Any = current_token().native_token
        # Of asyncio and of trio; both return at once, so that the thread ends with its work.
        self._in_loop = getattr(loop, "call_soon_threadsafe", None) or loop.run_sync_soon

    def set(self) -> None:
        """Wake the task. Where its loop has ended meanwhile nobody waits."""
        with suppress(RuntimeError):
            self._in_loop(self._event.set)

    async def wait(self) -> None:
        """Wait until it is set."""
        await self._event.wait()


def _context() -> Context:
    """Return a copy of the context without the event loop, which belongs to another thread."""
    context = copy_context()
    if (sniffio := sys.modules.get("sniffio")) is not None:
        context.run(sniffio.current_async_library_cvar.set, None)
    return context

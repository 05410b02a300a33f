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

__all__ = ["call_on_thread"]

T = TypeVar("T")


async def call_on_thread(function: Callable[[], T]) -> T:
    """Return what `function` returns, or raise what it raises, called on a thread of its own in a copy of the context.

    A cancellation leaves the thread behind. So does the end of the program: one that hangs keeps nothing waiting.
    """
    future: Future[T] = Future()
    done = anyio.Event()
    loop: Any = current_token().native_token
    # Of asyncio and of trio; both return at once, so that the thread ends with its work.
    in_loop = getattr(loop, "call_soon_threadsafe", None) or loop.run_sync_soon

    def work() -> None:
        try:
            future.set_result(function())
        except BaseException as raised:
            future.set_exception(raised)
        # The loop may have ended meanwhile; then nobody waits.
        with suppress(RuntimeError):
            in_loop(done.set)

    Thread(target=_context().run, args=(work,), name="goop-mcp agent", daemon=True).start()
    await done.wait()
    return future.result()


def _context() -> Context:
    """Return a copy of the context that tells of no event loop: the one that runs is that of another thread."""
    context = copy_context()
    if (sniffio := sys.modules.get("sniffio")) is not None:
        context.run(sniffio.current_async_library_cvar.set, None)
    return context

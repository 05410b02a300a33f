"""Notify open pages that the project has changed, over server-sent events.

All pages of a tenant share one look at the revision and the files, twice a second, while at least
one of them is open. A change by another process or a person is noticed like one of this server.
"""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from typing import Final

import anyio
import anyio.to_thread
from starlette.types import Receive, Send

from goop_mcp import services
from goop_mcp.context import AppContext
from goop_mcp.errors import GoopError
from goop_mcp.server.etags import ETags
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.workspace.layout import DOCUMENTS, document_uri

__all__ = ["UNREADABLE", "LiveChanges"]

UNREADABLE: Final = "unreadable"
"""The stamp of a project whose database does not answer."""

_INTERVAL: Final = 0.4
# Between two looks for runs whose runners are gone, which is seen after some seconds anyway.
_BETWEEN_LOOKS: Final = 5.0
# Proxies close a connection on which nothing was sent for a minute.
_KEEP_ALIVE: Final = 25.0
_ADDRESSES: Final = tuple(document_uri(name) for name in DOCUMENTS)

_logger = logging.getLogger(__name__)


class LiveChanges:
    """The stamp of a project, which differs after each change, and the pages that wait for it."""

    def __init__(self, application: AppContext) -> None:
        self.application = application
        self._etags = ETags(application)
        self._stamp: str | None = None
        self._changed = anyio.Event()
        self._turn = anyio.Lock()
        self._left: tuple[float, list[str]] = (-math.inf, [])
        self.pages = Counter[str]()
        """The open pages of each login, by its id."""

    def read_stamp(self) -> str:
        """Return the stamp of the project now; opens nothing that does not exist."""
        store = self.application.store
        try:
            revision = store.read(
                lambda reading: (
                    reading.revision(),
                    reading.reports_changed_at(),
                    reading.graphs.event_count(),
                    self._left_runs(reading),
                )
            )
            files = self._etags(_ADDRESSES)
        except (GoopError, OSError) as error:
            _logger.debug("changes cannot be seen at the moment: %s", error)
            return UNREADABLE

        return sha256(repr((revision, sorted(files.items()))).encode()).hexdigest()[:16]

    def _left_runs(self, reading: ReadTransaction) -> list[str]:
        """Return the runs whose runners are gone, which changes nothing that is stored."""
        at, found = self._left
        if time.monotonic() > at + _BETWEEN_LOOKS:
            found = []
            # Most projects have no open run, and then nothing of graphs is loaded.
            if reading.graphs.runs(limit=1):
                found = [each.work.run for each in services.runs.left_runs(reading)]
            self._left = time.monotonic(), found
        return found

    async def serve(
        self,
        known: str,
        receive: Receive,
        send: Send,
        *,
        login: str,
        is_valid: Callable[[], bool],
    ) -> None:
        """Send an event for each change after the stamp `known`, until the page is closed.

        `login` is the id of the login that the page belongs to. The stream ends when `is_valid`
        says that the login has ended.
        """
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send(_chunk("retry: 2000\n\n"))

        self.pages[login] += 1
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch)
                tasks.start_soon(_until_closed, receive, tasks.cancel_scope)
                while is_valid():
                    # Taken before the comparison, so that a change in between is not missed.
                    changed = self._changed
                    if self._stamp not in (None, known):
                        known = str(self._stamp)
                        await send(_chunk(f"event: change\ndata: {known}\n\n"))
                        continue

                    with anyio.move_on_after(_KEEP_ALIVE) as waiting:
                        await changed.wait()
                    if waiting.cancelled_caught:
                        await send(_chunk(": still here\n\n"))

                tasks.cancel_scope.cancel()
        finally:
            self.pages[login] -= 1
            # Logins come and go: adding drops the counts of 0.
            self.pages += Counter()

        # The script shows then that the login has ended, instead of connecting for ever.
        await send(_chunk("event: ended\ndata: login\n\n"))
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _watch(self) -> None:
        """Look for changes, for all pages; the next one takes over when this page is closed."""
        async with self._turn:
            while True:
                stamp = await anyio.to_thread.run_sync(self.read_stamp, abandon_on_cancel=True)
                if stamp != self._stamp:
                    self._stamp = stamp
                    self._changed.set()
                    self._changed = anyio.Event()

                await anyio.sleep(_INTERVAL)


async def _until_closed(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _chunk(text: str) -> dict[str, object]:
    return {"type": "http.response.body", "body": text.encode(), "more_body": True}

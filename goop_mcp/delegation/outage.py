"""How long the database has not answered, for all runners of a process: one count, one message."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from goop_mcp.errors import (
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)

__all__ = ["PASSING", "Outage"]

T = TypeVar("T")

PASSING: Final = (StoreBusyError, StoreUnavailableError, StoreFullError, StoreReadOnlyError)
"""What passes by itself, or once a person has done something: nothing is wrong with the step."""

_PATIENCE: Final = 120.0
_LONGEST_PAUSE: Final = 2.0

_logger = logging.getLogger(__name__)


class Outage:
    """A time in which steps of the ledger fail: the database is away, or takes no change.

    It begins with the first step that fails, and ends when each of those that failed has succeeded
    or is given up. Others prove nothing: on a full disk all that only reads succeeds, and so does a
    change that finds nothing to write. With `patience` in seconds, steps are tried for so long, in
    which none that failed has succeeded; None is for ever. To be used in the thread of the event
    loop.
    """

    def __init__(self, patience: float | None = _PATIENCE) -> None:
        self._patience = patience
        self._failing: set[object] = set()
        self._asked: dict[object, float] = {}
        self._since = 0.0
        self._hurry = anyio.Event()
        self._is_over = False
        self.reason = ""
        """Why the database does not answer; "" while it does."""

    @property
    def seconds(self) -> float:
        """For how long it has lasted, or a step has been waiting for its answer."""
        now = monotonic()
        since = [*self._asked.values(), *([self._since] if self.reason else [])]
        return now - min(since, default=now)

    async def outlast(
        self, act: Callable[..., T], *args: object, abandon: bool = False, is_long: bool = False
    ) -> T:
        """Run a step in a thread, and again while the database is away; nothing is lost then.

        A cancellation waits for the end of the step, with `abandon` it does not. One that
        `is_long` does more than to ask the database. Raises StoreError where the database was away
        for too long, or refuses the step for another reason.
        """
        step, pause, refused = object(), 0.1, None
        try:
            while True:
                # As in `asking`, which would cost each step of each task a context of its own.
                if not is_long:
                    self._asked[step] = monotonic()
                try:
                    found = await anyio.to_thread.run_sync(act, *args, abandon_on_cancel=abandon)
                except StoreError as error:
                    self.note(step, error)
                    since, patience = self._since, self._patience
                    if not isinstance(error, PASSING):
                        refused = since = refused or monotonic()
                        patience = _PATIENCE
                    is_late = patience is not None and monotonic() + pause > since + patience
                    if is_late or self._is_over:
                        raise
                else:
                    if self.reason:
                        self.passed(step)
                    return found
                finally:
                    self._asked.pop(step, None)

                # With growing pauses: hundreds of runners may be waiting for one database.
                await self.pause(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        finally:
            self._failing.discard(step)

    @contextmanager
    def asking(self, step: object) -> Iterator[None]:
        """Count the time of the block as one in which `step` waits for its answer."""
        self._asked[step] = monotonic()
        try:
            yield
        finally:
            del self._asked[step]

    async def pause(self, seconds: float) -> None:
        """Wait, until `hurry` is called."""
        with anyio.move_on_after(seconds):
            await self._hurry.wait()

    async def lasted(self, seconds: float) -> None:
        """Return when it has lasted for `seconds`, of which none was before this call."""
        began = monotonic()
        while True:
            left = seconds - min(self.seconds, monotonic() - began)
            if left <= 0:
                return
            # It may begin at any time.
            await anyio.sleep(min(left, 0.2))

    def note(self, step: object, error: StoreError) -> None:
        """Note that `step` failed. Only the first one of those that fail is logged."""
        if not self.reason:
            self._since = monotonic()
            how_long = "" if self._patience is None else f" for up to {self._patience:.0f} s"
            text = "the database does not answer, trying again%s: %s"
            _logger.warning(text, how_long, error)
        self._failing.add(step)
        self.reason = str(error)

    def passed(self, step: object, *, always_writes: bool = False) -> None:
        """Note that `step` succeeded; where it had failed, the time counts from now.

        One that `always_writes` also proves it where all that failed was given up.
        """
        proves = step in self._failing or (always_writes and not self._failing)
        if not (self.reason and proves):
            return
        self._failing.discard(step)
        self._since = monotonic()
        if not self._failing:
            self.reason = ""
            _logger.warning("the database answers again")

    def leave(self, step: object) -> None:
        """Note that `step` is not tried any more."""
        self._failing.discard(step)

    def end(self) -> None:
        """Give up what fails, and from now on at once."""
        self._is_over = True
        self.hurry()

    def hurry(self) -> None:
        """Try at once what fails, and what looks whether the database answers."""
        self._hurry.set()
        self._hurry = anyio.Event()

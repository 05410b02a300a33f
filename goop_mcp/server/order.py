"""Carry out the calls of one session in the order in which they arrived (D-112).

The SDK starts the handlers of a session in that order, but runs them side by side, on threads. Here
each call takes a place among those of its session. A call that writes runs once every earlier one
has ended, one that reads stored state once every earlier one that writes has; all others stand
outside.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, Final

import anyio
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.types import INTERNAL_ERROR

from goop_mcp.errors import GoopError
from goop_mcp.server.access import Access
from goop_mcp.server.clients import scope_value

__all__ = ["PLACE_KEY", "CallOrder", "Place", "TooManyCallsError", "in_order", "out_of_turn"]

PLACE_KEY: Final = "goop_mcp.place"
"""Key of the ASGI scope for the place of a call, taken when the headers of its request arrived."""

_MOST_OF_A_SESSION: Final = 1_000
_PATIENCE: Final = 5.0
"""Seconds after which a call that waits says so, and between two reports."""

_MESSAGES_OF_SSE: Final = "/messages/"
_THE_ONLY: Final = "the session at the other end"


class TooManyCallsError(GoopError):
    """Raised if a session has as many calls in progress as it may; the text says what to do."""


class CallOrder:
    """The places of the calls in progress, by session; a session without any takes no memory."""

    def __init__(self, *, most: int = _MOST_OF_A_SESSION) -> None:
        """Allow each session `most` places at a time."""
        self._most = most
        self._sessions: dict[str, dict[Place, None]] = {}

    def __len__(self) -> int:
        """Return how many sessions have calls in progress."""
        return len(self._sessions)

    def take(self, session: str) -> "Place":
        """Return a place after all others of `session`. Raises TooManyCallsError."""
        if len(self._sessions.get(session, ())) >= self._most:
            raise TooManyCallsError(
                f"{self._most:,} calls of this session are in progress; send this one again when"
                " some of them are answered"
            )
        place = Place(self, session)
        self.add(place)
        return place

    def add(self, place: "Place") -> None:
        """Put `place` after all others of its session."""
        self._sessions.setdefault(place.session, {})[place] = None
        self.advance(place.session)

    def has(self, place: "Place") -> bool:
        """Whether `place` was taken and not left."""
        return place in self._sessions.get(place.session, ())

    def remove(self, place: "Place") -> None:
        """Let those after `place` advance; nothing happens if it was removed before."""
        if not self.has(place):
            return
        places = self._sessions[place.session]
        del places[place]
        if places:
            self.advance(place.session)
        else:
            del self._sessions[place.session]

    def advance(self, session: str) -> None:
        """Let run what may: the first call, or the calls that read and are first together."""
        for number, place in enumerate(self._sessions[session]):
            if not place.writes or number == 0:
                place.turn.set()
            if place.writes:
                return

    def before(self, place: "Place") -> int:
        """Return how many calls of the session arrived earlier and are in progress."""
        return [*self._sessions[place.session]].index(place)


class Place:
    """Where a call stands among those of its session.

    What is not known to read only `writes`. `is_claimed` is whether a handler has begun, which then
    leaves the place.
    """

    def __init__(self, order: CallOrder, session: str) -> None:
        self.session = session
        self.turn = anyio.Event()
        self.writes = True
        self.is_claimed = False
        self._order = order
        self._reports = 0

    def claim(self, access: Access) -> None:
        """Let the handler keep the place, for what its call turned out to do."""
        self.is_claimed = True
        self.writes = access is Access.WRITES
        if self._order.has(self):
            self._order.advance(self.session)
        else:
            # The client has disconnected just before, and its request has left the place.
            self.take_another()

    def leave(self) -> None:
        """Give the place up. A place that is left twice was left once."""
        self._order.remove(self)

    def take_another(self) -> None:
        """Move to the end, after all calls that have arrived since."""
        self.leave()
        self.turn = anyio.Event()
        self._order.add(self)

    async def reach(self, report: Callable[[float, str], Awaitable[None]]) -> None:
        """Wait until the call may run; if that takes long, call `report` with progress below 1."""
        while not self.turn.is_set():
            with anyio.move_on_after(_PATIENCE):
                await self.turn.wait()
                return
            self._reports += 1
            earlier = self._order.before(self)
            # Progress has to grow, and that of the work itself begins with 1.
            await report(
                self._reports / (self._reports + 1),
                f"waits for earlier calls of this session: {earlier}",
            )


class _Turn:
    """The place of the call that is carried out, and how its client learns that it waits."""

    def __init__(self, place: Place, report: Callable[[float, str], Awaitable[None]]) -> None:
        self.place, self.report = place, report


_turn: ContextVar[_Turn | None] = ContextVar("turn", default=None)


@asynccontextmanager
async def out_of_turn() -> AsyncIterator[None]:
    """Give up the place of the current call while it waits for a person or a program.

    Leaving the context takes a new place, and waits until the call may go on.
    """
    turn = _turn.get()
    if turn is None:
        yield
        return

    turn.place.leave()
    yield
    turn.place.take_another()
    await turn.place.reach(turn.report)


def in_order(
    access_of: Callable[[ServerRequestContext[Any, Any]], Access],
) -> ServerMiddleware[Any]:
    """Return a middleware that carries out the calls of each session in order.

    `access_of` says what a call does. No middleware outside of it may wait before it calls the
    next, as the order would be lost there.
    """
    order = CallOrder()

    async def run(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        access = access_of(ctx) if ctx.request_id is not None else Access.NONE
        taken = scope_value(ctx, PLACE_KEY)
        if access is Access.NONE:
            if isinstance(taken, Place):
                taken.leave()
            return await call_next(ctx)

        session = _session_of(ctx)
        if not isinstance(taken, Place) and session is None:
            return await call_next(ctx)

        async def report(progress: float, message: str) -> None:
            await ctx.session.report_progress(progress, None, message)

        try:
            place = taken if isinstance(taken, Place) else order.take(session or "")
        except TooManyCallsError as error:
            raise MCPError(INTERNAL_ERROR, str(error)) from error
        place.claim(access)
        before = _turn.set(_Turn(place, report))
        try:
            await place.reach(report)
            return await call_next(ctx)
        finally:
            _turn.reset(before)
            place.leave()

    return run


def _session_of(ctx: ServerRequestContext[Any, Any]) -> str | None:
    """Return the session of a message, None where its transport promises no order."""
    if ctx.request is None:
        return _THE_ONLY
    # Its messages arrive in order: the client sends the next one once the last is accepted.
    if scope_value(ctx, "path") == _MESSAGES_OF_SSE:
        return str(scope_value(ctx, "query_string"))
    return None

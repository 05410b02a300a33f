"""Limit how many requests a client may send, by a token bucket for each client."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from time import monotonic
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from goop_mcp.server.http.error_responses import refusal
from goop_mcp.server.http.principal import client_of

__all__ = ["RateLimit", "RateLimiter"]

_BURST_SECONDS: Final = 3.0
_MOST_CLIENTS: Final = 10_000
_BYTES_A_REQUEST: Final = 65_536


@dataclass(slots=True)
class _Bucket:
    level: float
    at: float


class RateLimiter:
    """The buckets of all clients.

    The clients that asked longest ago are forgotten first, as their buckets have filled meanwhile.
    """

    def __init__(self, per_second: float, *, clock: Callable[[], float] = monotonic) -> None:
        """Allow `per_second` requests, in bursts of three seconds' worth; 0 means no limit."""
        self._per_second = per_second
        self._burst = max(per_second * _BURST_SECONDS, 1.0)
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def __len__(self) -> int:
        """Return how many clients are remembered."""
        return len(self._buckets)

    def wait(self, client: str, *, take: bool = True) -> float:
        """Take one request from the bucket of `client`; return 0, or the seconds to wait.

        Without `take` the bucket stays as it is.
        """
        if not self._per_second:
            return 0.0

        # A bucket is filled when it is read, from the time since the last reading: no task has to
        # run, and a client that has not asked for a while costs nothing.
        now = self._clock()
        bucket = self._buckets.setdefault(client, _Bucket(self._burst, now))
        self._buckets.move_to_end(client)
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)

        bucket.level = min(bucket.level + (now - bucket.at) * self._per_second, self._burst)
        bucket.at = now
        if bucket.level < 1:
            return (1 - bucket.level) / self._per_second

        bucket.level -= take

        return 0.0

    def charge(self, client: str, size: int) -> None:
        """Take what a body of `size` bytes costs, in addition to its request, from the bucket.

        The body has been read already: later requests of `client` have to wait, at most for as long
        as a burst lasts.
        """
        # The level may fall below 0, as nothing of a body that was read can be refused. The debt
        # is limited, or one large body would lock its client out for minutes.
        if (more := size // _BYTES_A_REQUEST) and self._per_second:
            self.wait(client, take=False)
            bucket = self._buckets[client]
            bucket.level = max(bucket.level - more, -self._burst)

    def refusal(self, client: str, *, take: bool = True) -> Response | None:
        """Take one request from the bucket of `client`; return the refusal if there is none left.

        Without `take` the bucket stays as it is.
        """
        wait = self.wait(client, take=take)
        if not wait:
            return None

        description = "you send requests faster than allowed; wait as long as Retry-After says"

        return refusal(
            429, "too_many_requests", description, headers={"Retry-After": str(ceil(wait))}
        )


class RateLimit:
    """Answers 429 to a client over its rate; a client is a token, or an address without tokens."""

    def __init__(self, app: ASGIApp, rates: RateLimiter) -> None:
        self._app = app
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        refused = self._rates.refusal(client_of(scope))
        await (refused or self._app)(scope, receive, send)

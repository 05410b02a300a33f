"""The address of a database: with its password for the driver, without it for people."""

import math
import os
import platform
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

import psycopg
from psycopg.abc import ConnDict, PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from goop_mcp.settings import SettingsError

__all__ = [
    "ANSWER_WITHIN",
    "SHORTEST_WAIT",
    "Address",
    "Connection",
    "NoAnswerError",
    "parse_address",
]

# After these times a server that does not answer counts as gone; a URL may set others. All are in
# seconds, tcp_user_timeout in milliseconds.
_PATIENCE = {
    "connect_timeout": "10",
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
# A server that takes more seconds for a statement counts as silent; waits for locks do not count.
ANSWER_WITHIN = 20.0
# A call that has come this far gets an answer to its next statement, however late it is by then.
_LEAST = 5.0
# A server that works gets this many seconds; the driver takes less for a connection for that.
SHORTEST_WAIT = 2

T = TypeVar("T")
_INTERVAL = 0.1  # seconds between two checks of the clock


class NoAnswerError(psycopg.OperationalError):
    """Raised when a server keeps the connection and does not answer on it."""


class Connection(psycopg.Connection[tuple[object, ...]]):
    """A connection that is closed when the server is silent on it.

    Each answer may take `answer_within` seconds, and until the time `until` of `time.monotonic`,
    which the call that borrows it sets. With `probe` a statement may take until then, as long as
    the server answers on another connection: `probe` is called each time, and raises if not.

    TCP keepalives detect a dead machine, but not a hanging process whose socket stays open.
    """

    answer_within: float = ANSWER_WITHIN
    until: float = math.inf
    probe: Callable[[], None] | None = None

    def wait(self, gen: PQGen[T], interval: float = _INTERVAL, timeout: float | None = None) -> T:
        """Run `gen` to its end, as the driver does. Raises NoAnswerError."""
        # Older versions of the driver have no parameter `timeout`, newer ones pass it if needed.
        bounded = self._in_time(gen)
        return (
            super().wait(bounded, interval)
            if timeout is None
            else super().wait(bounded, interval, timeout)
        )

    def _in_time(self, gen: PQGen[T]) -> PQGen[T]:
        """Wrap `gen`, and raise NoAnswerError when nothing arrives until the deadline.

        The driver's protocol is a generator that yields what it waits for (readable, writable) and
        is sent what became ready, 0 after each interval without an event.
        """
        deadline = time.monotonic() + self._patience()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > deadline:
                    self._refuse_silence()
                    deadline = time.monotonic() + self._patience()

                wanted = gen.send(ready)
        except StopIteration as end:
            return cast("T", end.value)

    def _patience(self) -> float:
        return min(self.answer_within, max(self.until - time.monotonic(), _LEAST))

    def _refuse_silence(self) -> None:
        """Raise NoAnswerError, unless the server answers elsewhere and there is time left."""
        try:
            if self.probe is not None and time.monotonic() < self.until:
                self.probe()
                return
        except psycopg.Error:
            pass

        self.close()
        raise NoAnswerError("no answer in time")


_NAME_LENGTH = 63  # bytes; PostgreSQL cuts application_name there


@dataclass(frozen=True, slots=True)
class Address:
    """Where a database is.

    `shown` is a URL without password; `conninfo` may hold one and is kept out of `repr`.
    """

    shown: str
    conninfo: str = field(repr=False)

    def connect(self, *, until: float = math.inf) -> Connection:
        """Open a connection that identifies this process to the server, until the time `until`.

        Raises the driver's errors.
        """
        known = conninfo_to_dict(self.conninfo)
        if "application_name" not in known:
            known["application_name"] = f"goop-mcp {os.getpid()}@{platform.node()}"[:_NAME_LENGTH]
        if until < math.inf:
            known["connect_timeout"] = _seconds_for_each_host(known, until - time.monotonic())

        # PgBouncer may run each transaction on another connection to the server, where a prepared
        # statement would be unknown; so nothing is prepared.
        connection = Connection.connect(
            make_conninfo("", **known), autocommit=True, prepare_threshold=None
        )
        connection.until = until

        return connection

    def probe(self) -> None:
        """Raise the driver's errors unless the server accepts a connection and answers on it."""
        self.connect(until=time.monotonic() + _LEAST).close()


def parse_address(url: str) -> Address:
    """Parse a `postgresql://` URL; errors do not quote it, as it may hold a password.

    Raises SettingsError.
    """
    try:
        known = {
            name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None
        }
    except psycopg.Error:
        known = None

    timeout = (known or {}).get("connect_timeout", "0")
    if not re.fullmatch(r"-?[0-9]{1,9}", timeout):
        raise SettingsError(
            "connect_timeout of the database URL is not a number; expected whole seconds"
        )

    # Outside of the handler, so that the driver's error, whose text repeats parts of the URL, is
    # not the context of ours.
    if known is None or not url.startswith(("postgresql://", "postgres://")) or _misread(known):
        raise SettingsError(
            "the database URL cannot be read; expected postgresql://user:password@host:port/name,"
            " with characters such as @ : / in the password written as %40 %3A %2F"
        )

    return Address(_shown(known), make_conninfo("", **{**_PATIENCE, **known}))


def _seconds_for_each_host(known: ConnDict, left: float) -> int:
    """Return how long to try each host, so that all together take no longer than `left` seconds.

    What the URL sets is the most; 0 there is no limit, as in libpq.
    """
    hosts = str(known.get("host") or known.get("hostaddr") or "").count(",") + 1
    own = int(known.get("connect_timeout") or 0)
    share = max(int(left / hosts), SHORTEST_WAIT)
    return min(own, share) if own > 0 else share


def _misread(known: dict[str, str]) -> bool:
    """Return whether part of a password was parsed as host, port or name, which are shown.

    An unescaped `@` or `:` in a password ends it too early.
    """
    ports = known.get("port", "").replace(",", "")
    return "@" in known.get("host", "") + known.get("dbname", "") or not (
        ports.isdigit() or not ports
    )


def _shown(known: dict[str, str]) -> str:
    user = f"{known['user']}@" if "user" in known else ""
    ports = known.get("port", "").split(",")
    hosts = known.get("host", known.get("hostaddr", "")).split(",")
    pairs = [
        (host, ports[index] if len(ports) == len(hosts) else ports[0])
        for index, host in enumerate(hosts)
    ]
    places = ",".join(
        host + (f":{port}" if port else "") for host, port in pairs if not host.startswith("/")
    )

    return f"postgresql://{user}{places}/{known.get('dbname', '')}"

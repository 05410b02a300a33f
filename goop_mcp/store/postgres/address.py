"""The address of a database: what the driver needs, and what people may see of it."""

import os
import platform
import time
from dataclasses import dataclass, field
from typing import TypeVar, cast

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from goop_mcp.settings import SettingsError

__all__ = ["ANSWER_WITHIN", "Address", "Connection", "NoAnswerError", "parse_address"]

# Seconds and milliseconds after which a server that does not answer counts as gone; the URL may say
# otherwise.
_PATIENCE = {
    "connect_timeout": "10",
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
# Seconds that a statement takes at most before its server counts as silent, waits for locks aside.
ANSWER_WITHIN = 30.0

T = TypeVar("T")
_INTERVAL = 0.1  # seconds between two looks at the clock


class NoAnswerError(psycopg.OperationalError):
    """Raised when a server keeps the connection and does not answer on it."""


class Connection(psycopg.Connection[tuple[object, ...]]):
    """A connection that waits no longer for an answer than `patience` seconds; then it is closed.

    The system notices a dead machine, but not a process that stands still while its socket stays
    open.
    """

    patience: float = ANSWER_WITHIN

    def wait(self, gen: PQGen[T], interval: float = _INTERVAL, timeout: float | None = None) -> T:
        """Run `gen` to its end, as the driver does. Raises NoAnswerError."""
        # Older drivers know no timeout; those that do give one where they need it.
        bounded = self._in_time(gen)
        return (
            super().wait(bounded, interval)
            if timeout is None
            else super().wait(bounded, interval, timeout)
        )

    def _in_time(self, gen: PQGen[T]) -> PQGen[T]:
        """Hand on what `gen` waits for and what came, until nothing has come for too long."""
        deadline = time.monotonic() + self.patience
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > deadline:
                    self.close()
                    raise NoAnswerError(f"no answer within {self.patience:g} s")

                wanted = gen.send(ready)
        except StopIteration as end:
            return cast("T", end.value)


_NAME_LENGTH = 63  # bytes; PostgreSQL cuts application_name there


@dataclass(frozen=True, slots=True)
class Address:
    """Where a database is.

    `shown` is a URL without password; `conninfo` may hold one and is kept out of `repr`.
    """

    shown: str
    conninfo: str = field(repr=False)

    def connect(self) -> Connection:
        """Open a connection that names this process to others; raises the driver's errors.

        No statement is prepared on the server: behind PgBouncer the next one may run on another
        connection.
        """
        named = make_conninfo(self.conninfo, **_own_name(self.conninfo))
        return Connection.connect(named, autocommit=True, prepare_threshold=None)


def parse_address(url: str) -> Address:
    """Read a `postgresql://` URL; raises SettingsError, without repeating it: it may hold a password."""
    try:
        known = {
            name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None
        }
    except psycopg.Error:
        known = None

    # Outside of the handler: the driver's text repeats parts of the URL and must not hang on our
    # error.
    if known is None or not url.startswith(("postgresql://", "postgres://")) or _misread(known):
        raise SettingsError(
            "the database URL cannot be read; expected postgresql://user:password@host:port/name,"
            " with signs such as @ : / in the password written as %40 %3A %2F"
        )

    return Address(_shown(known), make_conninfo("", **{**_PATIENCE, **known}))


def _misread(known: dict[str, str]) -> bool:
    """Tell whether part of a password has come to stand elsewhere, where it would be shown."""
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


def _own_name(conninfo: str) -> dict[str, str]:
    if "application_name=" in conninfo:
        return {}
    return {"application_name": f"goop-mcp {os.getpid()}@{platform.node()}"[:_NAME_LENGTH]}

"""The pool of connections of a process, and transactions on them.

It connects on the thread that asks, so that an error reaches the caller at once; psycopg_pool would
connect elsewhere and let the caller wait (D-114).
"""

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from types import TracebackType
from typing import Self

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.sql import SQL, Composed

from goop_mcp.errors import StoreBusyError, StoreError
from goop_mcp.store.postgres.address import (
    ANSWER_WITHIN,
    SHORTEST_WAIT,
    Address,
    Connection,
    NoAnswerError,
)
from goop_mcp.store.postgres.errors import (
    OutcomeUnknownError,
    translated,
    translating,
    was_lost,
)
from goop_mcp.store.postgres.fifo_semaphore import FifoSemaphore

__all__ = ["Connection", "Connections", "Transaction"]

# A writer needs two: one holds its place in the queue, the other makes the change. The rest read.
_PLACES = 5
_FOR_A_ROLLBACK = 1.0  # seconds
_BETWEEN_PROBES = 10.0  # seconds
_FOR_DOUBT = 1 / 3
_abandoned: list[Connection] = []


class Transaction:
    """A transaction in progress. Leaving the block rolls back what was not committed."""

    def __init__(self, connection: Connection, *, place: str, first: tuple[object, ...]) -> None:
        """Use a connection on which BEGIN has run.

        `first` is the row that it returned; `place` names the database in errors.
        """
        self.connection, self.first, self._place = connection, first, place

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # The server rolls back by itself when the connection is gone, so this is not waited for.
        with suppress(psycopg.Error):
            if self.connection.pgconn.transaction_status != TransactionStatus.IDLE:
                self.connection.answer_within = _FOR_A_ROLLBACK
                self.connection.execute("ROLLBACK")

    def commit(self, last: SQL | Composed) -> None:
        """Run the statement `last` and commit, in one message; return when the change is on disk.

        Raises OutcomeUnknownError when the answer did not arrive.
        """
        # Up to this message the server has committed nothing, so an earlier failure means that
        # nothing was done. After it, a broken connection leaves open whether COMMIT ran.
        # A part of the time that is left is for asking elsewhere whether it did.
        self.connection.until -= (self.connection.until - time.monotonic()) * _FOR_DOUBT
        try:
            cursor = self.connection.execute(Composed([last, SQL("; COMMIT")]))
            while cursor.nextset():
                pass
        except psycopg.Error as error:
            unknown = was_lost(error) or self.connection.closed
            raise (
                OutcomeUnknownError(self._place) if unknown else translated(error, self._place)
            ) from error

        # If a statement of the transaction failed and its error was caught, the server answers
        # COMMIT with ROLLBACK and reports no error.
        if cursor.statusmessage != "COMMIT":
            raise StoreError(
                f"a statement on {self._place} failed and was ignored; nothing was stored"
            )


class Connections:
    """At most five connections, opened when needed and used again.

    Safe to use from many threads.
    """

    _idle: list[Connection]

    def __init__(self, address: Address, *, answer_within: float = ANSWER_WITHIN) -> None:
        """Open nothing yet.

        `answer_within` is the limit for a statement in seconds; waits for locks do not count.
        """
        self._address = address
        self._answer_within = answer_within
        self._guard = Lock()
        self._forget()

    @contextmanager
    def transaction(
        self, begin: Callable[[], Composed], *, until: float, waits: bool = False
    ) -> Iterator[Transaction]:
        """Lend a transaction, started by the statements that `begin` returns; the last gives a row.

        At `until`, a time of `time.monotonic`, a server that does not answer counts as silent. Only
        then does that if the start `waits` for locks. Raises subclasses of StoreError.
        """
        # The place is taken before a connection is: a process never has more than _PLACES of them,
        # however many threads ask.
        with self._place(until):
            with translating(self._address.shown):
                connection, first = self._begun(begin, until=until, waits=waits)
                # Only the start may wait for a lock. What follows is held to the time of a single
                # answer.
                connection.answer_within, connection.until = self._answer_within, until

            try:
                with Transaction(connection, place=self._address.shown, first=first) as transaction:
                    yield transaction
            finally:
                self._give_back(connection)

    @contextmanager
    def outside_transactions(self, *, until: float, takes: float = 0) -> Iterator[Connection]:
        """Lend a new connection in autocommit mode; `until` as for `transaction`.

        Statements that may take long, `takes` seconds, are waited for as long as the server answers
        on another connection.
        """
        with self._place(until), translating(self._address.shown):
            # A new one: VACUUM refuses to run within a transaction, and a lent connection may be in
            # one.
            connection = self._address.connect(until=until)
            connection.answer_within = self._answer_within
            if takes:
                connection.answer_within = min(self._answer_within, _BETWEEN_PROBES)
                connection.until = time.monotonic() + takes
                connection.probe = self._address.probe

            try:
                yield connection
            finally:
                connection.probe = None
                self._give_back(connection)

    def close(self) -> None:
        """Close idle connections, and those in use when they are returned; lend no more."""
        with self._guard:
            self._closed = True

        self._close_idle()

    @property
    def writers(self) -> FifoSemaphore:
        """The queue of threads that write, one at a time."""
        self._notice_fork()
        return self._writers

    def _forget(self) -> None:
        """Start without connections, neither using nor closing those of a parent process."""
        self._idle, self._writers = [], FifoSemaphore()
        self._places = FifoSemaphore(_PLACES)
        self._process, self._closed = os.getpid(), False

    @contextmanager
    def _place(self, until: float) -> Iterator[None]:
        self._notice_fork()
        if self._closed:
            raise StoreError(f"{self._address.shown} has been closed; open it again")

        with self._places.taken(until - time.monotonic()) as got:
            if not got:
                raise StoreBusyError(
                    f"all connections of this process to {self._address.shown} are in use; call"
                    " again"
                )

            yield

    def _notice_fork(self) -> None:
        # Asked on every use: a child must notice it before it touches a socket of its parent.
        if self._process != os.getpid():
            # The parent still uses these sockets. Closing a connection would send a message on its
            # socket, which the list prevents by keeping them from being garbage-collected.
            _abandoned.extend(self._idle)
            self._guard = Lock()
            self._forget()

    def _begun(
        self, begin: Callable[[], Composed], *, until: float, waits: bool
    ) -> tuple[Connection, tuple[object, ...]]:
        """Start on an idle connection, or on a new one if the idle one turns out to be broken.

        Trying again is safe, as no change was sent yet.
        """
        with self._guard:
            idle = self._idle.pop() if self._idle else None
        if idle is not None:
            try:
                return idle, self._first_row(idle, begin, until=until, waits=waits)
            except psycopg.OperationalError as error:
                if not was_lost(error):
                    raise

                # The others are as old. Where they are silent too, each would cost a call all its
                # time.
                self._close_idle()
                # A server that does not answer on one connection does not answer on the next
                # either; trying would double the wait.
                if isinstance(error, NoAnswerError):
                    raise

        connection = self._address.connect(until=until)

        return connection, self._first_row(connection, begin, until=until, waits=waits)

    def _first_row(
        self, connection: Connection, begin: Callable[[], Composed], *, until: float, waits: bool
    ) -> tuple[object, ...]:
        # No more than what is left: a call that had to wait for its turn has done nothing yet.
        left = max(until - time.monotonic(), SHORTEST_WAIT)
        connection.answer_within = left if waits else min(self._answer_within, left)
        connection.until = math.inf
        return _last_row(connection, begin())

    def _give_back(self, connection: Connection) -> None:
        with self._guard:
            # One that is still within a transaction is closed: the server then rolls it back, and
            # the next borrower would otherwise continue what another began.
            if connection.pgconn.transaction_status == TransactionStatus.IDLE and not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _close_idle(self) -> None:
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _last_row(connection: Connection, statements: Composed) -> tuple[object, ...]:
    """Run `statements` and return the row of the last; close the connection if they fail."""
    try:
        # Several statements in one message are one round trip. Their results come one after the
        # other.
        cursor = connection.execute(statements)
        while cursor.nextset():
            pass

        row = cursor.fetchone()
        if row is None:
            raise StoreError("the database did not answer as goop-mcp expects; please report this")
    except BaseException:
        connection.close()
        raise

    return row

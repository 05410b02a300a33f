"""A few connections for all threads of a process, and transactions on them."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from types import TracebackType
from typing import Self

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.sql import SQL, Composed

from goop_mcp.errors import StoreBusyError, StoreError
from goop_mcp.store.postgres.address import ANSWER_WITHIN, Address, Connection, NoAnswerError
from goop_mcp.store.postgres.errors import outcome_unknown, translated, translating, was_lost
from goop_mcp.store.postgres.turns import Turns

__all__ = ["Connection", "Connections", "Transaction"]

# One writer with its place in the queue takes two; the others read.
_PLACES = 5
_abandoned: list[Connection] = []


class Transaction:
    """A transaction under way. Leaving the block takes back what was not committed."""

    def __init__(self, connection: Connection, *, place: str, first: tuple[object, ...]) -> None:
        """Take a connection on which BEGIN has run; `first` is the row that came with it, `place` is for errors."""
        self.connection, self.first, self._place = connection, first, place

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A connection that is gone has taken everything back by itself.
        with suppress(psycopg.Error):
            if self.connection.pgconn.transaction_status != TransactionStatus.IDLE:
                self.connection.execute("ROLLBACK")

    def commit(self, last: SQL | Composed) -> None:
        """Run the statement `last` and commit, in one message; returns once the change is on disk.

        Raises StoreUnavailableError when the answer did not arrive: then nobody knows the outcome.
        """
        try:
            cursor = self.connection.execute(Composed([last, SQL("; COMMIT")]))
            while cursor.nextset():
                pass
        except psycopg.Error as error:
            unknown = was_lost(error) or self.connection.closed
            raise (
                outcome_unknown(self._place) if unknown else translated(error, self._place)
            ) from error

        # A transaction in which a statement has failed answers COMMIT with ROLLBACK, and no error.
        if cursor.statusmessage != "COMMIT":
            raise StoreError(
                f"a statement on {self._place} failed and was passed over; nothing was stored"
            )


class Connections:
    """At most five connections, opened when needed and used again.

    Safe to use from many threads.
    """

    _idle: list[Connection]

    def __init__(self, address: Address, *, answer_within: float = ANSWER_WITHIN) -> None:
        """Open nothing yet.

        `answer_within` bounds in seconds what a statement takes, waits for locks aside.
        """
        self._address = address
        self._answer_within = answer_within
        self._guard = Lock()
        self._forget()

    @contextmanager
    def transaction(
        self, begin: Callable[[], Composed], *, timeout: float, waits: bool = False
    ) -> Iterator[Transaction]:
        """Run what `begin` returns, statements from BEGIN to one that gives a row, and lend what they opened.

        `timeout` in seconds bounds the wait for a free connection, and for locks where `begin` `waits` for
        some. Raises the errors of StoreError.
        """
        with self._place(timeout):
            with translating(self._address.shown):
                connection, first = self._begun(
                    begin, patience=self._answer_within + (timeout if waits else 0)
                )
                connection.patience = self._answer_within

            try:
                with Transaction(connection, place=self._address.shown, first=first) as transaction:
                    yield transaction
            finally:
                self._give_back(connection)

    @contextmanager
    def outside_transactions(self, *, timeout: float) -> Iterator[Connection]:
        """Lend a new connection on which each statement stands alone."""
        with self._place(timeout), translating(self._address.shown):
            connection = self._address.connect()
            connection.patience = self._answer_within
            try:
                yield connection
            finally:
                self._give_back(connection)

    def close(self) -> None:
        """Close what nobody uses; what is in use is closed when it comes back.

        Nothing is lent any more.
        """
        with self._guard:
            self._closed = True

        self._close_idle()

    @property
    def writers(self) -> Turns:
        """The line of threads that write, in which one at a time has its turn."""
        self._notice_fork()
        return self._writers

    def _forget(self) -> None:
        """Begin without connections; those of a parent process are left alone."""
        self._idle, self._writers = [], Turns()
        self._places = Turns(_PLACES)
        self._process, self._closed = os.getpid(), False

    @contextmanager
    def _place(self, timeout: float) -> Iterator[None]:
        self._notice_fork()
        if self._closed:
            raise StoreError(f"{self._address.shown} has been closed; open it again")

        with self._places.taken(timeout) as got:
            if not got:
                raise StoreBusyError(
                    f"all connections of this process to {self._address.shown} are in use; call"
                    " again"
                )

            yield

    def _notice_fork(self) -> None:
        if self._process != os.getpid():
            # Neither used nor closed: the parent speaks on them.
            _abandoned.extend(self._idle)
            self._guard = Lock()
            self._forget()

    def _begun(
        self, begin: Callable[[], Composed], *, patience: float
    ) -> tuple[Connection, tuple[object, ...]]:
        """Begin on an idle connection, or on a new one where that has died: nothing had been asked of it."""
        idle = self._pop()
        if idle is not None:
            try:
                idle.patience = patience
                return idle, _last_row(idle, begin())
            except psycopg.OperationalError as error:
                # A server that is silent on one connection would be waited for as long on the next.
                if not was_lost(error) or isinstance(error, NoAnswerError):
                    raise

                self._close_idle()

        connection = self._address.connect()
        connection.patience = patience

        return connection, _last_row(connection, begin())

    def _pop(self) -> Connection | None:
        with self._guard:
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: Connection) -> None:
        with self._guard:
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
    """Run `statements` and return the row of the last; a connection on which they fail is closed."""
    try:
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

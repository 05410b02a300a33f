"""The store on PostgreSQL, for many processes on many machines.

The writers of a project run one after the other; writers of different projects run in parallel.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Literal as OneOf
from typing import TypeVar, cast

from psycopg.sql import Composed

from goop_mcp.errors import StoreBusyError, StoreError
from goop_mcp.redaction.ahead import search_ahead
from goop_mcp.settings import SettingsError
from goop_mcp.store.failpoints import Failpoint, failpoint
from goop_mcp.store.interface import ReadTransaction, WriteTransaction
from goop_mcp.store.older_copies import OlderCopy
from goop_mcp.store.postgres import schema
from goop_mcp.store.postgres.address import ANSWER_WITHIN, parse_address
from goop_mcp.store.postgres.connections import Connection, Connections, Transaction
from goop_mcp.store.postgres.errors import OutcomeUnknownError, lost, translating
from goop_mcp.store.postgres.reading import PostgresReadTransaction, ProjectKey
from goop_mcp.store.postgres.transaction_start import TransactionStart, holder_of_turn
from goop_mcp.store.postgres.writing import IdCounters, PostgresWriteTransaction

__all__ = ["PostgresStore"]

T = TypeVar("T")
_log = logging.getLogger(__name__)
_PATIENCE = 30.0  # seconds for a call whose caller gives no limit
_LONG_PATIENCE = 600.0  # seconds for a statement that reads all rows of a table
_SHORT_PATIENCE = 5.0  # seconds to find out who holds the turn
# Of the time of a call. A server that is silent has to be found out before it is over, and the turn
# has to come early enough for the change.
_FOR_ANSWERS, _FOR_THE_TURN = 5 / 6, 2 / 3


class PostgresStore:
    """A project's rows in a PostgreSQL database; see `goop_mcp.store.interface.Store`.

    Ids, revisions and keys are counted for each tenant and project; no query reads other rows.
    """

    def __init__(
        self,
        url: str,
        *,
        project_id: str | None,
        tenant: str = "default",
        answer_within: float = ANSWER_WITHIN,
    ) -> None:
        """Parse `url`, `postgresql://…`; the project has the same id on every machine.

        A server that takes longer than `answer_within` seconds for a statement counts as silent;
        waits for locks do not count.

        Raises SettingsError for a URL that cannot be read and for a missing or unusable project id
        or tenant.
        """
        # Parsed now and not at the first query: a typing error in a setting shows at the start.
        self._address = parse_address(url)
        # No default from the path: two machines would silently work on two projects.
        if not project_id:
            raise SettingsError(
                "PostgreSQL needs a project id, as paths differ between machines; give --project-id"
            )

        # NUL cannot be stored in a text of PostgreSQL; the driver would report it at the first
        # query.
        if any(not name or "\0" in name for name in (project_id, tenant)):
            raise SettingsError(
                "a project id or tenant is text without NUL and not empty; name another one"
            )

        self._project = ProjectKey(tenant, project_id)
        self._connections = Connections(self._address, answer_within=answer_within)
        # The thread that writes now. Asked before waiting, as a change that starts another one
        # would wait for itself.
        self._writer: int | None = None
        # Set once the tables are known to be there and new enough. Each transaction checks the
        # version again, in the statement that starts it, so this costs no further round trip.
        self._begin: TransactionStart | None = None
        # Of the server, in which each transaction has another number.
        self._history: tuple[str, str] | None = None
        self._warnings: tuple[str, ...] = ()
        self._used = 0
        self._noted: OlderCopy | None = None

    def __repr__(self) -> str:
        return (
            f"PostgresStore({self.location!r}, project_id={self._project.name!r},"
            f" tenant={self._project.tenant!r})"
        )

    @property
    def engine(self) -> OneOf["sqlite", "postgresql"]:
        """The kind of database."""
        return "postgresql"

    @property
    def location(self) -> str:
        """The URL of the database without password."""
        return self._address.shown

    @property
    def warnings(self) -> tuple[str, ...]:
        """What people should know about the database; empty before it was opened."""
        return self._warnings

    def exists(self) -> bool:
        """Return whether the database has our tables, without creating them."""
        return self._opened(_silent_at(_PATIENCE)) is not None

    def read(self, ask: Callable[[ReadTransaction], T]) -> T:
        """Run `ask` on one consistent view and return its result.

        A database without tables reads as empty.
        """
        until = _silent_at(_PATIENCE)
        begin = self._opened(until)
        if begin is None:
            # Also without tables: asking for a report must not create a schema in somebody's
            # database.
            return ask(
                PostgresReadTransaction(None, self._project, place=self.location, revision=0)
            )

        with self._reading(begin, until) as (connection, revision):
            return ask(
                PostgresReadTransaction(
                    connection, self._project, place=self.location, revision=revision
                )
            )

    def write(
        self,
        change: Callable[[WriteTransaction], T],
        *,
        then: Callable[[T], None] | None = None,
        timeout: float = 30.0,
    ) -> T:
        """Run `change` in one transaction and return its result once it is on disk."""
        until, turn_by = _silent_at(timeout), time.monotonic() + timeout * _FOR_THE_TURN

        def write(run: Callable[[WriteTransaction], T]) -> T:
            return self._written(run, then, until, turn_by)

        return search_ahead(change, write)

    def mark_used(self, revision: int) -> None:
        """Give no revision up to `revision` any more."""
        self._used = max(self._used, revision)

    def take_older_copy(self) -> OlderCopy | None:
        """Return what a change has noted about the database, once."""
        noted, self._noted = self._noted, None
        return noted

    def check(self) -> list[str]:
        """Return a description of each defect of the tables and of the project's counters."""
        until = _silent_at(_PATIENCE)
        begin = self._opened(until)
        if begin is None:
            return []

        with self._reading(begin, until) as (connection, _), translating(self.location):
            return list(schema.find_defects(connection))

    # Unused arguments belong to the signature of Store.
    # A dump made by the server's own tool is consistent, and its owner knows how to restore it.
    def backup(self, target: Path, *, force: bool = False) -> None:  # noqa: ARG002
        """Raise StoreError, as PostgreSQL has its own tools for that."""
        raise StoreError(
            f"{self.location} is a database of PostgreSQL; write a copy of it with pg_dump"
            f" --format=custom --schema=goop --file={target.name} and this URL"
        )

    def restore(self, source: Path) -> str | None:
        """Raise StoreError, as PostgreSQL has its own tools for that."""
        raise StoreError(
            f"{self.location} is a database of PostgreSQL; put a copy of it back with pg_restore"
            f" --clean --if-exists --dbname and this URL, {source.name} at the end"
        )

    def close(self) -> None:
        """Close the connections, those in use when they are returned; may be called twice."""
        self._connections.close()

    def _opened(self, until: float) -> TransactionStart | None:
        """Return how transactions start, None without tables; migrate older tables first."""
        if self._begin is None:
            with self._connections.outside_transactions(until=until) as connection:
                version = schema.version_of(connection)
                schema.refuse_newer(version, self.location)
                if version == 0:
                    return None
                if version == schema.newest_version():
                    self._begin = self._beginning(connection)
                    return self._begin

            return self._made(until)

        return self._begin

    def _made(self, until: float) -> TransactionStart:
        """Create or migrate the tables, unless another process just did."""
        # A migration that touches every row takes longer than any answer is waited for.
        with self._connections.outside_transactions(
            until=until, takes=_LONG_PATIENCE
        ) as connection:
            schema.migrate(connection, place=self.location, timeout=_left(until))

        begin = self._opened(_silent_at(_PATIENCE))
        if begin is None:
            raise StoreError(
                f"{self.location} has no tables although they were just created; please report this"
            )

        return begin

    def _beginning(self, connection: Connection) -> TransactionStart:
        self._history = schema.history_of(connection)
        as_app_role = schema.can_become(connection)
        # The owner of the tables, and a superuser, see the rows of all tenants whatever the
        # policies say. Acting as another role for the transaction makes the policies apply; where
        # that is not possible, the person in charge should know.
        if not as_app_role and schema.bypasses_row_security(connection):
            self._warnings = (
                (
                    f"the user of {self.location} bypasses row-level security and may not act as"
                    f" {schema.APP_ROLE}; log in as a user without these rights"
                ),
            )

        return TransactionStart(self._project, as_app_role=as_app_role)

    @contextmanager
    def _reading(self, begin: TransactionStart, until: float) -> Iterator[tuple[Connection, int]]:
        """Lend a connection with one consistent view, and the project's revision in it."""
        with self._connections.transaction(begin.reading, until=until) as transaction:
            version, revision = cast("tuple[int, int]", transaction.first)
            schema.refuse_newer(version, self.location)
            self.mark_used(revision)
            # Within the transaction, as another machine may have migrated the tables since the last
            # one.
            yield transaction.connection, revision

    def _written(
        self,
        change: Callable[[WriteTransaction], T],
        then: Callable[[T], None] | None,
        until: float,
        turn_by: float,
    ) -> T:
        with self._turn_of_thread(_left(until)):
            # Tables are created by the first change, never by a question.
            begin = self._opened(until) or self._made(until)
            if then is None:
                return self._changed(change, begin, until, turn_by, turn="take")

            # `then` writes files that must be in the order of the commits. The turn ends with the
            # transaction that holds it, so a second transaction holds it until `then` has run.
            with self._begun(lambda: begin.waiting(_left(turn_by)), until):
                failpoint(Failpoint.LOCK)
                answer = self._changed(change, begin, until, turn_by, turn="held")
                self._follow_up(lambda: then(answer))

                return answer

    def _changed(
        self,
        change: Callable[[WriteTransaction], T],
        begin: TransactionStart,
        until: float,
        turn_by: float,
        *,
        turn: OneOf["take", "held"],
    ) -> T:
        """Run `change` in a transaction, commit it and return its result."""
        with self._begun(lambda: begin.writing(_left(turn_by), turn=turn), until) as transaction:
            failpoint(Failpoint.BEGIN)
            at, number, used, *numbers = transaction.first
            version, *counts = cast("list[int]", numbers)
            schema.refuse_newer(version, self.location)
            counters = IdCounters(*counts)
            writing = PostgresWriteTransaction(
                transaction.connection,
                self._project,
                place=self.location,
                counters=counters,
                at=str(at),
            )
            writing.continue_after(max(self._used, cast("int", used)))
            answer = change(writing)
            # The counters and COMMIT go in one message: a round trip less while the project's turn
            # is held.
            try:
                transaction.commit(counters.statement(self._project))
            except OutcomeUnknownError as error:
                committed = self._was_committed(str(number), until)
                if committed is None:
                    raise
                if not committed:
                    raise lost(self.location) from error
            failpoint(Failpoint.COMMIT)

        self.mark_used(writing.revision())
        if writing.older_copy is not None:
            self._noted = writing.older_copy
        if writing.has_forgotten:
            self._follow_up(lambda: self._vacuum(until))
        return answer

    def _was_committed(self, number: str, until: float) -> bool | None:
        """Ask the server whether the transaction `number` was committed; None if nobody can say.

        The server may be away still, or may not have noticed yet that the connection is gone.
        """
        known = self._history
        if known is None:
            return None
        until, pause = max(until, time.monotonic() + _SHORT_PATIENCE), 0.05
        while True:
            history = status = None
            soon = min(until, time.monotonic() + _SHORT_PATIENCE)
            try:
                with self._connections.outside_transactions(until=soon) as connection:
                    history = schema.history_of(connection)
                    status = schema.status_of(connection, number)
            except StoreError as error:
                # As when the store was closed meanwhile.
                if not error.retryable:
                    return None

            # Nothing is known yet of a standby.
            if history is not None and status is not None:
                self._history = history
                # Another server may not have this change, and may have used its number for another
                # one.
                if history[0] != known[0]:
                    return None
                # A crash loses changes that were not on disk, and their numbers are used again.
                if status == "committed" and history == known:
                    return True
                if status in ("aborted", "unknown"):
                    return False
                if history != known:
                    return None

            if time.monotonic() + pause > until:
                return None
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def _follow_up(self, action: Callable[[], None]) -> None:
        """Run `action` after the commit; its failure is logged, since the change is stored."""
        try:
            action()
        except Exception:
            _log.exception(
                "%s: the change is stored, but not all that follows from it is done", self.location
            )

    def _vacuum(self, until: float) -> None:
        """Remove the text of forgotten memories from the tables.

        Needs the owner of the tables; otherwise the server's autovacuum does it later.
        """
        with self._connections.outside_transactions(
            until=until, takes=_LONG_PATIENCE
        ) as connection:
            # Dead rows still hold the text that was to be forgotten.
            connection.execute("VACUUM goop.memories, goop.memory_words")

    @contextmanager
    def _begun(self, begin: Callable[[], Composed], until: float) -> Iterator[Transaction]:
        """Lend a transaction that may wait for a lock; an error after the wait names its holder."""
        # Only entering the transaction waits for the lock. An error of the caller's block must not
        # be taken for such a wait, hence the stack.
        with ExitStack() as stack:
            with self._named_holder():
                transaction = stack.enter_context(
                    self._connections.transaction(begin, until=until, waits=True)
                )

            yield transaction

    @contextmanager
    def _turn_of_thread(self, timeout: float) -> Iterator[None]:
        """Let one thread of this process write at a time.

        Otherwise waiting writers would use all connections of the pool, and readers had none.
        """
        if self._writer == threading.get_ident():
            raise StoreError("a change must not start another one; do both in one change")

        with self._connections.writers.taken(timeout) as got:
            if not got:
                raise StoreBusyError(
                    f"other threads of this process wrote to {self.location} for too long; call"
                    " again"
                )

            # Only the thread that holds the turn writes this, so that no lock is needed.
            self._writer = threading.get_ident()
            try:
                yield
            finally:
                self._writer = None

    @contextmanager
    def _named_holder(self) -> Iterator[None]:
        """Add who holds the project's turn to StoreBusyError, if the server shows it."""
        try:
            yield
        except StoreBusyError as error:
            holder = None
            # Best effort: the busy error is the answer, the name of the holder is an addition to
            # it.
            with (
                suppress(StoreError),
                self._connections.outside_transactions(
                    until=time.monotonic() + _SHORT_PATIENCE
                ) as connection,
            ):
                holder = holder_of_turn(connection, self._project)

            if holder is None:
                raise

            raise StoreBusyError(f"{error}; the project's turn is held by {holder}") from error


def _silent_at(timeout: float) -> float:
    """Return when a server without an answer counts as silent, in a call of `timeout` seconds."""
    return time.monotonic() + timeout * _FOR_ANSWERS


def _left(until: float) -> float:
    return max(until - time.monotonic(), 0.0)

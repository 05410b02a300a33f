"""How a project's transactions start: their rows, permissions, and the queue of writers."""

import hashlib
from typing import Literal as OneOf

from psycopg.sql import SQL, Composed, Literal

from goop_mcp.store.postgres.connections import Connection
from goop_mcp.store.postgres.reading import ProjectKey
from goop_mcp.store.postgres.schema import APP_ROLE
from goop_mcp.store.postgres.statements import TIME

__all__ = ["TransactionStart", "holder_of_turn"]

# The server ends a change whose process sends nothing for this long, so that others can write.
_LONGEST_STANDSTILL = "60s"
_HOLDER = (
    "SELECT a.application_name, a.pid, coalesce(a.client_addr::text, 'the same machine'),"
    " extract(epoch FROM clock_timestamp() - a.xact_start)::float8 FROM pg_locks l JOIN"
    " pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1"
    " AND l.classid = %s AND l.objid = %s AND l.database = (SELECT oid FROM pg_database WHERE"
    " datname = current_database())"
)


# The row of a copy that was put back was written by another transaction than it says, or is in
# another table. Each revision since that copy took a transaction of its own, and in another server
# at least a millisecond.
_USED = SQL(
    "CASE WHEN written_by IS NULL OR (written_by & 4294967295 = xmin::text::bigint AND written_in ="
    " tableoid::bigint) THEN revision ELSE revision + greatest(pg_current_xact_id()::text::bigint -"
    " written_by, (extract(epoch FROM clock_timestamp() - written_at) * 1000)::bigint, 1) END"
)


class TransactionStart:
    """The statements that start transactions.

    All settings are local to the transaction, because PgBouncer may give the next transaction of
    another client the same connection.
    """

    def __init__(self, project: ProjectKey, *, as_app_role: bool) -> None:
        """Prepare for `project`; transactions have the rights of APP_ROLE if `as_app_role`."""
        self._whose = {"tenant": Literal(project.tenant), "project": Literal(project.name)}
        self._turn = Literal(_turn_number(project))
        self._settings = {
            **({"role": APP_ROLE} if as_app_role else {}),
            "app.tenant": project.tenant,
            "app.project": project.name,
            "idle_in_transaction_session_timeout": _LONGEST_STANDSTILL,
        }

    def reading(self) -> Composed:
        """Start one consistent view; its row is (version of the tables, project's revision)."""
        row = SQL(
            "SELECT (SELECT max(version) FROM goop.versions), coalesce((SELECT revision FROM"
            " goop.meta WHERE tenant = {tenant} AND project = {project}), 0)"
        ).format(**self._whose)
        return _in_order(
            SQL("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"), _set(self._settings), row
        )

    def waiting(self, timeout: float) -> Composed:
        """Take the project's turn within `timeout` seconds and keep it for the transaction."""
        return _in_order(
            self._changing(timeout), SQL("SELECT pg_advisory_xact_lock({})").format(self._turn)
        )

    def writing(self, timeout: float, *, turn: OneOf["take", "held"]) -> Composed:
        """Start a change; its row: (time, transaction, used, version, revision, last ids).

        `used` is the newest revision that may have been given. The version is that of the tables.
        `held` means that another transaction of the caller already has the turn.
        """
        # FOR UPDATE alone would exclude other writers. The advisory lock before it is granted in
        # the order of requests, and pg_locks shows who holds it, which the error message names.
        row = SQL(
            "INSERT INTO goop.meta (tenant, project) VALUES ({tenant}, {project}) ON CONFLICT DO"
            " NOTHING; SELECT {time}, pg_current_xact_id()::text, {used}, (SELECT max(version) FROM"
            " goop.versions), revision, memory_id, report_id, event_id, attempt_id, judgement_id,"
            " confirmation_id, document_id, reply_id, run_id FROM goop.meta WHERE tenant = {tenant}"
            " AND project = {project} FOR UPDATE"
        ).format(**self._whose, time=TIME, used=_USED)
        return _in_order(self.waiting(timeout) if turn == "take" else self._changing(timeout), row)

    def _changing(self, timeout: float) -> Composed:
        patience = {"lock_timeout": f"{max(int(timeout * 1000), 1)}ms"}
        return _in_order(
            SQL("BEGIN ISOLATION LEVEL READ COMMITTED"), _set(self._settings | patience)
        )


def holder_of_turn(connection: Connection, project: ProjectKey) -> str | None:
    """Return who has the project's turn, None when nobody has or this user may not see it."""
    number = _turn_number(project)
    # pg_locks shows the key of an advisory lock as two unsigned halves.
    row = connection.execute(_HOLDER, ((number >> 32) & 0xFFFFFFFF, number & 0xFFFFFFFF)).fetchone()
    if row is None or row[0] is None:
        return None

    name, pid, machine, seconds = row

    return (
        f"{name or 'another program'} (server process {pid}, from {machine}, for {seconds:.0f} s)"
    )


def _turn_number(project: ProjectKey) -> int:
    """Return the key of the project's advisory lock, a signed 64-bit number.

    Two projects with the same key would only wait for each other.
    """
    name = f"goop\0{project.tenant}\0{project.name}".encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), signed=True)


def _set(settings: dict[str, str]) -> Composed:
    calls = [
        SQL("set_config({}, {}, true)").format(Literal(name), Literal(value))
        for name, value in settings.items()
    ]
    return SQL("SELECT {}").format(SQL(", ").join(calls))


def _in_order(*statements: SQL | Composed) -> Composed:
    return SQL("; ").join(statements)

"""The tables of goop-mcp in a PostgreSQL database: their version, migrations and defects."""

from collections.abc import Iterator
from functools import cache
from typing import LiteralString, cast

import psycopg
from psycopg.sql import SQL, Literal

from goop_mcp.errors import StoreVersionError
from goop_mcp.store.migrations import Migration, load_migrations
from goop_mcp.store.postgres.connections import Connection

__all__ = [
    "APP_ROLE",
    "bypasses_row_security",
    "can_become",
    "find_defects",
    "history_of",
    "migrate",
    "newest_version",
    "refuse_newer",
    "status_of",
    "version_of",
]

APP_ROLE = "goop_app"
"""The role that works with the rows; it owns no table, as row-level security exempts owners."""

# "goop_mig" in ASCII.
# The same number everywhere: advisory locks of different databases do not affect each other.
_MIGRATION_LOCK = 0x676F6F705F6D6967

_HAS_TABLES = (
    "SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
    "WHERE nspname = 'goop' AND relname = 'versions'"
)
# Checked by `doctor`: both defects give wrong answers without any error.
_RULES: dict[str, LiteralString] = {
    "row-level security is not forced on goop.{}; run ALTER TABLE … FORCE ROW LEVEL SECURITY": (
        # The words of memories are searched by functions of the owner, whom it must not bind.
        "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('goop') AND relkind ="
        " 'r' AND relname NOT IN ('versions', 'memory_words') AND NOT (relrowsecurity AND"
        " relforcerowsecurity)"
    ),
    "row-level security is not enabled on goop.{}; run ALTER TABLE … ENABLE ROW LEVEL SECURITY": (
        "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('goop') AND relname ="
        " 'memory_words' AND NOT relrowsecurity"
    ),
    "the index goop.{} is not valid; run REINDEX": (
        "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid "
        "WHERE relnamespace = to_regnamespace('goop') AND NOT indisvalid"
    ),
}
# Each counter has to be at least the largest number in use, or the next row would get a number that
# exists.
_COUNTED = SQL(
    "SELECT kind FROM goop.meta, LATERAL (VALUES ('memories', memory_id, (SELECT max(id) FROM"
    " goop.memories)), ('reports', report_id, (SELECT max(id) FROM goop.reports)), ('events',"
    " event_id, (SELECT max(id) FROM goop.events)), ('attempts', attempt_id, (SELECT max(id) FROM"
    " goop.attempts)), ('judgements', judgement_id, (SELECT max(id) FROM goop.judgements)),"
    " ('confirmations', confirmation_id, (SELECT max(id) FROM goop.confirmations)), ('documents',"
    " document_id, (SELECT max(id) FROM goop.kept_documents)), ('replies', reply_id, (SELECT"
    " max(id) FROM goop.kept_replies)), ('runs', run_id, (SELECT max(id) FROM"
    " goop.recorded_runs)),"
    " ('revisions', revision, (SELECT max(revision) FROM goop.memories)), ('revisions', revision,"
    " (SELECT max(revision) FROM goop.reports)), ('revisions', revision, (SELECT max(revision) FROM"
    " goop.events))) AS counted(kind, given, used) WHERE used > given"
)


@cache
def _migrations() -> tuple[Migration, ...]:
    return load_migrations("postgres")


def newest_version() -> int:
    """Return the version of the tables that this program works with."""
    return _migrations()[-1].version


def version_of(connection: Connection) -> int:
    """Return the version of the tables in the database, 0 when there are none."""
    # Not to_regclass(): within a transaction it misses tables that others have created since.
    if not connection.execute(_HAS_TABLES).fetchall():
        return 0

    found = connection.execute("SELECT coalesce(max(version), 0) FROM goop.versions").fetchone()
    return cast("int", found[0]) if found else 0


def refuse_newer(version: int, place: str) -> None:
    """Raise StoreVersionError for tables that a newer program created."""
    if version > newest_version():
        raise StoreVersionError(
            f"{place} has tables of version {version}, this goop-mcp knows versions up to"
            f" {newest_version()}; update goop-mcp"
        )


def migrate(connection: Connection, *, place: str, timeout: float) -> None:
    """Migrate the tables to the newest version in one transaction.

    `timeout` in seconds bounds the wait for other processes that migrate. Raises the driver's
    errors and StoreVersionError.
    """
    # DDL is transactional in PostgreSQL: a kill leaves either the old or the new version. The
    # version is read after the advisory lock is taken, which makes processes that start together
    # migrate one after the other; those that waited find nothing left to do.
    with connection.transaction():
        connection.execute(
            SQL("SELECT set_config('lock_timeout', {}, true)").format(
                Literal(f"{max(int(timeout * 1000), 1)}ms")
            )
        )
        connection.execute(SQL("SELECT pg_advisory_xact_lock({})").format(Literal(_MIGRATION_LOCK)))
        version = version_of(connection)
        refuse_newer(version, place)
        for migration in _migrations()[version:]:
            connection.execute(migration.sql.encode())
            connection.execute(
                "INSERT INTO goop.versions (version) VALUES (%s)", (migration.version,)
            )


def can_become(connection: Connection) -> bool:
    """Return whether this user may act as APP_ROLE, and row-level security applies to that role."""
    with connection.transaction():
        connection.execute("SELECT")
        # Row-level security does not apply to superusers; both conditions must hold.
        # In a savepoint: a refused set_config would otherwise abort the whole transaction.
        try:
            with connection.transaction():
                connection.execute(
                    SQL("SELECT set_config('role', {}, true)").format(Literal(APP_ROLE))
                )
                row = connection.execute(
                    "SELECT has_table_privilege('goop.memories', 'INSERT') AND NOT (SELECT rolsuper"
                    " OR rolbypassrls FROM pg_roles WHERE rolname = current_user)"
                ).fetchone()
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidParameterValue):
            return False

        return bool(row and row[0])


def history_of(connection: Connection) -> tuple[str, str] | None:
    """Return which server this is since which failover, and since which crash; None if unknown.

    Within one history no two transactions have the same number.
    """
    try:
        # A server forgets its statistics in a crash, and with them since when it counts.
        row = connection.execute(
            "SELECT system_identifier::text || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),"
            " extract(epoch FROM stats_reset)::text FROM pg_control_system(), pg_stat_archiver"
        ).fetchone()
    except psycopg.Error:
        # A standby, or a service that keeps no log of its own.
        return None
    return None if row is None or None in row else cast("tuple[str, str]", row)


def status_of(connection: Connection, number: str) -> str | None:
    """Return what became of a transaction: committed, aborted, in progress; unknown if not begun.

    None for one of long ago.
    """
    try:
        row = connection.execute("SELECT pg_xact_status(%s::xid8)", (number,)).fetchone()
    except psycopg.errors.InvalidParameterValue:
        # "is in the future": it was lost in a crash, before anything of it was on disk.
        return "unknown"
    return None if row is None or row[0] is None else str(row[0])


def bypasses_row_security(connection: Connection) -> bool:
    """Return whether this user sees all rows, whatever the policies are."""
    row = connection.execute(
        "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    return bool(row and row[0])


def find_defects(connection: Connection) -> Iterator[str]:
    """Yield the defects of the tables and of those rows that this transaction sees."""
    for text, statement in _RULES.items():
        yield from (text.format(name) for (name,) in connection.execute(statement))

    for (kind,) in connection.execute(_COUNTED):
        yield (
            f"{kind} of the project are numbered beyond what was given out; restore goop.meta from"
            " a backup"
        )

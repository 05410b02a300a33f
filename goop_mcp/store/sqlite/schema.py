"""Compare the schema of a database file with the schema that this program creates.

A file may come with somebody else's checkout. A view or a generated column in place of one of our
columns would run their code whenever it is read, a trigger whenever we write.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import apsw

from goop_mcp.store.migrations import Migration

__all__ = ["find_foreign_objects", "read_objects"]

# Far more than our schema has; a hostile file may declare millions of them.
_MOST_OBJECTS: Final = 1000
# FTS5 declares these tables itself, and another version of SQLite may declare them differently.
_SHADOW_TABLES: Final = "memory_index_"


def read_objects(connection: apsw.Connection) -> dict[str, str]:
    """Return the statement that declares each table, index, trigger and view, by name."""
    declared = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL LIMIT ?"
    return {
        name: "".join(sql.split()) for name, sql in connection.execute(declared, (_MOST_OBJECTS,))
    }


def find_foreign_objects(found: dict[str, str], migrations: Sequence[Migration]) -> list[str]:
    """Return the names in `found` that `migrations` do not declare, or declare differently.

    Additional plain tables are ignored: backup programs keep notes in one, and our code never reads
    them. The column `type` of the schema is ignored, as SQLite itself goes by the statement alone.
    """
    ours = _declared_by(tuple(migrations))
    foreign = [
        name
        for name, statement in found.items()
        if statement != ours.get(name, statement)
        and not (name.startswith(_SHADOW_TABLES) and _is_plain_table(statement))
    ]
    foreign += [name for name in found.keys() - ours.keys() if not _is_plain_table(found[name])]

    return sorted([*foreign, *(ours.keys() - found.keys())])


def _is_plain_table(statement: str) -> bool:
    return statement.upper().startswith("CREATETABLE")


@lru_cache(maxsize=8)
def _declared_by(migrations: Iterable[Migration]) -> dict[str, str]:
    """Return the schema of an empty database in memory on which `migrations` have run."""
    connection = apsw.Connection(":memory:")
    try:
        for migration in migrations:
            connection.execute(migration.sql).fetchall()

        return read_objects(connection)
    finally:
        connection.close()

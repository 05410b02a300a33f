"""Whether what a database file declares is what this program declared in it.

A file may come with a checkout that somebody else made. A view or a generated column in place of
one of our columns would run their code whenever it is read, a trigger whenever we write.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import apsw

from goop_mcp.store.migrations import Migration

__all__ = ["find_foreign_objects", "read_objects"]

# More are in no database of ours; a file may declare millions of them.
_MOST_OBJECTS: Final = 1000
# FTS5 writes these tables itself, and a later SQLite may write them another way.
_SHADOW_TABLES: Final = "memory_index_"


def read_objects(connection: apsw.Connection) -> dict[str, str]:
    """Return the statement that declares each table, index, trigger and view, by its name."""
    declared = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL LIMIT ?"
    return {
        name: "".join(sql.split()) for name, sql in connection.execute(declared, (_MOST_OBJECTS,))
    }


def find_foreign_objects(found: dict[str, str], migrations: Sequence[Migration]) -> list[str]:
    """Return the names in `found` that these migrations do not declare, or declare in another way.

    Further plain tables are let be: backup programs keep notes in one, and nothing of ours reads
    it. The column `type` of the schema is not asked, as SQLite itself goes by the statement alone.
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
    """Return what SQLite itself keeps of the statements of `migrations`."""
    connection = apsw.Connection(":memory:")
    try:
        for migration in migrations:
            connection.execute(migration.sql).fetchall()

        return read_objects(connection)
    finally:
        connection.close()

"""Compare the schema of a database file with the schema that this program creates.

A file may come with somebody else's checkout. A view or a generated column in place of one of our
columns would run their code whenever it is read, a trigger whenever we write.
"""

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import apsw

from goop_mcp.store.migrations import Migration
from goop_mcp.store.search_text import filter_tokens, inner_words

__all__ = ["add_functions", "find_foreign_objects", "read_objects"]

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
    add_functions(connection)
    try:
        for migration in migrations:
            connection.execute(migration.sql).fetchall()

        return read_objects(connection)
    finally:
        connection.close()


def add_functions(connection: apsw.Connection) -> None:
    """Add the functions that migrations call, so that old rows get what new ones are saved with."""

    def inner(*row: object) -> str:
        title, content, concepts = map(str, row)
        return inner_words((title, content, *_texts(concepts)))

    def tokens(*row: object) -> str:
        type, importance, concepts = map(str, row)
        return filter_tokens(type, float(importance), _texts(concepts))

    connection.create_scalar_function("goop_inner_words", inner, 3, deterministic=True)
    connection.create_scalar_function("goop_filter_tokens", tokens, 3, deterministic=True)


def _texts(concepts: str) -> list[str]:
    """Return the texts of a JSON list; none for anything else, which only a forged file holds."""
    try:
        values = json.loads(concepts)
    except (ValueError, TypeError, RecursionError):
        return []

    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []

"""How frequent words are, which is counted one by one only where that is cheap."""

from functools import partial
from typing import Any, cast

import pytest
from psycopg.sql import SQL

from goop_mcp.errors import StoreError
from goop_mcp.store.postgres import PostgresStore, statements
from goop_mcp.store.records import MemoryFilter, Operator
from goop_mcp.store.search_text import project_token
from tests.postgres import Database
from tests.store.postgres.samples import memory, save

MEMORIES = 12_000
# Copied in the database, as saving so many one after the other takes half a minute.
COPIES = (
    """
    INSERT INTO goop.memories SELECT (jsonb_populate_record(first, jsonb_build_object(
        'id', number, 'uid', number, 'revision', number, 'fingerprint', number,
        'idempotency_key', NULL
    ))).* FROM goop.memories AS first, generate_series(2, %(memories)s) AS number
    """,
    """
    INSERT INTO goop.memory_words SELECT tenant, project, number, importance,
        CASE WHEN number %% 100 = 7 THEN tsv || to_tsvector('english', 'seldom') ELSE tsv END
    FROM goop.memory_words, generate_series(2, %(memories)s) AS number
    """,
    "UPDATE goop.meta SET memory_id = %(memories)s, revision = %(memories)s",
)
NO_MORE_COUNTING = """
CREATE OR REPLACE FUNCTION goop.count_memories(asked tsquery, most integer) RETURNS bigint
LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'counted'; END $$
"""


@pytest.fixture
def full_store(store: PostgresStore, database: Database) -> PostgresStore:
    """Return a store in which every memory has two words, and each hundredth a third one."""
    store.write(partial(save, memory(title="Sessions", content="Every cache.")))
    with database.connect() as admin:
        for statement in COPIES:
            admin.execute(statement, {"memories": MEMORIES})

    return store


def _found(store: PostgresStore, *words: str, operator: Operator = "OR") -> list[int]:
    hits = store.read(
        lambda rows: rows.search(words, operator=operator, wanted=MemoryFilter(), limit=5)
    )
    return [hit.id for hit in hits]


def test_words_of_nearly_all_memories_are_recognised_without_counting_them(
    full_store: PostgresStore, database: Database
) -> None:
    with database.connect() as admin:
        admin.execute(NO_MORE_COUNTING)

    newest = list(range(MEMORIES, MEMORIES - 5, -1))
    assert _found(full_store, "session", "cache", operator="AND") == newest
    with pytest.raises(StoreError, match="P0001"):
        _found(full_store, "seldom")


def test_a_rare_word_finds_its_memories_among_those_with_frequent_words(
    full_store: PostgresStore,
) -> None:
    assert _found(full_store, "cache", "seldom", "session") == [11907, 11807, 11707, 11607, 11507]


@pytest.mark.usefixtures("full_store")
def test_a_search_reads_no_more_memories_than_candidates_before_any_analyze(
    database: Database,
) -> None:
    values: dict[str, Any] = {
        "tenant": "default",
        "project": "shop",
        "query": "cache",
        "required": f"'{project_token('default', 'shop')}'",
        "min_importance": 0.0,
        "types": [],
        "concepts": [],
        "after": 0,
        "best": 200,
        "limit": 5,
        "words": ["cache"],
        "weights": [1.0],
    }
    with database.connect() as admin:
        admin.execute("DELETE FROM pg_statistic WHERE starelid = 'goop.memories'::regclass")
        for name in ("tenant", "project"):
            admin.execute("SELECT set_config(%s, %s, false)", (f"app.{name}", values[name]))
        [(plan,)] = admin.execute(
            SQL("EXPLAIN (ANALYZE, FORMAT JSON) ") + statements.SEARCH, values
        ).fetchall()

    nodes = [cast(Any, plan)[0]["Plan"]]
    for node in nodes:
        nodes += node.get("Plans", ())
    read = [
        node["Actual Rows"] * node["Actual Loops"]
        for node in nodes
        if node.get("Relation Name") == "memories"
    ]
    assert read == [200]

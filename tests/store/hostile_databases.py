"""Databases made by somebody else: from a checkout, an archive, a mail."""

from pathlib import Path
from typing import Final

import apsw

from goop_mcp.store.opening import open_store
from tests.store.rows import add_named

__all__ = ["FOREIGN_OBJECTS", "FOREIGN_VALUES", "plant"]

# Replaces ENDLESS in the statements below.
_ENDLESS: Final = "WITH RECURSIVE rows (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM rows) SELECT"
FOREIGN_OBJECTS: Final[dict[str, tuple[str, ...]]] = {
    "a view in place of a table": (
        "DROP TABLE memories",
        (
            "CREATE VIEW memories (id, type, importance, revision, created_at, forgotten_at, uid,"
            " idempotency_key, fingerprint, agent, session_id, title, concepts, concept_words,"
            " source_files, facts, content, sketches) AS ENDLESS x, 'note', 0.5, 1,"
            " '2026-01-15T10:30:00Z', NULL, 'u' || x, NULL, NULL, NULL, NULL, 't', '[]', '', '[]',"
            " '[]', 'c', '[]' FROM rows"
        ),
    ),
    "a view in place of the revision": (
        "DROP TABLE meta",
        "CREATE VIEW meta (key, value) AS ENDLESS 'revision', max(x) FROM rows",
    ),
    "a further view": ("CREATE VIEW more AS ENDLESS x FROM rows",),
    "a further trigger": (
        (
            "CREATE TRIGGER more AFTER UPDATE ON meta BEGIN DELETE FROM events WHERE id IN (ENDLESS"
            " x FROM rows); END"
        ),
    ),
    "a trigger of ours that does more": (
        "DROP TRIGGER memories_inserted",
        (
            "CREATE TRIGGER memories_inserted AFTER INSERT ON memories BEGIN "
            "DELETE FROM events WHERE id IN (ENDLESS x FROM rows); END"
        ),
    ),
    "a column that is computed": (
        "DROP TABLE projections",
        (
            "CREATE TABLE projections (path TEXT PRIMARY KEY, revision INTEGER, pending_sha256"
            " TEXT, sha256 TEXT GENERATED ALWAYS AS (hex(zeroblob(500000000))))"
        ),
    ),
    "an index over an expression": (
        "CREATE INDEX more ON events (hex(zeroblob(length(text) * 9999999)))",
    ),
    "a virtual table": ("CREATE VIRTUAL TABLE more USING fts5 (x)",),
    "a table that is missing": ("DROP TABLE judgements",),
}

_REPORT: Final = (
    "INSERT INTO reports (protocol, idempotency_key, envelope, verdict, decision, round,"
    " revision, created_at) VALUES ('goop_report', 'k', '{{}}', '{{}}', '{}', 1, 2,"
    " '2026-01-15T10:30:00Z')"
)
FOREIGN_VALUES: Final[dict[str, tuple[str, ...]]] = {
    "a title of 60 MB": (
        "UPDATE memories SET title = replace(hex(zeroblob(30000000)), '0', 'x ')",
    ),
    "a title of 8 MB": ("UPDATE memories SET title = replace(hex(zeroblob(2000000)), '0', 'x ')",),
    "a list that is none": ("UPDATE memories SET concepts = 'x'",),
    "a list of lists": ("UPDATE memories SET concepts = '[[1]]'",),
    "a list that is nested without end": (
        "UPDATE memories SET concepts = replace(hex(zeroblob(50000)), '0', '[')",
    ),
    "a report that is no JSON": (_REPORT.format("[["),),
    "a report that is a list": (_REPORT.format("[]"),),
    "a text that is no UTF-8": ("UPDATE memories SET content = CAST(x'ff00fe' AS TEXT)",),
}


def plant(project: Path, *statements: str) -> Path:
    """Give `project` a database with one memory, and change it by `statements` as anybody could."""
    store = open_store(None, project=project)
    add_named(store, "one")
    store.close()
    path = project / ".goopspec" / "goop.db"
    connection = apsw.Connection(str(path))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    for statement in statements:
        connection.execute(statement.replace("ENDLESS", _ENDLESS))

    connection.pragma("wal_checkpoint", "TRUNCATE")
    connection.close()

    return path

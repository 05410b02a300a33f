"""Find memories by words with FTS5, best first."""

import json
from collections.abc import Sequence
from typing import Final

import apsw

from goop_mcp.store.records import MemoryFilter, Operator
from goop_mcp.store.words import MOST_WORDS, WORD, fold_concept

__all__ = ["search"]

_MANY_ROWS = 100_000
_TOO_FREQUENT = 0.2
_CANDIDATES = 200
_TOKENIZER: Final = ["unicode61", "remove_diacritics", "2"]

WANTED: Final = """m.forgotten_at IS NULL
    AND m.importance >= :min_importance
    AND (:types IS NULL OR m.type IN (SELECT value FROM json_each(:types)))
    AND (:concepts IS NULL OR m.id IN (
      SELECT memory_id FROM memory_concepts WHERE concept IN (SELECT value FROM json_each(:concepts))))"""

# Two steps: weighing all rows in one ORDER BY takes twice as long. The filters stand before the cut.
_SEARCH: Final = f"""
WITH best AS MATERIALIZED (
  SELECT memory_index.rowid AS id, memory_index.rank AS rank
  FROM memory_index CROSS JOIN memories AS m ON m.id = memory_index.rowid
  WHERE memory_index MATCH :expression AND memory_index.rank MATCH 'bm25(10.0, 5.0, 3.0)'
    AND {WANTED}
  ORDER BY memory_index.rank LIMIT max({_CANDIDATES}, :limit))
SELECT m.id, -best.rank * (0.5 + m.importance) AS score
FROM best JOIN memories AS m ON m.id = best.id
ORDER BY score DESC, m.revision DESC, m.id DESC LIMIT :limit
"""  # noqa: S608 - put together from constants of this module


def search(
    connection: apsw.Connection, words: Sequence[str], *, operator: Operator, wanted: MemoryFilter, limit: int
) -> list[tuple[int, float]]:
    """Return ids and scores of at most `limit` memories that hold the words; anything is allowed as a word."""
    plain = [word for given in words for word in WORD.findall(given)][:MOST_WORDS]
    if operator == "OR":
        plain = _without_frequent_words(connection, plain)
    if not plain or limit < 1:
        return []
    # Always in quotes and bound: no word is an operator.
    expression = f" {operator} ".join(f'"{word}"' for word in plain)
    return list(connection.execute(_SEARCH, {"expression": expression, "limit": limit, **filter_bindings(wanted)}))


def filter_bindings(wanted: MemoryFilter) -> dict[str, str | float | None]:
    """Return what the names in WANTED stand for."""
    concepts = [fold_concept(concept) for concept in wanted.concepts]
    return {
        "min_importance": wanted.min_importance,
        "types": json.dumps(wanted.types) if wanted.types else None,
        "concepts": json.dumps(concepts) if concepts else None,
    }


def _without_frequent_words(connection: apsw.Connection, words: list[str]) -> list[str]:
    """Leave out words that stand in every fifth memory of very many: they cost the most and tell the least."""
    rows = connection.execute("SELECT max(id) FROM memories").get or 0
    if rows < _MANY_ROWS or len(words) < 2:  # noqa: PLR2004 - a single word is never left out
        return words
    return [word for word in words if _memories_with(connection, word) <= rows * _TOO_FREQUENT] or words


def _memories_with(connection: apsw.Connection, word: str) -> int:
    tokens = connection.fts5_tokenizer("porter", _TOKENIZER)(
        word.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False
    )
    return min(
        (connection.execute("SELECT doc FROM memory_vocabulary WHERE term = ?", (term,)).get or 0 for term in tokens),
        default=0,
    )

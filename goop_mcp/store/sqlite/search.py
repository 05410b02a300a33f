"""Full-text search of memories with FTS5, best first."""

import json
from collections.abc import Sequence
from typing import Final

import apsw

from goop_mcp.store.records import MemoryFilter, Operator
from goop_mcp.store.search_text import MOST_WORDS, WORD, fold_concept

__all__ = ["search"]

_MANY_ROWS = 100_000
_TOO_FREQUENT = 0.2
_CANDIDATES = 100
_TOKENIZER: Final = ["unicode61", "remove_diacritics", "2"]

_BY_TYPE: Final = "m.type IN (SELECT value FROM json_each(:types))"
_BY_CONCEPT: Final = """EXISTS (
  SELECT 1 FROM memory_concepts AS c
  WHERE c.memory_id = m.id AND c.concept IN (SELECT value FROM json_each(:concepts)))"""
_BY_IMPORTANCE: Final = "m.importance >= :min_importance"

# Two steps, as ordering all rows by the weighted score takes twice as long. The filters apply
# before the candidates are cut, otherwise matching memories could be lost. Forgotten memories have
# no words in the index and need no filter.
_SEARCH: Final = """
WITH best AS MATERIALIZED (
  SELECT memory_index.rowid AS id, memory_index.rank AS rank FROM memory_index {joined} WHERE
  memory_index MATCH :expression AND memory_index.rank MATCH 'bm25(10.0, 5.0, 3.0)' {conditions}
  ORDER BY memory_index.rank LIMIT :candidates)
SELECT m.id, -best.rank * (0.5 + m.importance) AS score
FROM best JOIN memories AS m ON m.id = best.id
ORDER BY score DESC, m.revision DESC, m.id DESC LIMIT :limit
"""
_JOINED: Final = "CROSS JOIN memories AS m ON m.id = memory_index.rowid"


def search(
    connection: apsw.Connection,
    words: Sequence[str],
    *,
    operator: Operator,
    wanted: MemoryFilter,
    limit: int,
) -> list[tuple[int, float]]:
    """Return ids and scores of at most `limit` memories with the words, best first.

    Any text is allowed as a word.
    """
    plain = [word for given in words for word in WORD.findall(given)][:MOST_WORDS]
    if operator == "OR":
        plain = _without_frequent_words(connection, plain)
    if not plain or limit < 1:
        return []

    conditions, bindings = filtering(wanted)
    sql = _SEARCH.format(joined=_JOINED if conditions else "", conditions=conditions)
    # Quoted, so that no word acts as an operator of FTS5 (AND, NEAR, *).
    expression = f" {operator} ".join(f'"{word}"' for word in plain)
    bindings |= {
        "expression": expression,
        "limit": limit,
        "candidates": max(_CANDIDATES, 2 * limit),
    }

    return list(connection.execute(sql, bindings))


def filtering(wanted: MemoryFilter) -> tuple[str, dict[str, str | float | None]]:
    """Return conditions on the table `m`, each starting with AND, and the values bound to them."""
    concepts = json.dumps([fold_concept(concept) for concept in wanted.concepts])
    asked = (
        (bool(wanted.types), _BY_TYPE, "types", json.dumps(wanted.types)),
        (bool(wanted.concepts), _BY_CONCEPT, "concepts", concepts),
        (wanted.min_importance > 0, _BY_IMPORTANCE, "min_importance", wanted.min_importance),
    )
    conditions = "".join(f" AND {condition}" for is_asked, condition, _, _ in asked if is_asked)

    return conditions, {name: value for is_asked, _, name, value in asked if is_asked}


def _without_frequent_words(connection: apsw.Connection, words: list[str]) -> list[str]:
    """Return `words` without those in a fifth of all memories, if there are very many memories.

    They take the most time and distinguish the least. The rarest word always stays.
    """
    rows = connection.execute("SELECT max(id) FROM memories").get or 0
    if rows < _MANY_ROWS or len(words) == 1:
        return words

    counts = {word: _memories_with(connection, word) for word in words}

    return [
        word for word in words if counts[word] <= max(rows * _TOO_FREQUENT, min(counts.values()))
    ]


def _memories_with(connection: apsw.Connection, word: str) -> int:
    tokens = connection.fts5_tokenizer("porter", _TOKENIZER)(
        word.encode(),
        apsw.FTS5_TOKENIZE_QUERY,
        None,
        include_offsets=False,
        include_colocated=False,
    )
    return min(
        (
            connection.execute("SELECT doc FROM memory_vocabulary WHERE term = ?", (term,)).get or 0
            for term in tokens
        ),
        default=0,
    )

"""Full-text search of memories with FTS5, best first."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import apsw

from goop_mcp.store.records import MemoryFilter, Operator, SearchHit
from goop_mcp.store.search_text import (
    IMPORTANCE_LEVELS,
    MOST_WORDS,
    filter_groups,
    fold_concept,
    term_forms,
)

__all__ = ["WordFrequencies", "filtering", "search"]

# Among fewer memories no word is frequent enough to cost anything.
_MANY_ROWS: Final = 10_000
# Words that are in more than this share of the memories only cost time.
_TOO_FREQUENT: Final = 0.2
# A row costs about 1.2 microseconds to rank.
_MOST_RANKED: Final = 3_000
_CANDIDATES: Final = 100
# The same as in the table's definition, or counts would be those of other words.
_TOKENIZER: Final = ["unicode61", "remove_diacritics", "2"]

_BY_TYPE: Final = "m.type IN (SELECT value FROM json_each(:types))"
_BY_CONCEPT: Final = """EXISTS (
  SELECT 1 FROM memory_concepts AS c
  WHERE c.memory_id = m.id AND c.concept IN (SELECT value FROM json_each(:concepts)))"""
_BY_IMPORTANCE: Final = "m.importance >= :min_importance"

# Two steps, as ordering all rows by the weighted score takes twice as long. The filters apply
# before the candidates are cut, otherwise matching memories could be lost. Forgotten memories have
# no words in the index and need no filter. Tokens of filters weigh nothing.
_SEARCH: Final = """
WITH best AS MATERIALIZED (
  SELECT memory_index.rowid AS id, memory_index.rank AS rank FROM memory_index {joined} WHERE
  memory_index MATCH :expression AND memory_index.rank MATCH 'bm25(10.0, 5.0, 3.0, 3.0, 0.0)'
  AND memory_index.rowid > :after {condition}
  ORDER BY memory_index.rank LIMIT :candidates)
SELECT m.id, m.revision, -best.rank * (0.5 + m.importance) AS score
FROM best JOIN memories AS m ON m.id = best.id
ORDER BY score DESC, m.revision DESC, m.id DESC LIMIT :limit
"""
_JOINED: Final = "CROSS JOIN memories AS m ON m.id = memory_index.rowid"
_DOCUMENTS: Final = "SELECT doc FROM memory_vocabulary WHERE term = ?"

Form = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Query:
    """An expression of FTS5, and how many memories it may match at most."""

    expression: str
    matches: float


class WordFrequencies:
    """How many memories have a word, as far as it matters: 0 in a small database.

    `rows` is the number of memories, also as far as it matters. Made for one transaction, in which
    several queries ask for the same words.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        rows = connection.execute("SELECT max(id) FROM memories").get or 0
        self.rows = rows if rows >= _MANY_ROWS else 0
        self._connection = connection
        self._known: dict[str, int] = {}

    def of(self, word: str) -> int:
        """Return how many memories have `word`; it costs a scan of the list of these memories."""
        if not self.rows:
            return 0

        # The index holds stems: `tests` and `testing` are one entry in it.
        if word not in self._known:
            terms = self._connection.fts5_tokenizer("porter", _TOKENIZER)(
                word.encode(),
                apsw.FTS5_TOKENIZE_QUERY,
                None,
                include_offsets=False,
                include_colocated=False,
            )
            counts = [self._connection.execute(_DOCUMENTS, (term,)).get or 0 for term in terms]
            # A word may become several terms; a memory needs all of them, so the rarest is the
            # bound.
            self._known[word] = min(counts, default=0)

        return self._known[word]

    def share(self, word: str) -> float:
        """Return the part of all memories that has `word`, 0 to 1."""
        return self.of(word) / self.rows if self.rows else 0.0


def search(
    connection: apsw.Connection,
    terms: Sequence[str],
    *,
    operator: Operator,
    wanted: MemoryFilter,
    limit: int,
    frequencies: WordFrequencies,
) -> list[SearchHit]:
    """Return at most `limit` memories with the terms, best first.

    Any text is allowed as a term.
    """
    ways = [forms for term in list(terms)[:MOST_WORDS] if (forms := term_forms(term))]
    if not ways or limit < 1:
        return []

    filters = filter_groups(wanted)
    # They are not in truth (memories about a concept tend to have a type), which only makes the
    # estimate too low: ranking then takes longer, and no memory is missed.
    # The filters of a search are independent of its words, as far as anybody knows.
    share = math.prod(min(1.0, sum(map(frequencies.share, group))) for group in filters)
    query = (
        _with_all(ways, frequencies) if operator == "AND" else _with_some(ways, frequencies, share)
    )
    expression = " AND ".join(
        (f"({query.expression})", *(f"filter_tokens : ({_any_of(group)})" for group in filters))
    )

    # The index knows levels of importance; a value between two of them needs the row.
    joins = wanted.min_importance > 0 and wanted.min_importance not in IMPORTANCE_LEVELS
    sql = _SEARCH.format(
        joined=_JOINED if joins else "", condition=f"AND {_BY_IMPORTANCE}" if joins else ""
    )
    bindings: dict[str, str | float | None] = {
        "expression": expression,
        "limit": limit,
        "candidates": max(_CANDIDATES, 2 * limit),
        "after": 0,
    }
    if joins:
        bindings["min_importance"] = wanted.min_importance

    expected = query.matches * share
    if expected > _MOST_RANKED:
        # Words as frequent as these distinguish no memory, so the newest are as good as any.
        newest: dict[str, str | float | None] = {
            "after": int(frequencies.rows * (1 - _MOST_RANKED / expected))
        }
        hits = [SearchHit(*row) for row in connection.execute(sql, bindings | newest)]
        if len(hits) >= limit:
            return hits

    return [SearchHit(*row) for row in connection.execute(sql, bindings)]


def _with_all(ways: Sequence[Sequence[Form]], frequencies: WordFrequencies) -> _Query:
    """Return the query for memories with every term, each in one of its forms."""
    terms = [" OR ".join(_all_of(form) for form in forms) for forms in ways]
    shares = [min(1.0, sum(min(map(frequencies.share, form)) for form in forms)) for forms in ways]
    return _Query(" AND ".join(f"({term})" for term in terms), frequencies.rows * math.prod(shares))


def _with_some(
    ways: Sequence[Sequence[Form]], frequencies: WordFrequencies, share: float
) -> _Query:
    """Return the query for memories with any word of any form.

    In a large database the rarest words find memories and the others only rank them. Words that
    stand in a fifth of all memories are left out, as they take the most time and distinguish the
    least. The rarest word always finds.
    """
    words = list(dict.fromkeys(word for forms in ways for form in forms for word in form))
    if not frequencies.rows:
        return _Query(_any_of(words), 0)

    # Rarest first: as many words find as there is time to rank.
    words.sort(key=frequencies.of)
    finding, matches = [words[0]], frequencies.of(words[0])
    ranking = []
    for word in words[1:]:
        count = frequencies.of(word)
        if (matches + count) * share <= _MOST_RANKED:
            finding.append(word)
            matches += count
        elif count <= frequencies.rows * _TOO_FREQUENT:
            ranking.append(word)

    # The bracket has the finding words twice: FTS5 needs an AND whose right side is true for each
    # memory that was found, and ranks by all words in it.
    found = _any_of(finding)
    return _Query(f"({found}) AND ({found} OR {_any_of(ranking)})" if ranking else found, matches)


def _any_of(words: Sequence[str]) -> str:
    # Quoted, so that no word acts as an operator of FTS5 (AND, NEAR, *).
    return " OR ".join(f'"{word}"' for word in words)


def _all_of(form: Form) -> str:
    return "(" + " AND ".join(f'"{word}"' for word in form) + ")"


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

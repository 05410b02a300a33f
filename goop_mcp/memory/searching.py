"""Find memories by words; the scores of a memory for all phrasings of a question are added.

Each memory that was found has a snippet that shows why.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from goop_mcp.errors import GoopError
from goop_mcp.memory.drafts import MEMORY_TYPES
from goop_mcp.memory.limits import MOST_QUERIES, MOST_RESULTS, RANKED
from goop_mcp.memory.related_words import related_words
from goop_mcp.store.interface import ReadTransaction, Store
from goop_mcp.store.records import MemoryFilter, SearchHit, StoredMemory
from goop_mcp.store.search_text import (
    MOST_WORDS,
    query_terms,
    query_words,
    term_forms,
)
from goop_mcp.validation.findings import excerpt

__all__ = [
    "LONGEST_SNIPPET",
    "FoundMemories",
    "FoundMemory",
    "SearchArgumentError",
    "SearchRequest",
    "how_to_ask",
    "search_memory",
    "snippet",
    "wanted_memories",
]

_LONGEST_QUERY: Final = 1000
# The usual constant of reciprocal rank fusion: the first place weighs little more than the second.
_RANK_OFFSET: Final = 60
_ALL_WORDS: Final = 1.25
# A related word makes a memory likely, a word of the question makes it certain.
_RELATED: Final = 0.5
_QUESTION: Final = 3

LONGEST_SNIPPET: Final = 240

_SNIPPET_BEFORE: Final = 60
_SHORTEST_STEM: Final = 4
_LONGEST_ENDING: Final = 3
_ELLIPSIS: Final = "…"


class SearchArgumentError(GoopError, ValueError):
    """Raised for an invalid argument of a search or list; the text names what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search: 1 to 8 phrasings of a question, filters, and the number of results (1 to 50).

    Only the first 1,000 characters of a phrasing count. Empty filters restrict nothing; a memory
    needs at least one of `concepts`.
    """

    queries: str | Sequence[str]
    types: Sequence[str] = ()
    concepts: Sequence[str] = ()
    min_importance: float = 0.0
    limit: int = 5


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A memory that was found.

    `score` is comparable within one search only; `snippet` has at most 240 characters.
    """

    memory: StoredMemory
    score: float
    snippet: str

    def to_dict(self) -> dict[str, object]:
        """Return the memory as JSON values, without its content."""
        memory = self.memory
        return {
            "id": memory.id,
            "title": memory.title,
            "type": memory.type,
            "importance": memory.importance,
            "concepts": list(memory.concepts),
            "snippet": self.snippet,
            "score": self.score,
            "created_at": memory.created_at,
            "agent": memory.agent,
            "source_files": list(memory.source_files),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMemories:
    """The result of a search, best first.

    `total` counts every memory that was found; with `total_is_capped` there may be more. `notes`
    state what was ignored, such as a query without words.
    """

    items: tuple[FoundMemory, ...]
    total: int
    total_is_capped: bool
    has_more: bool
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the result as JSON values."""
        return {
            "items": [item.to_dict() for item in self.items],
            "total": self.total,
            "total_is_capped": self.total_is_capped,
            "has_more": self.has_more,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class _RankedList:
    """Memories with their scores, best first; `is_full` is whether there may be more."""

    hits: list[SearchHit]
    is_full: bool


def search_memory(store: Store, request: SearchRequest) -> FoundMemories:
    """Return memories that match any of the queries; any text is a valid query.

    Raises SearchArgumentError for a filter, number of queries or limit that is not allowed, and the
    errors of the store.
    """
    queries = [request.queries] if isinstance(request.queries, str) else list(request.queries)
    if not 1 <= len(queries) <= MOST_QUERIES:
        raise SearchArgumentError(
            f"{len(queries)} queries were given; expected 1 to {MOST_QUERIES} phrasings"
        )

    wanted = wanted_memories(
        types=request.types, concepts=request.concepts, min_importance=request.min_importance
    )
    limit = request.limit
    if isinstance(limit, bool) or not 1 <= limit <= MOST_RESULTS:
        raise SearchArgumentError(f"limit is {limit!r}; expected 1 to {MOST_RESULTS}")

    notes: list[str] = []
    terms_of = [_terms(query, number, notes) for number, query in enumerate(queries, 1)]
    asked = [terms for terms in terms_of if terms]

    def ask(reading: ReadTransaction) -> tuple[list[FoundMemory], int, bool]:
        ranked = _by_words(reading, asked, wanted, limit)
        # Scores of the engines are not comparable, ranks are.
        scores = {
            hit.id: len(asked) / (_RANK_OFFSET + rank)
            for rank, hit in enumerate(ranked.hits[:limit], 1)
        }
        shown = [
            FoundMemory(memory, scores[memory.id], snippet(memory.content, every_word))
            for memory in reading.memories_with_ids(list(scores))
        ]
        return shown, len(ranked.hits), ranked.is_full

    every_word = [word for terms in asked for term in terms for word in query_words(term)]
    items, total, is_capped = store.read(ask)

    return FoundMemories(
        items=tuple(items),
        total=total,
        total_is_capped=is_capped,
        has_more=total > limit,
        notes=tuple(notes),
    )


def how_to_ask(request: SearchRequest, store: Store) -> str:
    """Return a sentence about how to search better after `request` found nothing in `store`."""
    # A database of PostgreSQL exists for all projects, also for one that saved nothing yet.
    if not store.exists() or not store.read(lambda now: now.memories(MemoryFilter(), limit=1)):
        return "nothing was ever saved in this project; save what you learn, and it will be found"

    filters = {
        "types": bool(request.types),
        "concepts": bool(request.concepts),
        "min_importance": request.min_importance > 0,
    }
    used = [name for name, is_used in filters.items() if is_used]
    without = f"leave out {', '.join(used)}, and " if used else ""

    return f"nothing found; {without}try 2 to 4 other phrasings, with names as in the code"


def wanted_memories(
    *, types: Sequence[str] = (), concepts: Sequence[str] = (), min_importance: float = 0.0
) -> MemoryFilter:
    """Return the filter for these conditions.

    Raises SearchArgumentError for an unknown type and an importance outside 0 to 1.
    """
    unknown = [name for name in types if name not in MEMORY_TYPES]
    if unknown:
        known = ", ".join(MEMORY_TYPES)
        raise SearchArgumentError(
            f"types names {excerpt(unknown[0], 40)!r}; expected some of {known}"
        )

    # True is 1 to Python, and would leave out every memory without saying so.
    if isinstance(min_importance, bool) or not 0 <= min_importance <= 1:
        raise SearchArgumentError(
            f"min_importance is {min_importance!r}; expected a number from 0 to 1"
        )

    return MemoryFilter(
        types=tuple(known for known in MEMORY_TYPES if known in types),
        # No stored concept holds NUL or a lone surrogate, and databases raise errors for them.
        concepts=tuple(
            concept.replace("\0", "").encode(errors="replace").decode() for concept in concepts
        ),
        min_importance=float(min_importance),
    )


def _terms(query: str, number: int, notes: list[str]) -> tuple[str, ...]:
    if len(query) > _LONGEST_QUERY:
        notes.append(f"query {number} counts with its first {_LONGEST_QUERY:,} characters only")

    terms = query_terms(query[:_LONGEST_QUERY])
    if not terms:
        notes.append(f"query {number} has no words and finds nothing; write words or identifiers")
    return terms


def _by_words(
    reading: ReadTransaction,
    asked: Sequence[tuple[str, ...]],
    wanted: MemoryFilter,
    limit: int,
) -> _RankedList:
    """Return what the phrasings find together: the scores of a memory are added.

    A score says how rare the words are that a memory has. Added up, one memory with the rare words
    of one phrasing is before many with the usual words of all, which a fusion by rank has in the
    other order.
    """
    found: dict[int, SearchHit] = {}
    is_full, is_enough = False, True

    def add(hits: Sequence[SearchHit], weight: float) -> None:
        for hit in hits:
            score = found[hit.id].score if hit.id in found else 0.0
            found[hit.id] = replace(hit, score=score + weight * hit.score)

    for terms in asked:
        # Memories with all words are what was asked for, so those with some only fill up the list.
        hits = reading.search(terms, operator="AND", wanted=wanted, limit=RANKED)
        add(hits, _ALL_WORDS)
        is_full |= len(hits) >= RANKED
        if len(hits) < limit and (len(terms) > 1 or len(term_forms(terms[0])[0]) > 1):
            known = {hit.id for hit in hits}
            more = reading.search(terms, operator="OR", wanted=wanted, limit=RANKED)
            add([hit for hit in more if hit.id not in known], 1.0)
            is_full |= len(more) >= RANKED

        is_enough &= len(hits) >= limit

    # One or two words are a lookup of exactly these, more of them are a question.
    words = {word for terms in asked for term in terms for word in query_words(term)}
    if not is_enough and len(words) >= _QUESTION:
        related = related_words(sorted(words))[:MOST_WORDS]
        add(reading.search(related, operator="OR", wanted=wanted, limit=RANKED), _RELATED)

    return _RankedList(sorted(found.values(), key=_best_first), is_full)


def _best_first(hit: SearchHit) -> tuple[float, int]:
    return -hit.score, -hit.revision


def snippet(content: str, words: Sequence[str], limit: int = LONGEST_SNIPPET) -> str:
    """Return at most `limit` characters of `content` on one line, around the first of `words`.

    Other forms of a word are found by its beginning. Without any of the words the snippet is the
    start of the content.
    """
    first = _first_match(content, words)
    start = 0 if len(content) <= limit else _snippet_start(content, first)
    # Runs of white space become one blank, so more characters are taken than can be shown.
    text = " ".join(content[start : start + 4 * limit].split())
    shown = f"{_ELLIPSIS}{text}" if start else text
    if len(shown) <= limit and start + 4 * limit >= len(content):
        return shown

    cut = shown[: limit - 1]

    return f"{cut.rsplit(' ', 1)[0] if ' ' in cut else cut}{_ELLIPSIS}"


def _first_match(content: str, words: Sequence[str]) -> int:
    stems = dict.fromkeys(
        word[: max(_SHORTEST_STEM, len(word) - _LONGEST_ENDING)] for word in words
    )
    if not stems:
        return 0

    found = re.search(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, stems))})", content, re.IGNORECASE)
    return found.start() if found else 0


def _snippet_start(content: str, place: int) -> int:
    """Return the start of a word that is a little before `place`."""
    start = max(place - _SNIPPET_BEFORE, 0)
    if start == 0:
        return 0

    blank = content.find(" ", start, place)
    return blank + 1 if blank >= 0 else place

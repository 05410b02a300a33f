"""Find memories by meaning, with an embedder that the caller provides.

goop-mcp ships none and downloads no model.
"""

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import Final, Protocol

import anyio.to_thread

from goop_mcp.memory.limits import RANKED
from goop_mcp.memory.searching import FoundMemories, SearchRequest, search_memory, wanted_memories
from goop_mcp.store.interface import ReadTransaction, Store, WriteTransaction
from goop_mcp.store.records import MemoryFilter, StoredMemory
from goop_mcp.validation.findings import counted_noun

__all__ = [
    "Embedded",
    "Embedder",
    "NearestMemories",
    "embed_memories",
    "find_neighbours",
    "search_by_meaning",
]

_log = logging.getLogger(__name__)
_MEMORIES_A_CALL: Final = 64

Vector = Sequence[float]


class Embedder(Protocol):
    """Turns texts into vectors of `dimensions` numbers; vectors of different models never meet."""

    model: str
    dimensions: int

    async def embed(self, texts: Sequence[str], *, query: bool) -> Sequence[Vector]:
        """Return a vector for each text, in order; `query` if they are queries, not memories."""
        ...


@dataclass(frozen=True, slots=True)
class Embedded:
    """How many memories got a vector; a warning if the embedder failed for the others."""

    count: int
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class NearestMemories:
    """A list of ids for each query, nearest first; a warning if the embedder failed."""

    lists: tuple[tuple[int, ...], ...]
    warning: str | None = None


async def embed_memories(store: Store, embedder: Embedder) -> Embedded:
    """Compute the missing vectors of this model; call it after saves, or from time to time.

    When the embedder fails, the vectors stored so far stay. Memories without a vector are found by
    words, and the next call tries them again. Raises the errors of the store.
    """
    count = last = 0
    # In pages, so that a failure in the middle keeps what was computed before.
    while some := await anyio.to_thread.run_sync(_without_vector, store, embedder, last):
        # Title and content together, as a search by words sees both.
        vectors, error = await _embedded(
            embedder, [f"{each.title}\n{each.content}" for each in some], query=False
        )
        if error is not None:
            return Embedded(
                count,
                f"{error}; {counted_noun(count, 'memory', 'memories')} got a vector, the others"
                " are found by words only",
            )

        await anyio.to_thread.run_sync(_keep, store, embedder.model, some, vectors)
        count, last = count + len(some), some[-1].id

    return Embedded(count)


async def search_by_meaning(
    store: Store, request: SearchRequest, embedder: Embedder
) -> FoundMemories:
    """Return memories that match any of the queries by words or, if they have vectors, by meaning.

    All vectors are compared, about ten thousand a second. When the embedder fails, the search uses
    words only and adds a note. Raises the errors of `search_memory`.
    """
    wanted = wanted_memories(
        types=request.types, concepts=request.concepts, min_importance=request.min_importance
    )
    queries = [request.queries] if isinstance(request.queries, str) else request.queries
    # All vectors at once: there is no index, and one read is one consistent view.
    vectors = await anyio.to_thread.run_sync(_vectors, store, embedder, wanted)
    near = await find_neighbours(embedder, queries, vectors)
    found = await anyio.to_thread.run_sync(
        # In a thread, as the store blocks.
        lambda: search_memory(store, request, neighbours=near.lists)
    )

    return found if near.warning is None else replace(found, notes=(*found.notes, near.warning))


async def find_neighbours(
    embedder: Embedder, queries: Sequence[str], vectors: Iterable[tuple[int, Vector]]
) -> NearestMemories:
    """Return the ids of the at most 50 `vectors` nearest to each of `queries`.

    Vectors of another size and without similarity to a query are ignored. When the embedder fails,
    the result has no lists and a warning.
    """
    asked, error = await _embedded(embedder, queries, query=True)
    if error is not None:
        return NearestMemories((), f"{error}; memories were found by words only")

    # A model that was changed under its name would give distances without meaning.
    known = [(id, vector) for id, vector in vectors if len(vector) == embedder.dimensions]

    return NearestMemories(
        await anyio.to_thread.run_sync(lambda: tuple(_nearest(query, known) for query in asked))
    )


async def _embedded(
    embedder: Embedder, texts: Sequence[str], *, query: bool
) -> tuple[Sequence[Vector], str | None]:
    """Return the vectors of `texts`, or none and a description of the error."""
    try:
        vectors = await embedder.embed(texts, query=query)
    # An embedder is the caller's code and may raise anything; the search by words still works.
    except Exception as error:
        # The type only: its message may quote what was embedded.
        _log.warning("embedder %s failed: %s", embedder.model, type(error).__name__)
        return (), f"the embedder failed ({type(error).__name__})"

    if len(vectors) != len(texts) or any(len(vector) != embedder.dimensions for vector in vectors):
        return (), "the embedder gave vectors of a wrong number or size"
    # NaN compares as neither less nor greater, and would put the list in a random order.
    if not all(math.isfinite(number) for vector in vectors for number in vector):
        return (), "the embedder gave vectors with NaN or infinity"
    return vectors, None


def _without_vector(store: Store, embedder: Embedder, after: int) -> list[StoredMemory]:
    def ask(reading: ReadTransaction) -> list[StoredMemory]:
        return reading.memories_without_vector(
            embedder.model, dimensions=embedder.dimensions, limit=_MEMORIES_A_CALL, after_id=after
        )

    return store.read(ask)


def _keep(
    store: Store, model: str, memories: Sequence[StoredMemory], vectors: Sequence[Vector]
) -> None:
    def change(writing: WriteTransaction) -> None:
        for memory, vector in zip(memories, vectors, strict=True):
            writing.set_vector(memory.id, model, vector)

    store.write(change)


def _vectors(store: Store, embedder: Embedder, wanted: MemoryFilter) -> list[tuple[int, Vector]]:
    """Return the vectors of the memories that match the filters.

    The filters apply before the nearest are selected, otherwise matching memories could be lost.
    """

    def ask(reading: ReadTransaction) -> list[tuple[int, Vector]]:
        every = reading.vectors(embedder.model, dimensions=embedder.dimensions)
        if wanted == MemoryFilter():
            return every
        ids = {memory.id for memory in reading.memories(wanted)}
        return [(id, vector) for id, vector in every if id in ids]

    return store.read(ask)


def _nearest(query: Vector, known: Sequence[tuple[int, Vector]]) -> tuple[int, ...]:
    similarity = {}
    for id, vector in known:
        # The cosine times the length of the query, which is the same for all vectors.
        length = math.sqrt(sum(map(mul, vector, vector)))
        near = sum(map(mul, query, vector)) / length if length else 0.0
        if near > 0:
            similarity[id] = near

    # Among equals the newest first, as in a search by words.
    return tuple(sorted(similarity, key=lambda id: (-similarity[id], -id))[:RANKED])

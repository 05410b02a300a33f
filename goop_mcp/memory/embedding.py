"""Find memories by meaning, for those who bring an embedder.

None is shipped, none is loaded, no model is fetched.
"""

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import Final, Protocol

import anyio.to_thread

from goop_mcp.memory.searching import FoundMemories, SearchRequest, search_memory, wanted_memories
from goop_mcp.store.interface import Reading, Store, Writing
from goop_mcp.store.records import MemoryFilter, StoredMemory

__all__ = [
    "Embedded",
    "Embedder",
    "Neighbours",
    "embed_memories",
    "find_neighbours",
    "search_by_meaning",
]

_log = logging.getLogger(__name__)
_DEPTH: Final = 50
_MEMORIES_A_CALL: Final = 64

Vector = Sequence[float]


class Embedder(Protocol):
    """Turns texts into vectors of `dimensions` numbers; vectors of two models are never compared."""

    model: str
    dimensions: int

    async def embed(self, texts: Sequence[str], *, query: bool) -> Sequence[Vector]:
        """Return a vector a text, in order.

        `query` tells that the texts are questions, not memories.
        """
        ...


@dataclass(frozen=True, slots=True)
class Embedded:
    """How many memories got their vector; a warning where the embedder could not help, and the rest has none yet."""

    count: int
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A list of ids a query, nearest first, for `search_memory`; a warning where the embedder could not help."""

    lists: tuple[tuple[int, ...], ...]
    warning: str | None = None


async def embed_memories(store: Store, embedder: Embedder) -> Embedded:
    """Give each memory that has none yet its vector of this model; call it behind saves, or from time to time.

    A failing embedder takes nothing back: what has no vector is found by words, and gets one the next time. Raises
    the errors of the store.
    """
    count = last = 0
    while some := await anyio.to_thread.run_sync(_without_vector, store, embedder, last):
        vectors, fault = await _embedded(
            embedder, [f"{each.title}\n{each.content}" for each in some], query=False
        )
        if fault is not None:
            return Embedded(
                count, f"{fault}; {count} memories got a vector, the others are found by words only"
            )

        await anyio.to_thread.run_sync(_keep, store, embedder.model, some, vectors)
        count, last = count + len(some), some[-1].id

    return Embedded(count)


async def search_by_meaning(
    store: Store, request: SearchRequest, embedder: Embedder
) -> FoundMemories:
    """Return what fits any of the phrasings by its words or, as far as memories have vectors, by its meaning.

    All vectors are compared, some ten thousand a second. A failing embedder leaves the words, and a note. Raises as
    `search_memory` does.
    """
    wanted = wanted_memories(
        types=request.types, concepts=request.concepts, min_importance=request.min_importance
    )
    queries = [request.queries] if isinstance(request.queries, str) else request.queries
    vectors = await anyio.to_thread.run_sync(_vectors, store, embedder, wanted)
    near = await find_neighbours(embedder, queries, vectors)
    found = await anyio.to_thread.run_sync(
        lambda: search_memory(store, request, neighbours=near.lists)
    )

    return found if near.warning is None else replace(found, notes=(*found.notes, near.warning))


async def find_neighbours(
    embedder: Embedder, queries: Sequence[str], vectors: Iterable[tuple[int, Vector]]
) -> Neighbours:
    """Return the ids of `vectors` nearest to each of `queries`, 50 at most; vectors of another size are passed over.

    What has nothing in common with a query is no neighbour. A failing embedder is no failure of the search: the answer
    has no lists, and a warning.
    """
    asked, fault = await _embedded(embedder, queries, query=True)
    if fault is not None:
        return Neighbours((), f"{fault}; memories were found by words only")

    known = [(id, vector) for id, vector in vectors if len(vector) == embedder.dimensions]

    return Neighbours(
        await anyio.to_thread.run_sync(lambda: tuple(_nearest(query, known) for query in asked))
    )


async def _embedded(
    embedder: Embedder, texts: Sequence[str], *, query: bool
) -> tuple[Sequence[Vector], str | None]:
    """Return the vectors of `texts`, and in words what is wrong with them or kept the embedder from making them."""
    try:
        vectors = await embedder.embed(texts, query=query)
    except Exception as error:  # whatever foreign code raises, words still find
        _log.warning("embedder %s failed: %s", embedder.model, type(error).__name__)
        return (), f"the embedder failed ({type(error).__name__})"

    if len(vectors) != len(texts) or any(len(vector) != embedder.dimensions for vector in vectors):
        return (), "the embedder gave vectors of a wrong number or size"
    if not all(math.isfinite(number) for vector in vectors for number in vector):
        return (), "the embedder gave vectors with numbers that are none"
    return vectors, None


def _without_vector(store: Store, embedder: Embedder, after: int) -> list[StoredMemory]:
    def ask(reading: Reading) -> list[StoredMemory]:
        return reading.memories_without_vector(
            embedder.model, dimensions=embedder.dimensions, limit=_MEMORIES_A_CALL, after_id=after
        )

    return store.read(ask)


def _keep(
    store: Store, model: str, memories: Sequence[StoredMemory], vectors: Sequence[Vector]
) -> None:
    def change(writing: Writing) -> None:
        for memory, vector in zip(memories, vectors, strict=True):
            writing.set_vector(memory.id, model, vector)

    store.write(change)


def _vectors(store: Store, embedder: Embedder, wanted: MemoryFilter) -> list[tuple[int, Vector]]:
    """Return the vectors of the memories that are wanted: the filters stand before the cut to the nearest."""

    def ask(reading: Reading) -> list[tuple[int, Vector]]:
        every = reading.vectors(embedder.model, dimensions=embedder.dimensions)
        if wanted == MemoryFilter():
            return every
        ids = {memory.id for memory in reading.memories(wanted)}
        return [(id, vector) for id, vector in every if id in ids]

    return store.read(ask)


def _nearest(query: Vector, known: Sequence[tuple[int, Vector]]) -> tuple[int, ...]:
    likeness = {id: near for id, vector in known if (near := _likeness(query, vector)) > 0}
    return tuple(sorted(likeness, key=lambda id: (-likeness[id], -id))[:_DEPTH])


def _likeness(query: Vector, vector: Vector) -> float:
    """Return a number that grows with the cosine, for one query: the length of that is left out."""
    length = math.sqrt(sum(map(mul, vector, vector)))
    return sum(map(mul, query, vector)) / length if length else 0.0

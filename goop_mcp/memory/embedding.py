"""Find memories by meaning, for those who bring an embedder. None is shipped, none is loaded, no model is fetched."""

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

__all__ = ["Embedder", "Neighbours", "find_neighbours"]

_log = logging.getLogger(__name__)
_DEPTH: Final = 50

Vector = Sequence[float]


class Embedder(Protocol):
    """Turns texts into vectors of `dimensions` numbers; vectors of two models are never compared."""

    model: str
    dimensions: int

    async def embed(self, texts: Sequence[str], *, query: bool) -> Sequence[Vector]:
        """Return a vector a text, in order. `query` tells that the texts are questions, not memories."""
        ...


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A list of ids a query, nearest first, for `search_memory`; a warning where the embedder could not help."""

    lists: tuple[tuple[int, ...], ...]
    warning: str | None = None


async def find_neighbours(
    embedder: Embedder, queries: Sequence[str], vectors: Iterable[tuple[int, Vector]]
) -> Neighbours:
    """Return the ids of `vectors` nearest to each of `queries`, 50 at most; vectors of another size are passed over.

    A failing embedder is no failure of the search: the answer has no lists, and a warning.
    """
    try:
        asked = await embedder.embed(queries, query=True)
    except Exception as error:  # whatever foreign code raises, words still find
        _log.warning("embedder %s failed: %s", embedder.model, type(error).__name__)
        return Neighbours((), f"the embedder failed ({type(error).__name__}); memories were found by words only")
    if len(asked) != len(queries) or any(len(vector) != embedder.dimensions for vector in asked):
        return Neighbours((), "the embedder gave vectors of a wrong number or size; memories were found by words only")
    known = [(id, vector) for id, vector in vectors if len(vector) == embedder.dimensions]
    return Neighbours(tuple(_nearest(query, known) for query in asked))


def _nearest(query: Vector, known: Sequence[tuple[int, Vector]]) -> tuple[int, ...]:
    likeness = {id: _cosine(query, vector) for id, vector in known}
    return tuple(sorted(likeness, key=lambda id: (-likeness[id], -id))[:_DEPTH])


def _cosine(one: Vector, other: Vector) -> float:
    length = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / length if length else 0.0

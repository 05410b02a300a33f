"""Notes of words as frequent as those of a language, and a store full of them."""

import math
import random
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, islice
from typing import Final

from goop_mcp.memory.drafts import MemoryDraft, prepare
from goop_mcp.memory.saving import new_memory
from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.store.records import NewMemory

__all__ = ["MEMORIES", "WORDS_A_NOTE", "Notes", "fill"]

MEMORIES: Final = 100_000
WORDS_A_NOTE: Final = 60

_A_BATCH: Final = 5_000
_VOCABULARY: Final = 20_000


class Notes:
    """The tenth word is a tenth as frequent as the first, and rare words are longer.

    The same notes each time.
    """

    def __init__(self) -> None:
        self._random = random.Random(4711)
        self.vocabulary = [self._word(rank) for rank in range(1, _VOCABULARY + 1)]
        self._weights = list(accumulate(1 / rank for rank in range(1, _VOCABULARY + 1)))

    def _word(self, rank: int) -> str:
        length = max(2, round(2.5 + 0.4 * math.log2(rank) + self._random.gauss(0, 1.3)))
        return "".join(self._random.choices("abcdefghijklmnopqrstuvwxyz", k=length))

    def some(self, vocabulary: Sequence[str], count: int) -> str:
        """Return `count` different words of `vocabulary`."""
        return " ".join(self._random.sample(vocabulary, count))

    def draft(self) -> MemoryDraft:
        """Return the next note as somebody would save it."""
        words = self._random.choices(self.vocabulary, cum_weights=self._weights, k=WORDS_A_NOTE)
        return MemoryDraft(
            title=" ".join(words[:6]), content=" ".join(words[6:]), concepts=words[:2]
        )

    def rows(self) -> Iterator[NewMemory]:
        """Return notes as rows, without end."""
        while True:
            uid = f"{self._random.getrandbits(128):032x}"
            yield new_memory(prepare(self.draft()), uid=uid, created_at="2026-01-15T10:30:00.000Z")


def fill(store: Store, notes: Notes) -> None:
    """Add MEMORIES notes to an empty store."""
    for _ in range(MEMORIES // _A_BATCH):
        batch = list(islice(notes.rows(), _A_BATCH))
        store.write(partial(_add, rows=batch))


def _add(writing: WriteTransaction, rows: Sequence[NewMemory]) -> None:
    for row in rows:
        if writing.memory_by_fingerprint(row.fingerprint) is None:
            writing.add_memory(row)

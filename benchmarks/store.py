"""Compare saving and finding a memory among 100,000 with one bare row in the same database.

All times are wall clock: a save ends when the disk has it.
"""

import random
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import apsw
import psycopg

from benchmarks.tables import Bound, Table
from goop_mcp.store.interface import ReadTransaction, Store, WriteTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import MemoryFilter, NewMemory, Operator, StoredMemory
from tests.postgres import Server

__all__ = ["run", "run_on_postgres"]

_MEMORIES: Final = 100_000
_BATCH: Final = 5_000
_TURNS: Final = 300
_WORDS: Final = 20_000
_LENGTH: Final = 54
_FREQUENT, _USUAL = (0, 20), (200, 2_000)
_BARE_ROWS: Final = "CREATE TABLE rows (id INTEGER, text TEXT)"
_BARE: Final = "one bare row in its own transaction"
_SAVE: Final = "save a memory, looked up before"
_SEARCHES: Final[Sequence[tuple[str, tuple[int, int], Operator]]] = (
    ("search, usual words, OR", _USUAL, "OR"),
    ("search, usual words, AND", _USUAL, "AND"),
    ("search, most frequent words, OR", _FREQUENT, "OR"),
)
_OVER_BARE_MS: Final = Bound(goal=0.4, defect=5)
_SEARCH_MS: Final = Bound(goal=3, defect=30)
_SEARCH_ON_POSTGRES_MS: Final = Bound(goal=30, defect=100)

# Inserts a row in a transaction of its own.
_Insert = Callable[[tuple[int, str]], object]


def run() -> Table:
    """Fill a new project on SQLite, then measure saves in turn with bare rows, then searches."""
    with TemporaryDirectory(prefix="goop-bench-") as folder:
        bare = apsw.Connection(str(Path(folder, "bare.db")))
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", _BARE_ROWS):
            bare.execute(statement)

        insert = partial(bare.execute, "INSERT INTO rows VALUES (?, ?)")
        store = open_store(None, project=Path(folder))
        table = _measure("store", store, insert, _SEARCH_MS)
        store.close()
        bare.close()

    return table


def run_on_postgres() -> Table:
    """Do the same on PostgreSQL, as a user whom row-level security applies to."""
    with Server(durable=True) as server, server.database() as database:
        bare = psycopg.connect(database.url(), autocommit=True)
        bare.execute(_BARE_ROWS)

        insert = partial(bare.execute, "INSERT INTO rows VALUES (%s, %s)")
        store = open_store(database.url(), project=Path(), project_id="bench")
        table = _measure("store_postgres", store, insert, _SEARCH_ON_POSTGRES_MS)
        store.close()
        bare.close()

    return table


def _measure(title: str, store: Store, insert: _Insert, bound: Bound) -> Table:
    table = Table(
        title,
        ("", "p50 ms", "p95 ms", "over bare ms"),
        [f"{_MEMORIES:,} memories of {_LENGTH + 6} words"],
    )
    texts = _Texts(random.Random(1))
    for first in range(0, _MEMORIES, _BATCH):
        store.write(
            partial(_add_all, memories=[texts.memory(first + number) for number in range(_BATCH)])
        )

    _measure_saves(table, store, texts, insert)

    for name, words, operator in _SEARCHES:
        queries = [texts.query(*words) for _ in range(_TURNS)]
        times = [
            _seconds(partial(store.read, partial(_search, words=words, operator=operator)))
            for words in queries
        ]
        _add_row(table, name, times, judgement=bound.judge(statistics.median(times) * 1e3))

    return table


class _Texts:
    """Texts with the word frequencies of a language: the n-th word is 1/n as frequent."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        letters = "abcdefghijklmnopqrstuvwxyz"
        self._words = [
            "".join(chance.choices(letters, k=chance.randint(4, 9))) for _ in range(_WORDS)
        ]
        self._shares = list(accumulate(1 / rank for rank in range(1, _WORDS + 1)))

    def memory(self, number: int) -> NewMemory:
        """Return a memory that differs from all others."""
        return NewMemory(
            uid=f"uid-{number}",
            type="note",
            title=self._text(6),
            content=self._text(_LENGTH),
            importance=self._chance.random(),
            idempotency_key=f"key-{number}",
            fingerprint=f"print-{number}",
            created_at="2026-01-15T10:30:00Z",
            concepts=("auth", self._words[number % 50]),
        )

    def query(self, first: int, last: int) -> list[str]:
        """Return three words between the `first` and the `last` most frequent one."""
        return self._chance.sample(self._words[first:last], 3)

    def _text(self, length: int) -> str:
        return " ".join(self._chance.choices(self._words, cum_weights=self._shares, k=length))


def _add_all(writing: WriteTransaction, memories: Sequence[NewMemory]) -> None:
    for memory in memories:
        writing.add_memory(memory)


def _save(writing: WriteTransaction, memory: NewMemory) -> StoredMemory:
    known = writing.memory_by_key(memory.idempotency_key) or writing.memory_by_fingerprint(
        memory.fingerprint
    )
    return known or writing.add_memory(memory)


def _measure_saves(table: Table, store: Store, texts: _Texts, insert: _Insert) -> None:
    """Take turns, so that a slow disk slows both."""
    bare_times, save_times = [], []

    for number in range(_TURNS):
        memory = texts.memory(_MEMORIES + number)
        bare_times.append(_seconds(partial(insert, (number, memory.content))))
        save_times.append(_seconds(partial(store.write, partial(_save, memory=memory))))

    _add_row(table, _BARE, bare_times)
    over = (statistics.median(save_times) - statistics.median(bare_times)) * 1e3
    _add_row(table, _SAVE, save_times, f"{over:.2f}", _OVER_BARE_MS.judge(over))


def _search(reading: ReadTransaction, words: list[str], operator: Operator) -> int:
    return len(reading.search(words, operator=operator, wanted=MemoryFilter(), limit=5))


def _seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def _add_row(
    table: Table, name: str, times: list[float], over: str = "", judgement: str = ""
) -> None:
    p95 = sorted(times)[round(len(times) * 0.95)]
    table.add(
        name, f"{statistics.median(times) * 1e3:.2f}", f"{p95 * 1e3:.2f}", over, judgement=judgement
    )

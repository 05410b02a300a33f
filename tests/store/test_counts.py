"""How many memories there are, the same on every engine."""

from dataclasses import replace

from goop_mcp.store.interface import Store
from tests.store.rows import NOW, add, new_memory


def test_memories_are_counted_by_type_without_the_forgotten(store: Store) -> None:
    assert store.read(lambda reading: reading.memory_counts()) == {}
    first, *_ = add(
        store, new_memory("a"), new_memory("b"), replace(new_memory("c"), type="decision")
    )
    store.write(lambda writing: writing.forget_memory(first.id, forgotten_at=NOW))

    assert store.read(lambda reading: reading.memory_counts()) == {"note": 1, "decision": 1}

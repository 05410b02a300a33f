"""Memories are stored completely, listed, counted, forgotten and purged on every engine."""

from dataclasses import asdict, replace

import pytest

from goop_mcp.errors import StoreError
from goop_mcp.store.interface import Store
from goop_mcp.store.records import MOST_OF_A_SKETCH, MemoryFilter, StoredMemory
from tests.store.conftest import OpenStore
from tests.store.rows import NOW, add, add_named, found, new_memory

LATER = "2026-01-16T10:30:00Z"
ODD_TEXT = (
    'O\'Brien wrote "naïve" \\ \n\t🎉 日本語 ﬁne e\u0301 \u202e %s {x} -- ; DROP TABLE memories'
)


def listed(
    store: Store, wanted: MemoryFilter | None = None, *, limit: int | None = None
) -> list[int]:
    return [
        memory.id
        for memory in store.read(
            lambda reading: reading.memories(wanted or MemoryFilter(), limit=limit)
        )
    ]


def memory(store: Store, id: int) -> StoredMemory | None:
    return store.read(lambda reading: reading.memory(id))


def test_what_was_written_is_read_back_in_every_field(store: Store, open_again: OpenStore) -> None:
    new = replace(
        new_memory("all"),
        type="decision",
        title=ODD_TEXT,
        content=ODD_TEXT * 100,
        importance=0.03,
        concepts=(ODD_TEXT, "b", "B"),
        facts=("", ODD_TEXT),
        source_files=("src/a.py",),
        agent="goop-executor",
        session_id="s-1",
        sketches=(0, 2**63 - 1),
    )
    expected = StoredMemory(id=1, revision=1, **asdict(new))
    assert add(store, new) == [expected]
    assert memory(open_again(), 1) == expected


def test_key_and_fingerprint_lead_to_their_memory(store: Store) -> None:
    add_named(store, "one", "two")
    by_key = store.read(lambda reading: reading.memory_by_key("key-two"))
    by_fingerprint = store.read(lambda reading: reading.memory_by_fingerprint("print-one"))
    assert by_key == memory(store, 2)
    assert by_fingerprint == memory(store, 1)
    assert store.read(lambda reading: reading.memory_by_key("print-one")) is None
    assert store.read(lambda reading: reading.memory_by_fingerprint("key-two")) is None


def test_memories_are_returned_in_the_order_of_the_ids(store: Store) -> None:
    add_named(store, "one", "two", "three")
    store.write(lambda writing: writing.forget_memory(2, forgotten_at=LATER))
    found = store.read(lambda reading: reading.memories_with_ids([3, 7, 2, 1]))
    assert found == [memory(store, id) for id in (3, 2, 1)]
    assert store.read(lambda reading: reading.memories_with_ids([])) == []


def test_a_uid_leads_to_its_memory_when_that_is_forgotten_too(store: Store) -> None:
    add_named(store, "one", "two")
    store.write(lambda writing: writing.forget_memory(1, forgotten_at=LATER))

    by_uid = store.read(
        lambda reading: [reading.memory_by_uid(uid) for uid in ("uid-one", "uid-two", "uid")]
    )

    assert by_uid == [memory(store, 1), memory(store, 2), None]


@pytest.mark.parametrize("field", ["uid", "idempotency_key", "fingerprint"])
def test_a_second_memory_with_the_same_name_is_refused_and_nothing_is_written(
    store: Store, field: str
) -> None:
    (first,) = add(store, new_memory("one"))
    values = asdict(new_memory("two")) | {field: getattr(new_memory("one"), field)}
    with pytest.raises(StoreError):
        add(store, new_memory("three"), type(new_memory("two"))(**values))

    assert listed(store) == [first.id]
    assert store.read(lambda reading: reading.revision()) == 1


@pytest.mark.parametrize("text", ["before\0after", "half \ud83d a character"])
@pytest.mark.parametrize("field", ["title", "content", "facts", "agent"])
def test_text_that_no_engine_keeps_is_refused_with_the_name_of_its_field(
    store: Store, field: str, text: str
) -> None:
    values = asdict(new_memory("odd")) | {field: (text,) if field == "facts" else text}
    with pytest.raises(StoreError, match=f"^{field} "):
        add(store, type(new_memory("odd"))(**values))

    assert listed(store) == []


@pytest.mark.parametrize("importance", [0.0, 0.03, 1.0])
def test_importance_is_kept_from_zero_to_one(store: Store, importance: float) -> None:
    add(store, replace(new_memory("one"), importance=importance))
    assert [
        memory.importance for memory in store.read(lambda reading: reading.memories(MemoryFilter()))
    ] == [importance]


@pytest.mark.parametrize("importance", [-0.1, 1.1, 10.0])
def test_importance_of_another_scale_is_refused(store: Store, importance: float) -> None:
    with pytest.raises(StoreError):
        add(store, replace(new_memory("one"), importance=importance))


def test_memories_are_listed_newest_first_and_the_list_can_be_continued(store: Store) -> None:
    add_named(store, "a", "b", "c", "d")
    assert listed(store) == [4, 3, 2, 1]
    assert listed(store, limit=2) == [4, 3]
    assert listed(store, limit=0) == []
    rest = store.read(lambda reading: reading.memories(MemoryFilter(), limit=5, before_id=3))
    assert [memory.id for memory in rest] == [2, 1]


def test_types_restrict_the_list(store: Store) -> None:
    add(
        store,
        replace(new_memory("a"), type="todo"),
        replace(new_memory("b"), type="decision"),
        new_memory("c"),
    )
    assert listed(store, MemoryFilter(types=("todo", "decision"))) == [2, 1]
    assert listed(store, MemoryFilter(types=("session_summary",))) == []


def test_concepts_restrict_the_list_in_any_case_and_as_whole_words(store: Store) -> None:
    add(
        store,
        replace(new_memory("a"), concepts=("Auth", "api")),
        replace(new_memory("b"), concepts=("authentication",)),
        replace(new_memory("c"), concepts=("Größe", "50%")),
    )
    assert listed(store, MemoryFilter(concepts=("AUTH",))) == [1]
    assert listed(store, MemoryFilter(concepts=("authentication", "api"))) == [2, 1]
    assert listed(store, MemoryFilter(concepts=("GRÖSSE",))) == [3]
    assert listed(store, MemoryFilter(concepts=("50_", "%", "auth%"))) == []


def test_importance_restricts_the_list(store: Store) -> None:
    add(store, replace(new_memory("a"), importance=0.7), replace(new_memory("b"), importance=0.69))
    assert listed(store, MemoryFilter(min_importance=0.7)) == [1]


def test_a_forgotten_memory_keeps_its_place_and_loses_its_texts(
    store: Store, open_again: OpenStore
) -> None:
    secret = replace(
        new_memory("secret"), concepts=("hidden",), facts=("f",), source_files=("x",), agent="a"
    )
    (before,) = add(store, secret)
    forgotten = store.write(lambda writing: writing.forget_memory(before.id, forgotten_at=LATER))
    assert forgotten == before
    after = memory(open_again(), before.id)
    assert after is not None
    assert (after.id, after.uid, after.type, after.created_at) == (
        before.id,
        before.uid,
        before.type,
        NOW,
    )
    assert (after.title, after.content, after.concepts, after.facts, after.source_files) == (
        "",
        "",
        (),
        (),
        (),
    )
    assert (after.idempotency_key, after.fingerprint, after.forgotten_at) == (None, None, LATER)
    assert after.revision == 2


def test_a_forgotten_memory_is_neither_listed_nor_found(store: Store) -> None:
    (before,) = add(store, replace(new_memory("secret"), concepts=("hidden",)))
    store.write(lambda writing: writing.forget_memory(before.id, forgotten_at=LATER))
    assert listed(store) == []
    assert listed(store, MemoryFilter(concepts=("hidden",))) == []
    assert found(store, "secret hidden about") == []


def test_a_forgotten_memory_frees_its_key_and_its_fingerprint(store: Store) -> None:
    add_named(store, "one")
    store.write(lambda writing: writing.forget_memory(1, forgotten_at=LATER))
    (again,) = add(store, replace(new_memory("one"), uid="another"))
    assert (again.id, listed(store)) == (2, [2])


def test_what_is_not_there_or_forgotten_cannot_be_forgotten(store: Store) -> None:
    add_named(store, "one")
    assert store.write(lambda writing: writing.forget_memory(7, forgotten_at=LATER)) is None
    assert store.write(lambda writing: writing.forget_memory(1, forgotten_at=LATER)) is not None
    assert store.write(lambda writing: writing.forget_memory(1, forgotten_at=LATER)) is None
    assert store.read(lambda reading: reading.revision()) == 2


def test_a_purged_memory_is_gone_and_its_id_is_never_given_again(store: Store) -> None:
    add_named(store, "one", "two")
    purged = store.write(lambda writing: writing.forget_memory(2, forgotten_at=LATER, purge=True))
    assert purged is not None
    assert purged.title == "About two"
    assert memory(store, 2) is None
    assert found(store, "two") == []
    assert add_named(store, "three") == [3]


def test_a_forgotten_memory_can_still_be_purged(store: Store) -> None:
    add_named(store, "one")
    store.write(lambda writing: writing.forget_memory(1, forgotten_at=LATER))
    assert (
        store.write(lambda writing: writing.forget_memory(1, forgotten_at=LATER, purge=True))
        is not None
    )
    assert memory(store, 1) is None


def sketched(store: Store, *sketches: int, limit: int = 10) -> list[int]:
    return [
        memory.id
        for memory in store.read(lambda reading: reading.memories_by_sketch(sketches, limit=limit))
    ]


def test_memories_are_found_by_sketch_those_that_share_most_and_the_rarest_first(
    store: Store,
) -> None:
    for name, sketches in {
        "a": (1, 2, 3),
        "b": (3, 4),
        "c": (3, 2**63 - 1),
        "d": (),
        "e": (3, 3),
    }.items():
        add(store, replace(new_memory(name), sketches=sketches))

    assert sketched(store, 1, 3, 2**63 - 1) == [3, 1, 5, 2]
    assert sketched(store, 1, 3, 2**63 - 1, limit=2) == [3, 1]
    assert sketched(store, 3, 4) == [2, 5, 3, 1]
    assert sketched(store, 2) == [1]
    assert sketched(store, 5) == []
    assert sketched(store) == []
    assert sketched(store, 3, limit=0) == []


def test_of_many_memories_that_share_a_sketch_the_newest_are_looked_at(store: Store) -> None:
    rows = [
        replace(new_memory(str(n)), sketches=(1, 2) if n == 1 else (1,))
        for n in range(MOST_OF_A_SKETCH + 2)
    ]
    add(store, *rows)
    assert sketched(store, 1, limit=200) == list(range(len(rows), 2, -1))
    assert sketched(store, 1, 2, limit=200)[:2] == [2, len(rows)]


@pytest.mark.parametrize("purge", [False, True])
def test_the_sketches_of_a_forgotten_memory_are_gone(
    store: Store, open_again: OpenStore, *, purge: bool
) -> None:
    kept, gone = add(
        store, *(replace(new_memory(name), sketches=(1, 2)) for name in ("kept", "gone"))
    )
    store.write(lambda writing: writing.forget_memory(gone.id, forgotten_at=LATER, purge=purge))
    after = memory(open_again(), gone.id)
    assert sketched(store, 1, 2) == [kept.id]
    assert after is None or after.sketches == ()


def test_memories_are_counted_by_type_without_the_forgotten(store: Store) -> None:
    assert store.read(lambda reading: reading.memory_counts()) == {}
    first, *_ = add(
        store, new_memory("a"), new_memory("b"), replace(new_memory("c"), type="decision")
    )
    store.write(lambda writing: writing.forget_memory(first.id, forgotten_at=NOW))

    assert store.read(lambda reading: reading.memory_counts()) == {"note": 1, "decision": 1}

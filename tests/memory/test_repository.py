"""Memories are listed newest first, and forgotten by their id only."""

import json
from pathlib import Path

import pytest

from goop_mcp.memory.drafts import MemoryDraft
from goop_mcp.memory.import_export.importing import import_memories
from goop_mcp.memory.repository import MemoryNotFoundError, forget_memory, get_memory, list_memories
from goop_mcp.memory.saving import save_memory
from goop_mcp.memory.searching import SearchArgumentError
from goop_mcp.store.interface import Store


def save(store: Store, title: str, type: str = "observation") -> int:
    return save_memory(store, MemoryDraft(title=title, content=f"{title}, in full.", type=type)).id


def test_the_list_is_newest_first_and_goes_on_from_a_memory(store: Store) -> None:
    ids = [save(store, f"Note {n}") for n in range(5)]

    first = list_memories(store, limit=2)
    rest = list_memories(store, before_id=first[-1].id)

    assert [memory.id for memory in first + rest] == ids[::-1]


def test_the_list_goes_on_within_one_change(store: Store) -> None:
    lines = "".join(
        json.dumps({"title": f"Note {n}", "content": f"Imported {n}."}) + "\n" for n in range(5)
    )
    import_memories(store, lines)

    first = list_memories(store, limit=2)
    rest = list_memories(store, before_id=first[-1].id)

    assert len({memory.revision for memory in first + rest}) == 1
    assert [memory.title for memory in first + rest] == [f"Note {n}" for n in (4, 3, 2, 1, 0)]


def test_the_list_can_be_restricted(store: Store) -> None:
    todo = save(store, "Upgrade", type="todo")
    save(store, "Seen")

    assert [memory.id for memory in list_memories(store, types=["todo"])] == [todo]
    with pytest.raises(SearchArgumentError, match="limit"):
        list_memories(store, limit=0)


def test_a_forgotten_memory_is_named_and_gone(store: Store) -> None:
    id = save(store, "Sessions live in Redis")

    forgotten = forget_memory(store, id)

    assert (forgotten.id, forgotten.title, forgotten.purged) == (
        id,
        "Sessions live in Redis",
        False,
    )
    assert forgotten.revision == store.read(lambda reading: reading.revision()) == 2
    assert list_memories(store) == []
    with pytest.raises(MemoryNotFoundError, match=f"memory {id} was forgotten on 20"):
        get_memory(store, id)

    with pytest.raises(MemoryNotFoundError, match="was forgotten"):
        forget_memory(store, id)


def test_a_purged_memory_leaves_nothing_in_the_file(store: Store, tmp_path: Path) -> None:
    id = save(store, "Zanzibar")
    forget_memory(store, id, purge=True)
    store.close()

    assert b"anzibar" not in b"".join(
        path.read_bytes() for path in (tmp_path / ".goopspec").iterdir()
    )


@pytest.mark.parametrize("id", [0, -1, 4711, 10**30])
def test_what_never_was_cannot_be_shown_or_forgotten(store: Store, id: int) -> None:
    save(store, "Sessions live in Redis")

    with pytest.raises(MemoryNotFoundError, match=f"no memory {id}"):
        get_memory(store, id)

    with pytest.raises(MemoryNotFoundError, match=f"no memory {id}"):
        forget_memory(store, id)

    assert len(list_memories(store)) == 1


def test_looking_and_forgetting_create_nothing(store: Store) -> None:
    with pytest.raises(MemoryNotFoundError):
        forget_memory(store, 1)

    assert list_memories(store) == []
    assert not store.exists()

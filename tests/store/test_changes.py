"""Changes are atomic and run one after the other; a read sees one consistent view."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from goop_mcp.errors import StoreBusyError, StoreError
from goop_mcp.store.interface import ReadTransaction, Store, WriteTransaction
from goop_mcp.store.records import MemoryFilter, StoredMemory
from tests.store.conftest import OpenStore
from tests.store.rows import EVENT, add_named, new_memory

LONGEST_WAIT = 60


def count(reading: ReadTransaction) -> int:
    return len(reading.memories(MemoryFilter()))


def test_a_project_without_rows_reads_as_empty(store: Store) -> None:
    assert store.read(lambda reading: (reading.revision(), reading.memories(MemoryFilter()))) == (
        0,
        [],
    )
    assert store.read(lambda reading: (reading.memory(1), reading.events(), reading.reports())) == (
        None,
        [],
        [],
    )
    assert store.read(lambda reading: (reading.projections(), reading.memory_by_key("k"))) == (
        [],
        None,
    )
    assert store.check() == []


def test_a_change_sees_what_it_adds_itself(store: Store) -> None:
    def change(writing: WriteTransaction) -> tuple[StoredMemory | None, int]:
        writing.add_memory(new_memory("one"))
        hits = writing.search(["one"], operator="AND", wanted=MemoryFilter(), limit=5)
        return writing.memory_by_key("key-one"), len(hits)

    seen, hits = store.write(change)
    assert seen is not None
    assert hits == 1


def test_an_error_in_a_change_rolls_all_of_it_back_and_is_raised_again(store: Store) -> None:
    class OddError(Exception):
        pass

    def change(writing: WriteTransaction) -> None:
        writing.add_memory(new_memory("one"))
        writing.add_event(EVENT)
        raise OddError

    with pytest.raises(OddError):
        store.write(change)

    assert store.read(lambda reading: (count(reading), reading.events(), reading.revision())) == (
        0,
        [],
        0,
    )
    assert add_named(store, "two") == [1]


def test_an_error_in_a_read_is_raised_again_and_the_next_read_works(store: Store) -> None:
    add_named(store, "one")

    def ask(_: ReadTransaction) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.read(ask)

    assert store.read(count) == 1


def test_a_view_does_not_move_while_others_write(store: Store, open_again: OpenStore) -> None:
    add_named(store, "one")
    other = open_again()

    def ask(reading: ReadTransaction) -> tuple[int, int]:
        before = count(reading)
        add_named(other, "two")
        return before, count(reading)

    assert store.read(ask) == (1, 1)
    assert store.read(count) == 2


def test_what_follows_runs_after_the_commit_while_nobody_else_writes(
    store: Store, open_again: OpenStore
) -> None:
    other = open_again()
    seen: list[int] = []

    def follow(_: StoredMemory) -> None:
        seen.append(other.read(count))
        with pytest.raises(StoreBusyError):
            other.write(lambda writing: writing.add_event(EVENT), timeout=0.1)

    store.write(lambda writing: writing.add_memory(new_memory("one")), then=follow)
    assert seen == [1]
    assert other.read(lambda reading: reading.events()) == []


def test_an_error_after_the_commit_is_logged_and_rolls_nothing_back(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    def follow(_: StoredMemory) -> None:
        raise ZeroDivisionError

    with caplog.at_level(logging.ERROR):
        stored = store.write(lambda writing: writing.add_memory(new_memory("one")), then=follow)

    assert store.read(lambda reading: reading.memory(stored.id)) == stored
    assert "is stored" in caplog.text


def test_a_change_that_starts_another_change_fails_at_once(store: Store) -> None:
    with pytest.raises(StoreError, match="one change"):
        store.write(lambda _: add_named(store, "inner"), timeout=5)
    assert store.read(count) == 0


def test_an_error_for_too_long_a_wait_names_the_writer(store: Store, open_again: OpenStore) -> None:
    add_named(store, "one")
    begun, go_on = threading.Event(), threading.Event()

    def slow(_: WriteTransaction) -> None:
        begun.set()
        assert go_on.wait(LONGEST_WAIT)

    with ThreadPoolExecutor(1) as others:
        writing = others.submit(store.write, slow)
        assert begun.wait(LONGEST_WAIT)
        for waiting in (store, open_again()):
            with pytest.raises(StoreBusyError) as caught:
                waiting.write(lambda writing: writing.add_event(EVENT), timeout=0.1)

            assert caught.value.retryable
            assert str(caught.value)

        go_on.set()
        writing.result(LONGEST_WAIT)

    # A write whose caller gave up does not happen afterwards.
    add_named(store, "two")
    assert store.read(lambda reading: reading.events()) == []


def test_fifty_threads_that_save_at_once_all_keep_what_they_saved(store: Store) -> None:
    with ThreadPoolExecutor(50) as threads:
        saved = [threads.submit(add_named, store, f"n{number}") for number in range(200)]
        read = [threads.submit(store.read, count) for _ in range(50)]
        ids = sorted(id for future in saved for id in future.result(LONGEST_WAIT))
        assert all(future.result(LONGEST_WAIT) <= 200 for future in read)

    memories = store.read(lambda reading: reading.memories(MemoryFilter()))
    assert ids == sorted(memory.id for memory in memories)
    assert len(set(ids)) == 200
    assert sorted(memory.revision for memory in memories) == list(range(1, 201))


def test_two_openings_of_the_same_database_write_in_turn(
    store: Store, open_again: OpenStore
) -> None:
    other = open_again()
    ids = [id for number in range(10) for id in add_named((store, other)[number % 2], f"n{number}")]
    assert len(set(ids)) == 10
    assert store.read(count) == other.read(count) == 10


def test_closing_a_store_lets_queued_writes_finish(store: Store, open_again: OpenStore) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(_: WriteTransaction) -> None:
        begun.set()
        assert go_on.wait(LONGEST_WAIT)

    with ThreadPoolExecutor(3) as others:
        first = others.submit(store.write, slow)
        assert begun.wait(LONGEST_WAIT)
        second = others.submit(add_named, store, "waiting")
        closing = others.submit(store.close)
        go_on.set()
        first.result(LONGEST_WAIT)
        closing.result(LONGEST_WAIT)
        # Either stored or refused; never lost in between.
        stored = 0 if isinstance(second.exception(LONGEST_WAIT), StoreError) else 1

    assert open_again().read(count) == stored


def test_a_closed_store_says_so_and_can_be_closed_again(store: Store) -> None:
    add_named(store, "one")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        add_named(store, "two")


def test_rows_outlive_the_store_that_wrote_them(store: Store, open_again: OpenStore) -> None:
    ids = add_named(store, "one", "two")
    store.close()
    again = open_again()
    assert again.exists()
    assert (
        sorted(memory.id for memory in again.read(lambda reading: reading.memories(MemoryFilter())))
        == ids
    )
    assert again.check() == []

"""Recorded runs in both databases: found by their id, bounded, and removed without a trace."""

from collections.abc import Callable
from dataclasses import asdict, replace

import pytest

from goop_mcp.errors import StoreError
from goop_mcp.store import records
from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.store.records import MOST_BYTES_OF_KEPT_RUNS, NewKeptRun
from tests.store.conftest import OpenStore
from tests.store.rows import RUN


def keep(*runs: NewKeptRun) -> Callable[[WriteTransaction], list[int]]:
    return lambda writing: [writing.keep_run(run).id for run in runs]


def numbered(number: int, **changed: str) -> NewKeptRun:
    return replace(RUN, run=f"r-{number:012x}", **changed)


def kept(store: Store, *, before_id: int | None = None, limit: int = 1000) -> list[str]:
    runs = store.read(lambda reading: reading.kept_runs(before_id=before_id, limit=limit))
    return [each.run for each in runs]


def test_a_run_is_found_by_its_id(store: Store, open_again: OpenStore) -> None:
    assert store.read(lambda reading: reading.kept_run(RUN.run)) is None
    [id] = store.write(keep(RUN))
    again = open_again()
    found = again.read(lambda reading: reading.kept_run(RUN.run))
    assert found is not None
    assert asdict(found) == {**asdict(RUN), "id": id}
    assert again.read(lambda reading: reading.revision()) == 0
    assert again.check() == []


def test_runs_are_listed_newest_first(store: Store) -> None:
    ids = store.write(keep(*(numbered(number) for number in range(5))))
    assert kept(store, limit=2) == ["r-000000000004", "r-000000000003"]
    assert kept(store, before_id=ids[3], limit=2) == ["r-000000000002", "r-000000000001"]


def test_an_id_is_used_once(store: Store) -> None:
    store.write(keep(RUN))
    with pytest.raises(StoreError):
        store.write(keep(RUN))
    assert kept(store) == [RUN.run]


def test_a_removed_run_keeps_its_id_and_nothing_else(store: Store) -> None:
    ids = store.write(keep(RUN, numbered(1)))
    assert store.write(lambda writing: writing.remove_kept_runs([ids[0], 999])) == 1
    assert store.write(lambda writing: writing.remove_kept_runs([ids[0]])) == 0
    found = store.read(lambda reading: reading.kept_run(RUN.run))
    assert found is not None
    assert (found.content, found.mac) == ("", "")
    assert kept(store) == ["r-000000000001"]


def test_runs_are_bounded_in_number_and_bytes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(keep(*(numbered(number) for number in range(records.MOST_KEPT_RUNS + 3))))
    assert len(kept(store)) == records.MOST_KEPT_RUNS
    first = store.read(lambda reading: reading.kept_run("r-000000000000"))
    assert first is not None
    assert first.content == ""

    half = "ß" * (MOST_BYTES_OF_KEPT_RUNS // 4)
    store.write(keep(*(numbered(9000 + number, content=half) for number in range(3))))
    assert kept(store) == ["r-00000000232a", "r-000000002329"]
    with pytest.raises(StoreError, match="the most that is kept"):
        store.write(keep(numbered(9999, content=half * 2 + "x")))

    # What a project knows by id is bounded as well.
    engine = "sqlite" if store.engine == "sqlite" else "postgres"
    monkeypatch.setattr(f"goop_mcp.store.{engine}.writing.MOST_KNOWN_RUNS", 2)
    store.write(keep(numbered(10_000)))
    assert store.read(lambda reading: reading.kept_run("r-000000002328")) is None
    assert len(kept(store)) == 2


def test_a_run_that_no_database_could_keep_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="NUL"):
        store.write(keep(replace(RUN, content='{"tail": "\0"}')))
    assert kept(store) == []

"""Revisions that were given before are not given again; each engine and database for itself."""

import shutil
from pathlib import Path

import pytest

from goop_mcp.store.interface import Store
from goop_mcp.store.older_copies import OLDER_COPIES, OlderCopy
from goop_mcp.store.opening import open_store
from tests.store.conftest import OpenStore
from tests.store.rows import add_named


def next_revision(store: Store) -> int:
    return store.write(lambda writing: writing.next_revision())


def noted(store: Store) -> list[OlderCopy]:
    events = store.read(lambda reading: reading.events(document=OLDER_COPIES))
    return [OlderCopy.of_event(event) for event in events]


def test_revisions_go_on_after_those_that_files_show(open_again: OpenStore) -> None:
    store = open_again()
    assert [next_revision(store) for _ in range(2)] == [1, 2]

    store.mark_used(2)
    assert next_revision(store) == 3
    assert store.take_older_copy() is None

    store.mark_used(10)
    # What is noted is a change of its own, as readers have to notice it.
    assert [next_revision(store) for _ in range(2)] == [12, 13]
    older = OlderCopy(had=3, used=10)
    assert (store.take_older_copy(), store.take_older_copy()) == (older, None)
    assert noted(open_again()) == [older]
    assert store.read(lambda reading: reading.reports_changed_at()) == 11
    assert store.check() == []


def test_a_change_that_fails_notes_nothing(store: Store) -> None:
    next_revision(store)
    store.mark_used(10)

    with pytest.raises(ZeroDivisionError):
        store.write(lambda _: 1 / 0)

    assert store.take_older_copy() is None
    assert noted(store) == []
    assert next_revision(store) == 12


def test_databases_in_one_folder_have_their_own_revisions(tmp_path: Path) -> None:
    stores = [open_store(f"sqlite:///{name}.db", project=tmp_path) for name in ("a", "b b")]
    for number, store in enumerate(stores):
        add_named(store, *(f"{number}-{each}" for each in range(3 + number)))
        store.close()
        shutil.copy(tmp_path / "a.db", tmp_path / "copy")

    (tmp_path / "b b.db").unlink()
    shutil.copy(tmp_path / "copy", tmp_path / "a.db")
    again = [open_store(f"sqlite:///{name}.db", project=tmp_path) for name in ("a", "b b")]

    assert [next_revision(store) for store in again] == [4, 6]
    assert [store.take_older_copy() for store in again] == [None, OlderCopy(had=0, used=4)]
    for store in again:
        store.close()


@pytest.mark.parametrize(
    "left", [b"", b"\0" * 100, b"x" * 200_000, b"1 2026-01-20T08:00:00+00:00".ljust(47) + b"\n 99"]
)
def test_a_lock_file_of_any_content_is_no_obstacle(tmp_path: Path, left: bytes) -> None:
    (tmp_path / ".goopspec").mkdir()
    (tmp_path / ".goopspec" / ".lock").write_bytes(left)
    for revision in (1, 2):
        store = open_store(None, project=tmp_path)
        assert next_revision(store) == revision
        store.close()

    (tmp_path / ".goopspec" / "goop.db").unlink()
    store = open_store(None, project=tmp_path)
    assert next_revision(store) == 4
    store.close()

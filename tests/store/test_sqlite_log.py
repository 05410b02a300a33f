"""The log next to the file: removed under an open store, and what remains in it and in the file."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from goop_mcp.errors import StoreError, StoreReadOnlyError
from goop_mcp.memory.drafts import MemoryDraft
from goop_mcp.memory.repository import forget_memory
from goop_mcp.memory.saving import save_memory
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import MemoryFilter
from tests.rights import ordinary_rights
from tests.store.rows import add_named

NAME = ".goopspec/goop.db"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(None, project=tmp_path)
    yield opened
    opened.close()


def remove(project: Path, *suffixes: str) -> None:
    for suffix in suffixes:
        (project / f"{NAME}{suffix}").unlink()


def uids(store: Store) -> set[str]:
    return {memory.uid for memory in store.read(lambda reading: reading.memories(MemoryFilter()))}


def uids_of_another_process(project: Path) -> set[str]:
    program = (
        "import sys; from goop_mcp.store.opening import open_store; from goop_mcp.store.records"
        " import MemoryFilter\nstore = open_store(None, project=sys.argv[1])\nprint(*(memory.uid"
        " for memory in store.read(lambda reading: reading.memories(MemoryFilter()))))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(project)], check=True, capture_output=True, text=True
    )
    return set(ended.stdout.split())


@pytest.mark.parametrize("suffixes", [("-wal", "-shm"), ("-wal",), ("-shm",)], ids="+".join)
@pytest.mark.parametrize("reads_first", [False, True])
def test_nothing_saved_is_lost_with_a_log_that_somebody_removes(
    store: Store, tmp_path: Path, suffixes: tuple[str, ...], reads_first: bool
) -> None:
    add_named(store, "before")

    remove(tmp_path, *suffixes)
    if reads_first:
        assert uids(store) == {"uid-before"}

    add_named(store, "after")

    assert uids(store) == {"uid-before", "uid-after"}
    assert uids_of_another_process(tmp_path) == {"uid-before", "uid-after"}
    assert store.check() == []


def test_a_log_removed_during_a_change_keeps_it_all_the_same(store: Store, tmp_path: Path) -> None:
    add_named(store, "before")

    def change(_: object) -> None:
        remove(tmp_path, "-wal", "-shm")

    store.write(change)

    assert uids_of_another_process(tmp_path) == {"uid-before"}


def test_a_log_removed_at_the_end_is_saved_when_the_store_is_closed(
    store: Store, tmp_path: Path
) -> None:
    add_named(store, "last")
    remove(tmp_path, "-wal", "-shm")
    store.close()

    assert uids_of_another_process(tmp_path) == {"uid-last"}


def test_a_log_that_another_program_started_again_is_not_mixed_with_ours(
    store: Store, tmp_path: Path
) -> None:
    first = open_store(None, project=tmp_path)
    add_named(first, "first")
    first.close()
    add_named(store, "before")
    remove(tmp_path, "-wal", "-shm")
    begin_another_log(tmp_path)

    with pytest.raises(
        StoreError,
        match=r"goop\.db-wal was replaced .* kept in \.goopspec/goop\.db\.\d{8}-\d{6}-\d+",
    ):
        add_named(store, "refused")

    [copy] = [
        path for path in tmp_path.glob(f"{NAME}.2*") if not path.name.endswith(("-wal", "-shm"))
    ]
    kept = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
    assert kept.execute("SELECT uid FROM memories ORDER BY id").fetchall() == [
        ("uid-first",),
        ("uid-before",),
    ]
    kept.close()
    add_named(store, "after")
    assert uids(store) == {"uid-first", "uid-after"}
    assert store.check() == []


def begin_another_log(project: Path) -> None:
    """Write to the database as a program would that never waits for our lock."""
    program = (
        "import sys, os, apsw; connection = apsw.Connection(sys.argv[1])\n"
        "connection.execute('CREATE TABLE IF NOT EXISTS other (x)'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, str(project / NAME)], check=True)


@pytest.mark.parametrize("purge", [False, True])
def test_what_is_forgotten_stands_in_no_file_any_more(
    store: Store, tmp_path: Path, purge: bool
) -> None:
    word = "Zyxomorphic"
    kept = [
        save_memory(store, MemoryDraft(title=f"Kept {n}", content=f"Plain text {n}. " * 50))
        for n in range(20)
    ]
    draft = MemoryDraft(
        title=f"{word} title",
        content=f"All about {word} things. " * 400,
        concepts=(word,),
        facts=(f"{word} is a fact",),
        source_files=(f"src/{word}.py",),
        agent=word,
        session_id=word,
        idempotency_key=word,
    )
    saved = save_memory(store, draft)
    kept += [
        save_memory(store, MemoryDraft(title=f"Later {n}", content=f"More text {n}. " * 50))
        for n in range(20)
    ]
    assert word.lower().encode() in raw(tmp_path)

    forget_memory(store, saved.id, purge=purge)

    assert word.lower().encode() not in raw(tmp_path)
    assert b"zyxomorph" not in raw(tmp_path), "the stem of the word stands in the index"
    assert store.check() == []
    assert len(uids(store)) == len(kept)


def raw(project: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((project / ".goopspec").iterdir())).lower()


def test_what_a_reader_keeps_in_the_log_goes_with_the_next_change(
    store: Store, tmp_path: Path
) -> None:
    saved = save_memory(store, MemoryDraft(title="Qwvxz", content="Qwvxz"))
    reader = apsw.Connection(str(tmp_path / NAME))
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM memories").fetchall()

    forget_memory(store, saved.id)
    reader.execute("ROLLBACK")
    reader.close()
    save_memory(store, MemoryDraft(title="Another", content="Another"))

    assert b"qwvxz" not in raw(tmp_path)


def test_a_database_that_was_read_only_for_a_while_is_written_again_without_a_restart(
    store: Store, tmp_path: Path
) -> None:
    add_named(store, "before")
    store.close()
    again = open_store(None, project=tmp_path)
    database = tmp_path / NAME

    with ordinary_rights():
        database.chmod(0o444)
        with pytest.raises(StoreReadOnlyError):
            add_named(again, "refused")

        database.chmod(0o600)
        add_named(again, "after")

    assert uids(again) == {"uid-before", "uid-after"}
    again.close()


def test_reading_while_a_database_is_read_only_does_not_keep_it_from_being_written_later(
    store: Store, tmp_path: Path
) -> None:
    add_named(store, "before")
    # As a server that was killed leaves it: with a log, which no program has open for writing.
    project = tmp_path / "killed"
    shutil.copytree(tmp_path / ".goopspec", project / ".goopspec")
    again = open_store(None, project=project)
    files = [project / f"{NAME}{suffix}" for suffix in ("", "-wal", "-shm")]

    with ordinary_rights():
        for file in files:
            file.chmod(0o444)

        assert uids(again) == {"uid-before"}
        with pytest.raises(StoreReadOnlyError):
            add_named(again, "refused")

        for file in files:
            file.chmod(0o600)

        add_named(again, "after")

    assert uids(again) == {"uid-before", "uid-after"}
    again.close()


def test_the_database_and_what_belongs_to_it_are_for_their_owner_only(
    store: Store, tmp_path: Path
) -> None:
    add_named(store, "one")
    folder = tmp_path / ".goopspec"

    assert {path.name: oct(path.stat().st_mode & 0o777) for path in folder.glob("goop.db*")} == {
        "goop.db": "0o600",
        "goop.db-shm": "0o600",
        "goop.db-wal": "0o600",
    }


def test_a_closed_store_leaves_its_data_in_the_file_though_another_process_has_it_open(
    store: Store, tmp_path: Path
) -> None:
    other = open_store(None, project=tmp_path)
    add_named(other, "theirs")
    add_named(store, "ours")

    store.close()

    assert (tmp_path / f"{NAME}-wal").stat().st_size == 0
    other.close()

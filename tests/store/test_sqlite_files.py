"""What may be at the path of the database, and how it is reported."""

import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from goop_mcp.errors import (
    StoreCorruptError,
    StoreError,
    StoreVersionError,
)
from goop_mcp.store.interface import Store
from goop_mcp.store.migrations import load_migrations
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import MemoryFilter
from goop_mcp.store.sqlite import SqliteStore
from goop_mcp.store.sqlite.connection import DatabaseFile, refuse_unsafe_sqlite
from tests.store.rows import NOW, add_named, found

NAME = ".goopspec/goop.db"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(None, project=tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return the path of a database with one memory, which no process has open."""
    first = open_store(None, project=tmp_path)
    add_named(first, "one")
    first.close()
    return tmp_path / NAME


def both(store: Store) -> list[Callable[[], object]]:
    """Return a reading and a writing use of a store."""
    return [lambda: store.read(lambda reading: reading.memory(1)), lambda: add_named(store, "two")]


def test_reading_creates_nothing(store: Store, tmp_path: Path) -> None:
    assert not store.exists()
    store.read(lambda reading: reading.memories(MemoryFilter()))
    assert store.check() == []
    assert store.warnings == ()
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_a_closed_store_leaves_one_whole_file_and_its_lock(database: Path) -> None:
    assert sorted(path.name for path in database.parent.iterdir()) == [
        ".gitignore",
        ".lock",
        "goop.db",
    ]


@pytest.mark.parametrize(
    "content",
    [b"This is no database. " * 100, os.urandom(8192), b"xy"],
    ids=["text", "random", "short"],
)
def test_a_file_that_is_no_database_is_left_as_it_is(
    store: Store, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / NAME
    path.parent.mkdir()
    path.write_bytes(content)
    for use in both(store):
        with pytest.raises(StoreCorruptError, match=r"^\.goopspec/goop\.db is .*was not changed"):
            use()

    assert path.read_bytes() == content


def test_a_damaged_database_is_reported_and_left_as_it_is(database: Path, store: Store) -> None:
    content = bytearray(database.read_bytes())
    content[4096 * 2 :] = os.urandom(len(content) - 4096 * 2)
    database.write_bytes(content)
    with pytest.raises(StoreCorruptError, match="damaged"):
        store.read(lambda reading: reading.memories(MemoryFilter()))

    with pytest.raises(StoreCorruptError):
        add_named(store, "two")

    assert store.check() != []
    store.close()
    assert database.read_bytes() == bytes(content)


def test_an_index_that_lost_a_memory_is_found_by_the_check(database: Path, store: Store) -> None:
    connection = apsw.Connection(str(database))
    connection.execute("INSERT INTO memory_index (memory_index) VALUES ('delete-all')")
    connection.close()
    assert "index of words" in " ".join(store.check())
    assert database.exists()


def test_a_database_of_another_program_is_left_as_it_is(store: Store, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.parent.mkdir()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs (x); PRAGMA user_version = 1")
    connection.close()
    before = path.read_bytes()
    for use in both(store):
        with pytest.raises(StoreCorruptError, match="another program"):
            use()

    store.close()
    assert path.read_bytes() == before


def test_a_database_of_a_newer_version_is_refused_with_both_versions(
    database: Path, store: Store
) -> None:
    connection = apsw.Connection(str(database))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    newest = load_migrations("sqlite")[-1].version
    for use in both(store):
        with pytest.raises(StoreVersionError, match=rf"version 99 .* up to {newest}; install"):
            use()


def test_an_empty_file_left_by_a_killed_writer_reads_as_empty_and_is_filled(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / NAME
    path.parent.mkdir()
    path.touch()
    assert store.read(lambda reading: reading.revision()) == 0
    assert add_named(store, "one") == [1]


@pytest.mark.parametrize("name", ["goop.db", ".lock"])
def test_a_symbolic_link_in_place_of_the_file_is_refused(
    store: Store, tmp_path: Path, name: str
) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"")
    (tmp_path / ".goopspec").mkdir()
    (tmp_path / ".goopspec" / name).symlink_to(target)
    with pytest.raises(StoreError, match="symbolic link"):
        add_named(store, "one")

    assert target.read_bytes() == b""


def test_a_link_to_the_folder_is_the_users_choice(store: Store, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".goopspec").symlink_to(tmp_path / "elsewhere")
    assert add_named(store, "one") == [1]
    assert (tmp_path / "elsewhere" / "goop.db").is_file()


@pytest.mark.parametrize("name", ["goop.db", ".lock"])
def test_a_folder_in_place_of_the_file_is_refused(store: Store, tmp_path: Path, name: str) -> None:
    (tmp_path / ".goopspec" / name).mkdir(parents=True)
    with pytest.raises(StoreError, match=r"not a file|cannot be used"):
        add_named(store, "one")


def test_a_file_in_place_of_the_folder_is_refused(store: Store, tmp_path: Path) -> None:
    (tmp_path / ".goopspec").write_text("")
    with pytest.raises(StoreError, match="folder"):
        add_named(store, "one")
    assert not store.exists()


def test_a_project_that_is_gone_is_reported(tmp_path: Path) -> None:
    store = open_store(None, project=tmp_path / "gone")
    with pytest.raises(StoreError, match=r"folder of .* does not exist"):
        add_named(store, "one")


def test_a_database_that_was_removed_is_not_written_to_any_more(
    database: Path, store: Store
) -> None:
    add_named(store, "two")
    shutil.rmtree(database.parent)
    assert store.read(lambda reading: reading.revision()) == 0
    assert add_named(store, "three") == [1]
    other = open_store(None, project=database.parent.parent)
    assert found(other, "three") == [1]
    other.close()


def test_a_copy_that_is_put_back_is_what_is_read_and_written(
    database: Path, store: Store, tmp_path: Path
) -> None:
    shutil.copy(database, tmp_path / "copy")
    add_named(store, "two")
    assert found(store, "two") == [2]
    for path in database.parent.glob("goop.db*"):
        path.unlink()

    (tmp_path / "copy").rename(database)
    assert found(store, "two") == []
    assert add_named(store, "three") == [2]


def test_an_unsafe_sqlite_is_refused() -> None:
    refuse_unsafe_sqlite("3.51.3")
    refuse_unsafe_sqlite(apsw.sqlite_lib_version())
    with pytest.raises(StoreError, match=r"3\.51\.2"):
        refuse_unsafe_sqlite("3.51.2")


def test_a_network_filesystem_gets_another_way_of_writing_and_a_warning(tmp_path: Path) -> None:
    device = tmp_path.stat().st_dev
    table = tmp_path / "mounts"
    table.write_text(
        f"36 35 {os.major(device)}:{os.minor(device)} / {tmp_path} rw - nfs4 server:/x rw\n"
    )
    path = tmp_path / NAME
    path.parent.mkdir()
    file = DatabaseFile(
        path=path, name=NAME, migrations=load_migrations("sqlite"), mount_table=table
    )
    store = SqliteStore(file)
    assert add_named(store, "one", "two") == [1, 2]
    (warning,) = store.warnings
    assert "nfs4" in warning
    assert "PostgreSQL" in warning
    assert found(store, "two") == [2]
    assert not path.with_name("goop.db-wal").exists()
    assert path.with_name("goop.db-journal").stat().st_size == 0
    store.close()


def test_a_local_filesystem_gets_no_warning(database: Path, store: Store) -> None:
    assert store.warnings == ()
    assert store.location == NAME
    assert database.exists()


def test_without_free_file_handles_the_store_says_so_and_works_again_later(
    database: Path, store: Store
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The numbers of open files are names in this folder.
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    taken: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 2, hard))

    try:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))

        for use in both(store):
            with pytest.raises(StoreError, match="too many files"):
                use()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for file in taken:
            os.close(file)

    assert add_named(store, "two") == [2]
    assert database.exists()


def test_nothing_of_a_purged_memory_is_left_in_any_file(store: Store, tmp_path: Path) -> None:
    add_named(store, "harmless", "xylophonic", "other")
    assert any(b"xylophonic" in path.read_bytes() for path in (tmp_path / ".goopspec").iterdir())
    store.write(lambda writing: writing.forget_memory(2, forgotten_at=NOW, purge=True))
    # The index keeps stems, and they share their beginnings.
    assert not any(b"xylo" in path.read_bytes() for path in (tmp_path / ".goopspec").iterdir())
    assert found(store, "harmless other") != []
    assert store.check() == []

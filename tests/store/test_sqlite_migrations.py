"""A database of an older version is migrated, whole or not at all, and a copy of it is kept."""

import resource
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from goop_mcp.errors import StoreFullError, StoreVersionError
from goop_mcp.store.failpoints import Failpoint
from goop_mcp.store.interface import ReadTransaction, Store
from goop_mcp.store.migrations import Migration, load_migrations
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import MemoryFilter
from goop_mcp.store.sqlite import DatabaseFile, SqliteStore
from goop_mcp.store.statistics import StatisticsFilter
from tests.repository import ROOT
from tests.store.kept_version import KEPT_FILES, fill
from tests.store.rows import add_named, found

SHIPPED = load_migrations("sqlite")
NEXT = Migration(
    SHIPPED[-1].version + 1, "ALTER TABLE events ADD COLUMN place TEXT; CREATE TABLE later (x);"
)
LONGEST_RUN = 300


def project_with(tmp_path: Path, version: int) -> Path:
    """Return a project whose database is the kept file of an old version."""
    (tmp_path / ".goopspec").mkdir()
    shutil.copy(KEPT_FILES / f"version-{version}.db", tmp_path / ".goopspec" / "goop.db")
    return tmp_path


def store_with(project: Path, *more: Migration) -> SqliteStore:
    path = project / ".goopspec" / "goop.db"
    return SqliteStore(
        DatabaseFile(path=path, name=".goopspec/goop.db", migrations=(*SHIPPED, *more))
    )


def everything(store: Store) -> str:
    """Return what is read of each kind of row."""

    def read(rows: ReadTransaction) -> tuple[object, ...]:
        return (
            rows.revision(),
            rows.memories(MemoryFilter()),
            rows.memories_by_sketch([7], limit=5),
            (rows.reports(), rows.last_reports(round=1), rows.reports_changed_at()),
            (rows.events(), rows.projections(), rows.round(), rows.stored_state()),
            (rows.attempts(), rows.statistics(StatisticsFilter())),
            (rows.open_confirmations(), rows.kept_document("SPEC.md")),
            (rows.counters(round=1, task="W1.T1"), rows.kept_reply("goop-executor")),
            rows.kept_runs(limit=5),
        )

    return repr(store.read(read))


def version_of(path: Path) -> int:
    connection = apsw.Connection(str(path))
    version = int(connection.pragma("user_version"))
    assert connection.pragma("integrity_check") == "ok"
    connection.close()
    return version


def test_the_steps_are_numbered_without_a_gap_and_every_version_has_its_file() -> None:
    versions = [migration.version for migration in SHIPPED]
    assert versions == list(range(1, len(SHIPPED) + 1))
    assert {path.name for path in KEPT_FILES.glob("*.db")} == {
        f"version-{version}.db" for version in versions
    }


@pytest.mark.parametrize("version", range(1, len(SHIPPED) + 1))
def test_the_file_of_every_version_is_read_and_written(tmp_path: Path, version: int) -> None:
    store = open_store(None, project=project_with(tmp_path, version))
    memories = store.read(lambda reading: reading.memories(MemoryFilter()))
    assert [memory.title for memory in memories] == ["About three", "About one"]
    assert memories[1].concepts == ("Auth", "größe")
    assert found(store, "ONE", wanted=MemoryFilter(concepts=("AUTH",))) == [1]
    assert found(store, "two") == []
    (tmp_path / "today").mkdir()
    with closing(open_store(None, project=tmp_path / "today")) as today:
        fill(today)
        assert everything(store) == everything(today)

    assert add_named(store, "four") == [4]
    assert store.write(lambda writing: writing.retire_reports([1], reason="withdrawn")) == 1
    assert store.check() == []
    store.close()


def test_the_next_version_is_reached_by_a_reader_and_a_copy_is_kept(tmp_path: Path) -> None:
    project = project_with(tmp_path, SHIPPED[-1].version)
    store = store_with(project, NEXT)
    assert found(store, "one") == [1]
    store.close()
    folder = project / ".goopspec"
    assert version_of(folder / "goop.db") == NEXT.version
    copy = folder / f"goop.db.version-{SHIPPED[-1].version}"
    assert version_of(copy) == SHIPPED[-1].version
    assert not list(folder.glob("*.goop-tmp"))


def test_an_older_program_refuses_what_a_newer_one_has_changed_under_it(tmp_path: Path) -> None:
    project = project_with(tmp_path, SHIPPED[-1].version)
    old, new = store_with(project), store_with(project, NEXT)
    add_named(old, "four")
    add_named(new, "five")
    with pytest.raises(StoreVersionError):
        found(old, "one")

    with pytest.raises(StoreVersionError):
        add_named(old, "six")

    assert len(found(new, "four five six")) == 2
    old.close()
    new.close()


def test_a_step_that_fails_changes_nothing(tmp_path: Path) -> None:
    project = project_with(tmp_path, SHIPPED[-1].version)
    broken = Migration(NEXT.version, "CREATE TABLE later (x); INSERT INTO nowhere VALUES (1);")
    store = store_with(project, broken)
    with pytest.raises(OSError, match="no such table"):
        add_named(store, "four")

    store.close()
    assert version_of(project / ".goopspec" / "goop.db") == SHIPPED[-1].version
    assert found(store_with(project), "one") == [1]


@pytest.mark.parametrize("point", [Failpoint.BEGIN, Failpoint.INSERT, Failpoint.COMMIT])
def test_a_kill_at_any_step_leaves_the_old_or_the_new_version(
    tmp_path: Path, point: Failpoint
) -> None:
    project = project_with(tmp_path, SHIPPED[-1].version)
    code = (
        "import os, signal, sys; from pathlib import Path; from goop_mcp.store.failpoints import"
        " install\nfrom tests.store.test_sqlite_migrations import NEXT, store_with; from"
        " tests.store.rows import add_named\ninstall(lambda point: os.kill(os.getpid(),"
        " signal.SIGKILL) if point == sys.argv[2] else"
        " None)\nadd_named(store_with(Path(sys.argv[1]), NEXT), 'four')"
    )
    command = [sys.executable, "-c", code, str(project), point]
    assert (
        subprocess.run(command, timeout=LONGEST_RUN, cwd=ROOT, check=False).returncode
        == -signal.SIGKILL
    )
    database = project / ".goopspec" / "goop.db"
    expected = NEXT.version if point is Failpoint.COMMIT else SHIPPED[-1].version
    shutil.copytree(project / ".goopspec", project / "copy")
    assert version_of(project / "copy" / "goop.db") == expected
    store = store_with(project, NEXT)
    assert add_named(store, "five") == [4]
    store.close()
    assert version_of(database) == NEXT.version


@pytest.mark.parametrize("point", [Failpoint.BEGIN, Failpoint.INSERT, Failpoint.COMMIT])
def test_a_kill_while_a_file_gets_its_first_tables_leaves_all_of_them_or_none(
    tmp_path: Path, point: Failpoint
) -> None:
    (tmp_path / ".goopspec").mkdir()
    code = (
        "import os, signal, sys; from pathlib import Path; from goop_mcp.store.failpoints import"
        " install\nfrom tests.store.test_sqlite_migrations import store_with; from tests.store.rows"
        " import add_named\ninstall(lambda point: os.kill(os.getpid(), signal.SIGKILL) if point =="
        " sys.argv[2] else None)\nadd_named(store_with(Path(sys.argv[1])), 'one')"
    )
    command = [sys.executable, "-c", code, str(tmp_path), point]
    assert (
        subprocess.run(command, timeout=LONGEST_RUN, cwd=ROOT, check=False).returncode
        == -signal.SIGKILL
    )
    shutil.copytree(tmp_path / ".goopspec", tmp_path / "copy")
    assert version_of(tmp_path / "copy" / "goop.db") == (
        SHIPPED[-1].version if point is Failpoint.COMMIT else 0
    )
    store = store_with(tmp_path)
    assert add_named(store, "two") == [1]
    store.close()
    assert not list((tmp_path / ".goopspec").glob("*.version-*"))


def test_a_copy_that_finds_no_room_stops_the_step(tmp_path: Path) -> None:
    project = project_with(tmp_path, SHIPPED[-1].version)
    store = store_with(project, NEXT)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))

    try:
        with pytest.raises(StoreFullError, match="no space is left"):
            add_named(store, "four")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert not list((project / ".goopspec").glob("goop.db.version-*"))
    assert add_named(store, "four") == [4]
    store.close()
    assert version_of(project / ".goopspec" / "goop.db") == NEXT.version

"""A database of an older version is migrated, whole or not at all, and a copy of it is kept."""

import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from goop_mcp.errors import StoreFullError, StoreVersionError
from goop_mcp.store.failpoints import Failpoint
from goop_mcp.store.migrations import Migration, load_migrations
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import MemoryFilter, Round
from goop_mcp.store.sqlite import DatabaseFile, SqliteStore
from goop_mcp.store.statistics import EndingCount, StatisticsFilter
from tests.repository import ROOT
from tests.store.rows import ATTEMPT, NOW, add, add_named, found, new_memory

OLD_FILES = ROOT / "tests" / "cases" / "store"
SHIPPED = load_migrations("sqlite")
NEXT = Migration(
    SHIPPED[-1].version + 1, "ALTER TABLE events ADD COLUMN place TEXT; CREATE TABLE later (x);"
)
LONGEST_RUN = 300
# Version 2 came with attempts; the kept one was rejected before anybody kept why calls ended.
ENDINGS = {
    True: (EndingCount("accepted", 1, 1), EndingCount("unknown", 1, 1)),
    False: (EndingCount("accepted", 1, 1),),
}


def project_with(tmp_path: Path, version: int) -> Path:
    """Return a project whose database is the kept file of an old version."""
    (tmp_path / ".goopspec").mkdir()
    shutil.copy(OLD_FILES / f"version-{version}.db", tmp_path / ".goopspec" / "goop.db")
    return tmp_path


def store_with(project: Path, *more: Migration) -> SqliteStore:
    path = project / ".goopspec" / "goop.db"
    return SqliteStore(
        DatabaseFile(path=path, name=".goopspec/goop.db", migrations=(*SHIPPED, *more))
    )


def version_of(path: Path) -> int:
    connection = apsw.Connection(str(path))
    version = int(connection.pragma("user_version"))
    assert connection.pragma("integrity_check") == "ok"
    connection.close()
    return version


def test_the_steps_are_numbered_without_a_gap_and_every_version_has_its_file() -> None:
    versions = [migration.version for migration in SHIPPED]
    assert versions == list(range(1, len(SHIPPED) + 1))
    assert {path.name for path in OLD_FILES.glob("*.db")} == {
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
    reports, events, projections = store.read(
        lambda reading: (reading.reports(), reading.events(), reading.projections())
    )
    assert (reports[0].task_id, events[0].document, projections[0].path) == (
        "W1.T1",
        "CHRONICLE.md",
        "HANDOFF.md",
    )
    assert add_named(store, "four") == [4]
    assert add(store, replace(new_memory("five"), sketches=(7,)))[0].id == 5
    assert [
        memory.id for memory in store.read(lambda reading: reading.memories_by_sketch([7], limit=5))
    ] == [5]
    assert store.write(lambda writing: writing.add_attempts([ATTEMPT]))[0].rules == ATTEMPT.rules
    assert (
        store.read(lambda reading: reading.statistics(StatisticsFilter()).endings)
        == ENDINGS[version > 1]
    )
    # What was recorded before there were rounds belongs to the first one, and counts.
    assert store.read(
        lambda reading: (
            reading.round(),
            [report.id for report in reading.last_reports(round=1)],
            reading.report_count(round=1),
            reading.reports_changed_at(),
        )
    ) == (Round(), [1], 1, 0)
    store.write(
        lambda writing: writing.close_round(outcome="accept", closed_at=NOW, plan_sha256=None)
    )
    assert store.write(lambda writing: writing.open_round(name=None, opened_at=NOW)).number == 2
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


def many_old_memories(project: Path) -> Path:
    """Fill the kept file of version 9, in which only whole words are indexed, with many rows."""
    database = project_with(project, 9) / ".goopspec" / "goop.db"
    with closing(apsw.Connection(str(database))) as connection, connection:
        connection.executemany(
            "INSERT INTO memories (type, importance, revision, created_at, uid, title, concepts,"
            " concept_words, source_files, facts, content)"
            " VALUES ('note', 0.5, 9, ?, ?, ?, '[]', '', '[]', '[]', ?)",
            [
                (NOW, f"u{number}", f"Note {number}", f"fetchPage{number} " + "more words " * 40)
                for number in range(20_000)
            ],
        )

    return database


def test_a_kill_while_old_memories_are_indexed_again_loses_none(tmp_path: Path) -> None:
    database = many_old_memories(tmp_path)
    code = (
        "import sys; from pathlib import Path; from goop_mcp.store.opening import open_store; from"
        " tests.store.rows import found\n"
        "found(open_store(None, project=Path(sys.argv[1])), 'one')"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT)
    # The log grows while rows are written, long before the transaction ends.
    log, end = Path(f"{database}-wal"), time.monotonic() + LONGEST_RUN
    while not (log.exists() and log.stat().st_size > 2**20) and time.monotonic() < end:
        assert process.poll() is None
        time.sleep(0.005)

    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert version_of(database) == 9

    store = open_store(None, project=tmp_path)
    assert len(found(store, "fetch page", operator="AND")) == 10
    assert found(store, "fetchPage19999", operator="AND") != []
    assert found(store, "page 19999", operator="AND") != []
    assert len(store.read(lambda reading: reading.memories(MemoryFilter()))) == 20_002
    assert store.check() == []
    store.close()
    assert version_of(database) == SHIPPED[-1].version


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

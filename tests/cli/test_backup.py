"""Backups of the database: written and restored while a server runs, never damaged."""

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import apsw
import pytest

from goop_mcp.delegation import resume, run_graph
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import MemoryFilter
from tests.cli.running import Ended, answer_on_terminal, run
from tests.delegation.graphs import Team, login
from tests.postgres import Database
from tests.store.rows import add_named

NAME = ".goopspec/goop.db"


def uids(store: Store) -> set[str]:
    return {memory.uid for memory in store.read(lambda reading: reading.memories(MemoryFilter()))}


def in_project(project: Path, *arguments: str) -> Ended:
    command = answer_on_terminal if arguments[:2] == ("runs", "answer") else run
    return command(*arguments, cwd=project)


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """Return a backup of a project with three memories, written while a store has it open."""
    store = open_store(None, project=tmp_path)
    add_named(store, "a", "b", "c")
    ended = in_project(tmp_path, "backup", "copy.db")
    assert (ended.code, ended.out, ended.err) == (0, f"{NAME} written to copy.db\n", "")
    store.close()
    return tmp_path / "copy.db"


def test_a_backup_is_one_whole_file_for_its_owner(backup: Path) -> None:
    assert oct(backup.stat().st_mode & 0o777) == "0o600"
    assert list(backup.parent.glob("*copy.db*")) == [backup]
    copy = apsw.Connection(str(backup), flags=apsw.SQLITE_OPEN_READONLY)
    assert copy.execute("SELECT count(*) FROM memories").get == 3
    assert copy.pragma("journal_mode") == "delete"
    copy.close()


def test_a_running_server_continues_with_the_restored_content(backup: Path) -> None:
    running = open_store(None, project=backup.parent)
    add_named(running, "d", "e")

    ended = in_project(backup.parent, "restore", "copy.db")

    assert ended.code == 0
    assert "it had revision 3, and revisions up to 5 were given before" in ended.err
    assert ended.out.startswith(
        f"{NAME} restored from copy.db; the previous content is in {NAME}.2"
    )
    assert uids(running) == {"uid-a", "uid-b", "uid-c"}
    add_named(running, "f")
    assert running.check() == []
    running.close()
    again = open_store(None, project=backup.parent)
    assert uids(again) == {"uid-a", "uid-b", "uid-c", "uid-f"}
    again.close()
    [kept] = backup.parent.glob(f"{NAME}.2*")
    assert apsw.Connection(str(kept)).execute("SELECT count(*) FROM memories").get == 5


def test_a_restored_run_of_a_graph_waits_where_it_waited_and_goes_on(tmp_path: Path) -> None:
    store = open_store(None, project=tmp_path)
    agents, team = {"team": (asked := Team())}, login()
    done = anyio.run(partial(run_graph, team, store=store, agents=agents, input={"goal": "x"}))
    assert (done.state, done.waiting_for) == ("waiting_for_person", ("ship",))
    calls = len(asked.asked)

    def rows() -> tuple[object, ...]:
        return store.read(
            lambda reading: (
                reading.graphs.run(done.id),
                reading.graphs.source(done.id),
                reading.graphs.tasks(done.id),
                reading.graphs.attempts(done.id),
                reading.graphs.events(done.id),
            )
        )

    kept = rows()
    assert in_project(tmp_path, "backup", "copy.db").code == 0
    assert in_project(tmp_path, "runs", "answer", done.id, "ship", "no").code == 0
    assert in_project(tmp_path, "restore", "copy.db").code == 0
    assert rows() == kept

    # What was answered is not asked again.
    assert in_project(tmp_path, "runs", "answer", done.id, "ship", "yes").code == 0
    ended = anyio.run(partial(resume, store, done.id, agents=agents, project=tmp_path))
    assert ended.state == "finished"
    assert len(asked.asked) == calls + 1
    store.close()


def test_a_log_that_a_killed_server_left_is_not_replayed_over_the_backup(backup: Path) -> None:
    child = os.fork()
    if child == 0:
        store = open_store(None, project=backup.parent)
        add_named(store, *(f"late-{number}" for number in range(20)))
        os.kill(os.getpid(), signal.SIGKILL)

    os.waitpid(child, 0)
    assert (backup.parent / f"{NAME}-wal").stat().st_size > 0

    assert in_project(backup.parent, "restore", "copy.db").code == 0

    store = open_store(None, project=backup.parent)
    assert uids(store) == {"uid-a", "uid-b", "uid-c"}
    assert store.check() == []
    store.close()


def ruin_pages(database: Path) -> None:
    content = bytearray(database.read_bytes())
    content[4096 * 3 :] = os.urandom(len(content) - 4096 * 3)
    database.write_bytes(content)


def ruin_head(database: Path) -> None:
    database.write_bytes(os.urandom(8192))


@pytest.mark.parametrize("ruin", [ruin_pages, ruin_head, Path.unlink])
def test_a_database_that_is_damaged_or_missing_is_restored(
    backup: Path, ruin: Callable[[Path], object]
) -> None:
    ruin(backup.parent / NAME)

    ended = in_project(backup.parent, "restore", "copy.db")

    assert (ended.code, ended.err) == (0, "")
    store = open_store(None, project=backup.parent)
    assert uids(store) == {"uid-a", "uid-b", "uid-c"}
    assert store.check() == []
    store.close()


def foreign(backup: Path) -> None:
    backup.unlink()
    connection = apsw.Connection(str(backup))
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()


def newer(backup: Path) -> None:
    connection = apsw.Connection(str(backup))
    connection.execute("PRAGMA user_version=99")
    connection.close()


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (ruin_pages, "; nothing was restored: name another copy that goop-mcp backup wrote"),
        (
            ruin_head,
            (
                "is not a database; nothing was restored: name another copy that goop-mcp backup"
                " wrote"
            ),
        ),
        (foreign, "belongs to another program"),
        (newer, "has version 99 of the tables"),
        (Path.unlink, "is not a file"),
    ],
)
def test_an_invalid_backup_changes_nothing(
    backup: Path, spoil: Callable[[Path], object], expected: str
) -> None:
    spoil(backup)

    ended = in_project(backup.parent, "restore", "copy.db")

    assert (ended.code, ended.out) == (2, "")
    assert expected in ended.err
    store = open_store(None, project=backup.parent)
    assert uids(store) == {"uid-a", "uid-b", "uid-c"}
    store.close()
    assert [path.name for path in (backup.parent / ".goopspec").glob("goop.db.*")] == []


def test_a_backup_overwrites_nothing_unless_asked_to(backup: Path) -> None:
    for name, expected in (("copy.db", "exists already"), (NAME, "is the database itself")):
        ended = in_project(backup.parent, "backup", name)
        assert (ended.code, ended.out) == (2, "")
        assert expected in ended.err

    assert in_project(backup.parent, "backup", NAME, "--force").code == 2
    assert in_project(backup.parent, "backup", "copy.db", "--force").code == 0


def test_the_database_is_not_accepted_as_its_own_backup(backup: Path) -> None:
    ended = in_project(backup.parent, "restore", NAME)
    assert (ended.code, ended.out) == (2, "")
    assert "is the database itself" in ended.err


def test_without_a_database_there_is_nothing_to_copy(tmp_path: Path) -> None:
    ended = in_project(tmp_path, "backup", "copy.db")
    assert (ended.code, ended.out) == (2, "")
    assert "does not exist" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_postgresql_is_left_to_its_own_tools(database: Database, tmp_path: Path) -> None:
    where = ("--database", database.url(), "--project-id", "shop")
    for command, tool in (("backup", "pg_dump"), ("restore", "pg_restore")):
        ended = in_project(tmp_path, command, "copy.db", *where)
        assert (ended.code, ended.out) == (2, "")
        assert tool in ended.err

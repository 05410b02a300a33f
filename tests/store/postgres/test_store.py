import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import psycopg
import pytest

from goop_mcp.errors import StoreBusyError, StoreError, StoreVersionError
from goop_mcp.settings import SettingsError
from goop_mcp.store import opening
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.migrations import Migration, load_migrations
from goop_mcp.store.postgres import PostgresStore, schema
from goop_mcp.store.records import MemoryFilter
from tests.postgres import Database
from tests.store.postgres.conftest import OpenStore
from tests.store.postgres.samples import event, memory, save
from tests.store.rows import NOW

ALL = MemoryFilter()


def _found(store: PostgresStore, *words: str) -> list[int]:
    return [
        hit.id
        for hit in store.read(lambda rows: rows.search(words, operator="OR", wanted=ALL, limit=5))
    ]


def test_reading_an_empty_database_makes_nothing_in_it(
    store: PostgresStore, database: Database
) -> None:
    assert not store.exists()
    assert store.read(lambda rows: (rows.revision(), rows.memories(ALL), rows.events())) == (
        0,
        [],
        [],
    )
    assert store.check() == []
    with database.connect() as connection:
        assert connection.execute("SELECT to_regnamespace('goop')").fetchone() == (None,)


def test_a_failed_statement_that_the_change_passes_over_is_not_acknowledged(
    store: PostgresStore,
) -> None:
    store.write(lambda rows: rows.add_memory(memory()))

    def pass_over(rows: WriteTransaction) -> str:
        rows.add_event(event())
        with pytest.raises(StoreError, match="already"):
            rows.add_memory(memory())
        return "done"

    with pytest.raises(StoreError):
        store.write(pass_over)

    assert store.read(lambda rows: rows.events()) == []


def test_the_project_waits_until_what_follows_the_commit_is_done(open_store: OpenStore) -> None:
    first, second = open_store(), open_store()
    order: list[str] = []

    def follow(_: object) -> None:
        assert first.read(lambda rows: rows.revision()) == 1
        with pytest.raises(
            StoreBusyError,
            match=r"the project's turn is held by goop-mcp \d+@.* \(server process \d+",
        ):
            second.write(lambda rows: rows.add_event(event(2)), timeout=0.2)

        order.append("followed")

    first.write(lambda rows: rows.add_event(event(1)), then=follow)
    second.write(lambda rows: order.append(rows.add_event(event(3)).text))
    assert order == ["followed", "Something 3"]


def test_forgotten_texts_are_gone_and_the_key_is_free_again(
    store: PostgresStore, database: Database
) -> None:
    store.write(lambda rows: rows.add_memory(memory(1, title="Hidden zebra")))
    was = store.write(lambda rows: rows.forget_memory(1, forgotten_at=NOW))
    assert was is not None
    assert was.title == "Hidden zebra"
    assert _found(store, "zebra") == []

    with database.connect() as connection:
        assert (
            connection.execute(
                "SELECT 1 FROM goop.memories WHERE memories::text ILIKE '%zebra%' UNION ALL"
                " SELECT 1 FROM goop.memory_words WHERE tsv::text ILIKE '%zebra%'"
            ).fetchall()
            == []
        )

    assert store.write(lambda rows: rows.add_memory(replace(memory(1), uid="m-again"))).id == 2


def test_a_database_of_a_newer_program_is_refused(
    store: PostgresStore, open_store: OpenStore, database: Database
) -> None:
    store.write(lambda rows: rows.next_revision())
    with database.connect() as connection:
        connection.execute("INSERT INTO goop.versions (version) VALUES (99)")

    newest = load_migrations("postgres")[-1].version

    for opened in (store, open_store()):
        with pytest.raises(
            StoreVersionError, match=rf"version 99.*up to {newest}.*update goop-mcp"
        ):
            opened.read(lambda rows: rows.revision())

        with pytest.raises(StoreVersionError, match="version 99"):
            opened.write(lambda rows: rows.next_revision())


def test_the_next_version_is_reached_by_a_reader(
    store: PostgresStore, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = load_migrations("postgres")
    store.write(lambda rows: rows.add_memory(memory()))
    later = "ALTER TABLE goop.meta ADD COLUMN later bigint NOT NULL DEFAULT 0;"
    both = (*shipped, Migration(len(shipped) + 1, later))
    monkeypatch.setattr(schema, "_migrations", lambda: both)

    new = open_store()
    assert [each.id for each in new.read(lambda rows: rows.memories(MemoryFilter()))] == [1]
    assert new.check() == []

    monkeypatch.undo()
    with pytest.raises(StoreVersionError, match=f"version {len(both)}"):
        store.write(lambda rows: rows.next_revision())


def test_many_that_start_at_once_make_the_tables_once(open_store: OpenStore) -> None:
    stores = [open_store() for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        saved = list(
            pool.map(lambda pair: pair[1].write(partial(save, memory(pair[0]))), enumerate(stores))
        )

    assert sorted(one.id for one in saved) == list(range(1, 9))
    assert sorted(one.revision for one in saved) == list(range(1, 9))


def test_connections_keep_nothing_between_two_transactions(store: PostgresStore) -> None:
    """With PgBouncer, each transaction may run on another connection of the server."""
    store.write(lambda rows: rows.add_memory(memory()))
    for connection in store._connections._idle:
        settings = connection.execute(
            "SELECT current_user, coalesce(current_setting('app.tenant', true), ''),"
            " current_setting('lock_timeout'), (SELECT count(*) FROM pg_prepared_statements),"
            " (SELECT count(*) FROM pg_listening_channels()), (SELECT count(*) FROM pg_locks WHERE"
            " locktype = 'advisory')"
        ).fetchone()
        assert settings == ("plain_owner", "", "0", 0, 0, 0)


@pytest.mark.parametrize("project", [None, "", "a\0b"])
def test_a_project_id_is_needed(project: str | None) -> None:
    with pytest.raises(SettingsError, match="project id"):
        PostgresStore("postgresql://u@h/d", project_id=project)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:hunter2@h:port2/d",
        "postgresql://u:hunter2@[h/d",
        "postgresql://u:hunter2@h/d?wrong=hunter2",
        "mysql://u:hunter2@h/d",
        "host=h password=hunter2",
        "postgresql://u:x@hunter2@h/d",
        "postgresql://u:1/hunter2@h/d",
        "postgresql://u:hunter2/x@h/d",
    ],
)
def test_an_unreadable_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(SettingsError, match="postgresql://user:password@host:port/name") as caught:
        PostgresStore(url, project_id="p")
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:hunter2@db.example:5433/d", "postgresql://u@db.example:5433/d"),
        (
            "postgres://u@h1:1,h2:2/d?password=hunter2&target_session_attrs=any",
            "postgresql://u@h1:1,h2:2/d",
        ),
        ("postgresql://u:hunter2@/d?host=/run/pg", "postgresql://u@/d"),
    ],
)
def test_the_location_is_shown_without_password(url: str, shown: str) -> None:
    store = PostgresStore(url, project_id="p")
    assert store.location == shown
    assert "hunter2" not in repr(store) + repr(store._address)


def test_the_driver_is_not_loaded_for_another_database(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, goop_mcp; from goop_mcp.store.opening import open_store; store ="
        " open_store(None, project=pathlib.Path('.')); store.write(lambda rows:"
        " rows.next_revision()); store.close(); sys.exit('psycopg' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", program], check=False, cwd=tmp_path).returncode == 0
    )


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in sys.modules if name.startswith("goop_mcp.store.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SettingsError, match=r"install goop-mcp\[postgres\]"):
        opening.open_store("postgresql://u:hunter2@h/d", project=tmp_path, project_id="p")


def test_a_damaged_count_is_reported(store: PostgresStore, database: Database) -> None:
    store.write(lambda rows: rows.add_memory(memory()))
    with database.connect() as connection:
        connection.execute("UPDATE goop.meta SET memory_id = 0")
        connection.execute("ALTER TABLE goop.events NO FORCE ROW LEVEL SECURITY")

    found = store.check()
    assert len(found) == 2
    assert "goop.events" in found[0]
    assert "memories of the project" in found[1]


def test_a_statement_outside_of_the_program_cannot_break_the_row_of_a_project(
    database: Database, store: PostgresStore
) -> None:
    store.write(lambda rows: rows.add_memory(memory()))
    with database.connect() as connection, pytest.raises(psycopg.errors.CheckViolation):
        connection.execute("UPDATE goop.memories SET importance = 3")


def test_a_child_process_leaves_the_connections_of_its_parent_alone(database: Database) -> None:
    program = """
import os, sys
from goop_mcp.store.postgres import PostgresStore, schema
store = PostgresStore(sys.argv[1], project_id="shop")
parent = store.write(lambda rows: rows.next_revision())
child = os.fork()
if child == 0:
    os._exit(store.write(lambda rows: rows.next_revision()))
_, status = os.waitpid(child, 0)
print(parent, os.waitstatus_to_exitcode(status), store.write(lambda rows: rows.next_revision()))
"""
    command = [sys.executable, "-c", program, database.url()]
    result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert (result.stdout, result.stderr) == ("1 2 3\n", "")

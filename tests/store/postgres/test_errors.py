import threading
from collections.abc import Callable
from functools import partial

import psycopg
import pytest

from goop_mcp.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.postgres import PostgresStore
from goop_mcp.store.postgres.errors import translated
from goop_mcp.store.records import MemoryFilter
from tests.postgres import Database, Server
from tests.store.postgres.conftest import OpenStore
from tests.store.postgres.samples import event, memory, save

ALL = MemoryFilter()
END_ALL = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND usename = 'plain_owner'"
)


def _end_connections(database: Database) -> None:
    with database.connect() as connection:
        assert connection.execute(END_ALL).fetchall()


@pytest.mark.parametrize(
    "call", [PostgresStore.exists, PostgresStore.check, lambda store: store.read(lambda _: 1)]
)
def test_a_server_that_is_not_there_is_a_retryable_error(
    call: Callable[[PostgresStore], object],
) -> None:
    store = PostgresStore("postgresql://u:hunter2@127.0.0.1:1/d", project_id="p")
    with pytest.raises(
        StoreUnavailableError, match=r"postgresql://u@127.0.0.1:1/d cannot be reached"
    ) as caught:
        call(store)

    assert caught.value.retryable
    assert caught.value.retry_after
    assert "hunter2" not in str(caught.value) + repr(caught.value) + str(caught.value.__cause__)


def test_a_wrong_password_is_no_reason_to_try_again(
    postgres_server: Server, database: Database
) -> None:
    with database.connect() as connection:
        connection.execute("CREATE ROLE needs_password LOGIN PASSWORD 'correct'")

    postgres_server.ask_for_password("needs_password")
    for password in ("", "hunter2"):
        store = PostgresStore(database.url("needs_password", password), project_id="p")
        with pytest.raises(StoreError, match="refuses the user or its password") as caught:
            store.read(lambda rows: rows.revision())

        assert not caught.value.retryable
        assert "hunter2" not in str(caught.value) + str(caught.value.__cause__)


def test_a_database_that_does_not_exist_is_reported(database: Database) -> None:
    missing = Database("missing", database.socket)
    with pytest.raises(StoreError, match="missing does not exist; create the database first"):
        PostgresStore(missing.url(), project_id="p").exists()


def test_an_error_for_missing_rights_names_the_role_that_is_needed(
    open_store: OpenStore, database: Database
) -> None:
    with database.connect() as connection:
        connection.execute("CREATE ROLE stranger LOGIN")

    with pytest.raises(StoreReadOnlyError, match="goop_app"):
        open_store(user="stranger").write(lambda rows: rows.next_revision())


def test_a_database_that_may_only_be_read_is_read(
    open_store: OpenStore, database: Database
) -> None:
    open_store().write(lambda rows: rows.add_memory(memory(1)))
    with database.connect() as connection:
        connection.execute(f"ALTER DATABASE {database.name} SET default_transaction_read_only = on")

    store = open_store()

    with pytest.raises(
        StoreReadOnlyError, match="is read-only, as a standby is; use the primary server"
    ):
        store.write(lambda rows: rows.next_revision())

    assert len(store.read(lambda rows: rows.memories(ALL))) == 1


def test_a_busy_error_of_a_change_itself_is_passed_on_as_it_is(store: PostgresStore) -> None:
    own = StoreBusyError("something else is busy")

    def fail(_: WriteTransaction) -> None:
        raise own

    with pytest.raises(StoreBusyError) as caught:
        store.write(fail)

    assert caught.value is own


def test_connections_that_died_unused_are_replaced_unnoticed(
    store: PostgresStore, database: Database
) -> None:
    store.write(lambda rows: rows.add_memory(memory(1)))
    _end_connections(database)
    assert store.write(lambda rows: rows.add_memory(memory(2))).id == 2
    _end_connections(database)
    assert len(store.read(lambda rows: rows.memories(ALL))) == 2


def test_a_connection_that_dies_within_a_change_loses_the_change_and_nothing_else(
    store: PostgresStore, database: Database
) -> None:
    def cut(rows: WriteTransaction) -> None:
        rows.add_memory(memory(1))
        _end_connections(database)
        rows.add_event(event())

    with pytest.raises(
        StoreUnavailableError, match="was lost; nothing was done, call again"
    ) as caught:
        store.write(cut)

    assert caught.value.retryable
    assert store.read(lambda rows: (rows.revision(), rows.memories(ALL))) == (0, [])
    assert store.write(lambda rows: rows.add_memory(memory(1))).revision == 1


def test_a_connection_that_dies_as_its_change_ends_loses_the_change(
    store: PostgresStore, database: Database
) -> None:
    def cut(rows: WriteTransaction) -> None:
        rows.add_memory(memory(1))
        _end_connections(database)

    with pytest.raises(
        StoreUnavailableError, match="was lost; nothing was done, call again"
    ) as caught:
        store.write(cut)

    assert caught.value.retryable
    assert store.read(lambda rows: rows.memories(ALL)) == []
    for _ in range(2):
        assert store.write(partial(save, memory(1))).id == 1


def test_the_change_stands_when_only_the_turn_was_lost(
    store: PostgresStore, database: Database
) -> None:
    store.write(lambda rows: rows.add_memory(memory(1)), then=lambda _: _end_connections(database))
    assert store.write(lambda rows: rows.add_memory(memory(2))).revision == 2


def test_a_writer_that_stands_still_is_named_after_the_wait(open_store: OpenStore) -> None:
    holding, waiting = open_store(), open_store()
    held, done = threading.Event(), threading.Event()

    def hold(rows: WriteTransaction) -> None:
        rows.add_event(event())
        held.set()
        assert done.wait(60)

    thread = threading.Thread(target=holding.write, args=(hold,))
    thread.start()

    try:
        assert held.wait(60)
        with pytest.raises(
            StoreBusyError,
            match=r"turn is held by goop-mcp \d+@\S+ \(server process \d+, from the same",
        ) as caught:
            waiting.write(lambda rows: rows.next_revision(), timeout=0.2)

        assert caught.value.retryable
        with pytest.raises(StoreBusyError, match="other threads of this process"):
            holding.write(lambda rows: rows.next_revision(), timeout=0.1)

        assert waiting.read(lambda rows: rows.revision()) == holding.read(
            lambda rows: rows.revision()
        )
        # Another project does not wait.
        assert open_store("another").write(lambda rows: rows.next_revision(), timeout=30) >= 1
    finally:
        done.set()
        thread.join(60)

    assert waiting.read(lambda rows: len(rows.events())) == 1


def test_a_writer_that_stands_still_for_too_long_is_cut_off_and_others_go_on(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goop_mcp.store.postgres.transaction_start._LONGEST_STANDSTILL", "1s")
    holding, waiting = open_store(), open_store()

    def hold(rows: WriteTransaction) -> None:
        rows.add_event(event(1))
        assert waiting.write(lambda others: others.add_event(event(2)), timeout=60).revision == 1
        rows.add_event(event(3))

    with pytest.raises(StoreUnavailableError, match="nothing was done") as caught:
        holding.write(hold)

    assert caught.value.retryable
    assert [one.text for one in holding.read(lambda rows: rows.events())] == ["Something 2"]


@pytest.mark.parametrize(
    ("state", "kind", "retryable"),
    [
        ("53100", StoreFullError, False),
        ("53200", StoreUnavailableError, True),
        ("53300", StoreUnavailableError, True),
        ("25006", StoreReadOnlyError, False),
        ("42501", StoreReadOnlyError, False),
        ("40001", StoreBusyError, True),
        ("40P01", StoreBusyError, True),
        ("55P03", StoreBusyError, True),
        ("57014", StoreBusyError, True),
        ("57P01", StoreUnavailableError, True),
        ("57P02", StoreUnavailableError, True),
        ("57P03", StoreUnavailableError, True),
        ("08006", StoreUnavailableError, True),
        ("25P03", StoreUnavailableError, True),
        ("42P01", StoreCorruptError, False),
        ("XX001", StoreCorruptError, False),
        ("0A000", StoreError, False),
    ],
)
def test_what_the_server_raises_becomes_an_error_of_ours(
    database: Database, state: str, kind: type[StoreError], *, retryable: bool
) -> None:
    with database.connect() as connection, pytest.raises(psycopg.Error) as raised:
        connection.execute(
            f"DO $$ BEGIN RAISE EXCEPTION 'hunter2' USING ERRCODE = '{state}'; END $$"
        )

    error = translated(raised.value, "postgresql://u@h/d")
    assert type(error) is kind
    assert error.retryable is retryable
    assert "postgresql://u@h/d" in str(error)
    assert "hunter2" not in str(error)

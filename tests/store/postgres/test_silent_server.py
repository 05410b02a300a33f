"""A server that keeps its sockets open and does not answer, and a server that was replaced."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from goop_mcp.errors import StoreError, StoreUnavailableError
from goop_mcp.memory.repository import forget_memory
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.postgres import PostgresStore
from goop_mcp.store.records import MemoryFilter
from tests.postgres import Database
from tests.reliability.stdio_server import serve, text_of
from tests.store.postgres.conftest import OpenStore
from tests.store.postgres.relay import Relay
from tests.store.rows import add_named, new_memory

PATIENCE = 1.0
SHORT = 3.0
BOUND = 45.0
"""Seconds in which a call must end, with all its waits; without a deadline it never did."""


@pytest.fixture
def store(relay: Relay) -> Iterator[PostgresStore]:
    opened = PostgresStore(relay.url, project_id="shop", answer_within=PATIENCE)
    yield opened
    opened.close()


def uids(store: PostgresStore) -> set[str]:
    return {memory.uid for memory in store.read(lambda reading: reading.memories(MemoryFilter()))}


def in_time(call: Callable[[], object]) -> BaseException | None:
    """Return what a call raises, None for nothing; it must end."""
    raised: list[BaseException | None] = []

    def run() -> None:
        try:
            call()
        except Exception as error:
            raised.append(error)
        else:
            raised.append(None)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(BOUND)
    assert raised, "the call hangs"

    return raised[0]


def test_a_call_to_a_silent_server_ends_and_says_so(store: PostgresStore, relay: Relay) -> None:
    add_named(store, "before")
    relay.silence()

    first = in_time(lambda: uids(store))
    second = in_time(lambda: store.write(lambda writing: writing.next_revision(), timeout=1))

    for error in (first, second):
        assert isinstance(error, StoreUnavailableError)
        assert "127.0.0.1" in str(error)

    assert "keeps the connection and does not answer; nothing was done" in str(first)
    relay.pass_on()
    add_named(store, "after")
    assert uids(store) == {"uid-before", "uid-after"}


def test_a_server_that_falls_silent_within_a_change_leaves_its_outcome_open(
    store: PostgresStore, relay: Relay
) -> None:
    add_named(store, "before")

    def change(writing: WriteTransaction) -> None:
        writing.next_revision()
        relay.silence()

    error = in_time(lambda: store.write(change, timeout=1))

    assert isinstance(error, StoreUnavailableError)
    assert error.retryable
    assert "nobody knows whether it was; repeat the same call with the same" in str(error)
    relay.pass_on()
    add_named(store, "after")


def test_a_wait_for_other_writers_is_no_silence(
    store: PostgresStore, open_store: OpenStore
) -> None:
    add_named(store, "before")
    begun = threading.Event()

    def slow(writing: WriteTransaction) -> None:
        writing.next_revision()
        begun.set()
        time.sleep(PATIENCE * 2)

    other = open_store()
    writer = threading.Thread(target=lambda: other.write(slow))
    writer.start()
    begun.wait(BOUND)
    assert in_time(lambda: add_named(store, "after")) is None
    writer.join()


@pytest.fixture
def usual(relay: Relay) -> Iterator[PostgresStore]:
    """Return a store with the limits of a user."""
    opened = PostgresStore(relay.url, project_id="shop")
    yield opened
    opened.close()


@pytest.mark.parametrize("moment", ["FROM pg_class", "BEGIN ISOLATION", "INSERT INTO goop.mem"])
def test_a_save_ends_soon_wherever_the_server_falls_silent(
    usual: PostgresStore, relay: Relay, moment: str
) -> None:
    if moment.startswith(("BEGIN", "INSERT")):
        add_named(usual, "before")
    relay.silence_at(moment.encode())

    error = ended_soon(lambda: usual.write(named("lost"), timeout=SHORT))

    assert isinstance(error, StoreUnavailableError)
    assert "does not answer; nothing was done, call again" in str(error)
    assert usable_again(usual, relay) <= {"uid-before", "uid-after"}


def test_a_save_whose_commit_is_not_answered_ends_soon_and_does_not_say_that_nothing_was_done(
    usual: PostgresStore, relay: Relay
) -> None:
    add_named(usual, "before")
    relay.silence_at(b"; COMMIT")

    error = ended_soon(lambda: usual.write(named("doubtful"), timeout=SHORT))

    assert isinstance(error, StoreUnavailableError)
    assert "nobody knows whether it was; repeat the same call" in str(error)
    assert "uid-after" in usable_again(usual, relay)


def test_a_server_that_falls_silent_in_a_statement_that_may_take_long_is_found_out(
    store: PostgresStore, relay: Relay
) -> None:
    relay.silence_at(b"CREATE TABLE")
    error = ended_soon(lambda: store.write(named("lost"), timeout=SHORT))
    assert isinstance(error, StoreUnavailableError)
    assert usable_again(store, relay) == {"uid-after"}

    # What is stored is acknowledged, although the text of it is still in the table.
    relay.silence_at(b"VACUUM")
    assert ended_soon(lambda: forget_memory(store, 1, timeout=SHORT)) is None
    works_again(relay)
    assert uids(store) == set()


def test_silent_connections_of_a_pool_cost_one_call(usual: PostgresStore, relay: Relay) -> None:
    add_named(usual, "before")
    together = threading.Barrier(4)
    with ThreadPoolExecutor(4) as threads:
        for _ in range(4):
            threads.submit(lambda: usual.read(lambda _: together.wait(BOUND)))
    relay.silence_the_open()

    error = ended_soon(lambda: usual.write(named("lost"), timeout=SHORT))

    assert isinstance(error, StoreUnavailableError)
    for _ in range(4):
        assert uids(usual) == {"uid-before"}


def test_a_save_of_an_agent_ends_with_an_error_to_which_it_can_react(
    database: Database, tmp_path: Path
) -> None:
    def save(moment: bytes) -> str:
        folder = tmp_path / moment.hex()
        folder.mkdir()
        with (
            Relay(database) as relay,
            serve(folder, GOOP_DATABASE_URL=relay.url, GOOP_PROJECT_ID=moment.hex()) as server,
        ):
            server.call("save_memory", title="before", content="A save that works.")
            relay.silence_at(moment)
            started = time.monotonic()
            answer = server.call("save_memory", title="lost", content="One that does not.")
            assert time.monotonic() - started < BOUND
            # At its end the server would wait for what it was asked in vain.
            server.kill()
            assert answer["isError"]
            return text_of(answer)

    with ThreadPoolExecutor(2) as threads:
        begin, commit = threads.map(save, [b"BEGIN ISOLATION", b"; COMMIT"])

    assert "does not answer; nothing was done, call again" in begin
    assert "nobody knows whether it was; repeat the same call" in commit


def named(name: str) -> Callable[[WriteTransaction], object]:
    return lambda writing: writing.add_memory(new_memory(name))


def ended_soon(call: Callable[[], object]) -> BaseException | None:
    """Return what a call of SHORT seconds raises; it takes much less than an answer may."""
    started = time.monotonic()
    error = in_time(call)
    assert time.monotonic() - started < BOUND / 2
    return error


def usable_again(store: PostgresStore, relay: Relay) -> set[str]:
    """Return the memories after one more was saved through a relay that works."""
    works_again(relay)
    add_named(store, "after")
    return uids(store)


def works_again(relay: Relay) -> None:
    relay.cut(lambda _: None)
    relay.pass_on()


@pytest.fixture
def role_is_gone(
    open_store: OpenStore, database: Database
) -> Iterator[tuple[PostgresStore, Callable[[], None]]]:
    """Return a store that acts as goop_app, where that role is gone, and what brings it back."""
    store = open_store(user="postgres")
    add_named(store, "before")

    def bring_back() -> None:
        with database.connect() as admin:
            if not admin.execute("SELECT FROM pg_roles WHERE rolname = 'goop_app'").fetchall():
                admin.execute("ALTER ROLE goop_app_elsewhere RENAME TO goop_app")

    with database.connect() as admin:
        admin.execute("ALTER ROLE goop_app RENAME TO goop_app_elsewhere")

    try:
        yield store, bring_back
    finally:
        bring_back()


def test_a_server_without_our_role_is_named_as_the_cause_and_used_again_with_it(
    role_is_gone: tuple[PostgresStore, Callable[[], None]],
) -> None:
    store, bring_back = role_is_gone

    for call in (lambda: uids(store), lambda: add_named(store, "refused")):
        with pytest.raises(
            StoreError, match=r"no longer has the role goop_app.*another server may answer"
        ):
            call()

    bring_back()

    add_named(store, "after")
    assert uids(store) == {"uid-before", "uid-after"}

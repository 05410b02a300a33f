"""A server that keeps its sockets open and does not answer, and a server that was replaced."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from goop_mcp.errors import StoreError, StoreUnavailableError
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.postgres import PostgresStore
from goop_mcp.store.records import MemoryFilter
from tests.postgres import Database
from tests.store.postgres.conftest import OpenStore
from tests.store.postgres.relay import Relay
from tests.store.rows import add_named

PATIENCE = 1.0
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

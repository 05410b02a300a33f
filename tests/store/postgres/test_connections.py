"""The limits of the pool: few connections, served in the order of requests, waits that end."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from psycopg.sql import SQL, Composed

from goop_mcp.errors import StoreBusyError, StoreError, StoreUnavailableError
from goop_mcp.store.postgres.address import parse_address
from goop_mcp.store.postgres.connections import Connections
from goop_mcp.store.postgres.fifo_semaphore import FifoSemaphore
from tests.postgres import Database

PLACES = 5
LIMIT = 60.0
"""Seconds after which a test has failed; nothing waits that long."""


def soon(seconds: float) -> float:
    return time.monotonic() + seconds


def begin() -> Composed:
    return Composed([SQL("BEGIN; SELECT 1")])


@pytest.fixture
def connections(database: Database) -> Iterator[Connections]:
    opened = Connections(parse_address(database.url()))
    yield opened
    opened.close()


def test_a_request_that_finds_all_connections_in_use_ends_in_time(
    connections: Connections, database: Database
) -> None:
    with ExitStack() as held:
        for _ in range(PLACES):
            held.enter_context(connections.transaction(begin, until=soon(LIMIT)))

        started = time.monotonic()
        with (
            pytest.raises(StoreBusyError, match=r"all connections of this process .* are in use"),
            connections.transaction(begin, until=soon(0.2)),
        ):
            pass
        assert 0.2 <= time.monotonic() - started < LIMIT / 2

        with database.connect() as admin:
            count = admin.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'goop-mcp %'"
                " AND datname = current_database()"
            ).fetchone()
        assert count == (PLACES,)

    with connections.transaction(begin, until=soon(0)) as transaction:
        assert transaction.first == (1,)


def test_waiting_threads_get_the_connections_in_the_order_of_their_requests(
    connections: Connections,
) -> None:
    order: list[int] = []

    def take(number: int) -> None:
        with connections.transaction(begin, until=soon(LIMIT)):
            order.append(number)

    with ThreadPoolExecutor(8) as threads, ExitStack() as held:
        first = held.enter_context(ExitStack())
        first.enter_context(connections.transaction(begin, until=soon(LIMIT)))
        for _ in range(PLACES - 1):
            held.enter_context(connections.transaction(begin, until=soon(LIMIT)))

        for number in range(8):
            threads.submit(take, number)
            until_waiting(connections._places, number + 1)

        # Only this connection comes back, so each of the eight uses it after the one before.
        first.close()
        deadline = time.monotonic() + LIMIT
        while len(order) < 8 and time.monotonic() < deadline:
            time.sleep(0.01)

    assert order == list(range(8))


def test_a_server_that_is_away_is_reported_at_once_and_not_after_the_wait_for_a_connection() -> (
    None
):
    connections = Connections(parse_address("postgresql://u@127.0.0.1:1/d"))
    started = time.monotonic()
    with (
        pytest.raises(StoreUnavailableError, match="cannot be reached"),
        connections.transaction(begin, until=soon(LIMIT)),
    ):
        pass
    assert time.monotonic() - started < LIMIT / 2


def test_an_idle_pool_has_no_threads_of_its_own(connections: Connections) -> None:
    before = threading.active_count()
    with connections.transaction(begin, until=soon(LIMIT)):
        pass
    assert threading.active_count() == before


def test_a_closed_pool_lends_nothing_and_closes_what_comes_back(connections: Connections) -> None:
    with connections.transaction(begin, until=soon(LIMIT)) as transaction:
        connections.close()
        is_closed_within = transaction.connection.closed

    assert (is_closed_within, transaction.connection.closed) == (False, True)
    with (
        pytest.raises(StoreError, match="has been closed; open it again"),
        connections.transaction(begin, until=soon(LIMIT)),
    ):
        pass


def until_waiting(semaphore: FifoSemaphore, count: int) -> None:
    deadline = time.monotonic() + LIMIT
    while len(semaphore._waiting) < count:
        assert time.monotonic() < deadline, "no thread waits"
        time.sleep(0.001)


def test_a_waiter_that_gives_up_takes_no_place_with_it() -> None:
    semaphore = FifoSemaphore()
    with semaphore.taken(0) as got, semaphore.taken(0.01) as late:
        assert got
        assert not late

    # Timeouts and releases at the same moment: a place handed to a thread that gives up is lost
    # unless the thread takes it after all.
    taken = [0]

    def compete(_: int) -> None:
        for _ in range(200):
            with semaphore.taken(0.0005) as got:
                if got:
                    taken[0] += 1
                    time.sleep(0.0005)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(compete, range(4)))

    assert taken[0]
    with semaphore.taken(0) as got:
        assert got

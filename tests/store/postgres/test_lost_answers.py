"""The connection breaks while a change is committed: the caller learns whether it was."""

import threading
import time
from collections.abc import Iterator

import pytest

from goop_mcp.errors import StoreUnavailableError
from goop_mcp.store.postgres import PostgresStore
from goop_mcp.store.records import MemoryFilter
from tests.postgres import Server
from tests.store.postgres.relay import CutOff, Relay
from tests.store.rows import add_named


@pytest.fixture
def store(relay: Relay) -> Iterator[PostgresStore]:
    opened = PostgresStore(relay.url, project_id="shop")
    yield opened
    opened.close()


class Once:
    """Chooses the first message in which a change is committed."""

    def __init__(self, cut_off: CutOff) -> None:
        self._cut_off: CutOff | None = cut_off

    def __call__(self, message: bytes) -> CutOff | None:
        if b"; COMMIT" not in message:
            return None
        chosen, self._cut_off = self._cut_off, None
        return chosen


def uids(store: PostgresStore) -> set[str]:
    return {memory.uid for memory in store.read(lambda reading: reading.memories(MemoryFilter()))}


def test_a_change_whose_answer_was_lost_has_been_made(store: PostgresStore, relay: Relay) -> None:
    add_named(store, "before")
    relay.cut(Once("answer"))

    add_named(store, "lost")
    assert uids(store) == {"uid-before", "uid-lost"}


def test_what_follows_a_change_whose_answer_was_lost_is_done(
    store: PostgresStore, relay: Relay
) -> None:
    add_named(store, "before")
    relay.cut(Once("answer"))
    followed: list[int] = []

    store.write(lambda writing: writing.next_revision(), then=followed.append)
    assert len(followed) == 1


def test_a_change_that_did_not_arrive_was_not_made(store: PostgresStore, relay: Relay) -> None:
    add_named(store, "before")
    relay.cut(Once("message"))

    with pytest.raises(StoreUnavailableError, match="nothing was done, call again"):
        add_named(store, "lost")
    add_named(store, "after")
    assert uids(store) == {"uid-before", "uid-after"}


def test_nobody_knows_whether_a_change_was_on_disk_before_a_crash() -> None:
    with Server(durable=True) as server, server.database() as database:
        store = PostgresStore(database.url(), project_id="shop")
        with Relay(database) as relay:
            relayed = PostgresStore(relay.url, project_id="shop")
            add_named(relayed, "before")

            def restart() -> None:
                until = time.monotonic() + 20
                while "uid-lost" not in uids(store) and time.monotonic() < until:
                    time.sleep(0.01)
                server.kill()
                server.start_again()
                relay.pass_on()

            def hold_back_the_answer(message: bytes) -> CutOff | None:
                if b"; COMMIT" not in message:
                    return None
                relay.silence()
                restarting.start()
                return "answer"

            restarting = threading.Thread(target=restart)
            relay.cut(hold_back_the_answer)
            with pytest.raises(StoreUnavailableError, match="nobody knows whether it was"):
                add_named(relayed, "lost")
            restarting.join()
            relayed.close()
        assert uids(store) == {"uid-before", "uid-lost"}
        store.close()


def test_what_a_server_that_crashed_says_of_a_number_is_not_believed() -> None:
    """A change that was not on disk is gone, and the next one of anybody has its number."""
    with Server(durable=True) as server, server.database() as database:
        other = PostgresStore(database.url(), project_id="other")
        add_named(other, "other-before")
        with Relay(database) as relay:
            store = PostgresStore(relay.url, project_id="shop")
            add_named(store, "before")

            def crash(message: bytes) -> CutOff | None:
                if b"; COMMIT" not in message:
                    return None
                # Nobody is asked before the number is used again.
                relay.silence()
                server.kill()
                server.start_again()
                add_named(other, "other-after")
                relay.pass_on()
                return "message"

            relay.cut(crash)
            with pytest.raises(StoreUnavailableError, match="nobody knows whether it was"):
                add_named(store, "lost")
            relay.cut(Once("answer"))
            add_named(store, "later")
            assert uids(store) == {"uid-before", "uid-later"}
            store.close()
        other.close()


def test_a_change_that_was_lost_in_a_crash_was_not_made() -> None:
    """The server has not used its number again, so that this is known at once."""
    with (
        Server(durable=True) as server,
        server.database() as database,
        Relay(database) as relay,
    ):
        store = PostgresStore(relay.url, project_id="shop")
        add_named(store, "before")

        def crash(message: bytes) -> CutOff | None:
            if b"; COMMIT" not in message:
                return None
            relay.cut(lambda _: None)
            server.kill()
            server.start_again()
            return "message"

        relay.cut(crash)
        began = time.monotonic()
        with pytest.raises(StoreUnavailableError, match="nothing was done, call again"):
            add_named(store, "lost")
        # Others of this process wait for their turn to write meanwhile.
        assert time.monotonic() - began < 20
        add_named(store, "after")
        assert uids(store) == {"uid-before", "uid-after"}
        store.close()


def test_another_server_at_the_same_address_is_not_asked() -> None:
    with (
        Server() as server,
        server.database() as database,
        Server() as copy,
        copy.database() as copied,
    ):
        store = PostgresStore(copied.url(), project_id="shop")
        store.write(lambda writing: writing.next_revision())
        store.close()
        with Relay(database) as relay:
            store = PostgresStore(relay.url, project_id="shop")
            add_named(store, "before")
            # So many that the number of the change is that of one of them.
            with copied.connect() as there:
                for _ in range(200):
                    there.execute("SELECT pg_current_xact_id()")

            def switch(message: bytes) -> CutOff | None:
                if b"; COMMIT" not in message:
                    return None
                relay.lead_to(copied)
                return "message"

            relay.cut(switch)
            with pytest.raises(StoreUnavailableError, match="nobody knows whether it was"):
                add_named(store, "lost")
            store.close()


def test_a_server_that_took_over_is_not_asked_about_changes_of_the_one_before() -> None:
    """It may not have that change, and may have used its number for another one."""
    with Server(durable=True) as server, server.database() as database:
        store = PostgresStore(database.url(), project_id="shop")
        with Relay(database) as relay:
            relayed = PostgresStore(relay.url, project_id="shop")
            add_named(relayed, "before")

            def fail_over(message: bytes) -> CutOff | None:
                if b"; COMMIT" not in message:
                    return None
                server.kill()
                server.promote()
                return "message"

            relay.cut(fail_over)
            with pytest.raises(StoreUnavailableError, match="nobody knows whether it was"):
                add_named(relayed, "lost")
            relay.cut(lambda _: None)
            add_named(relayed, "after")
            relay.cut(Once("answer"))
            add_named(relayed, "later")
            relayed.close()
        assert uids(store) == {"uid-before", "uid-after", "uid-later"}
        store.close()

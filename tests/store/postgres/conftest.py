"""Stores of several projects and users in one PostgreSQL database."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from goop_mcp.store.postgres import PostgresStore
from tests.postgres import Database
from tests.store.postgres.relay import Relay

OpenStore = Callable[..., PostgresStore]


@pytest.fixture
def open_store(database: Database) -> Iterator[OpenStore]:
    """Return a function that opens the store of a project, by default as the plain owner."""
    with ExitStack() as opened:

        def open_one(
            project: str = "shop", *, tenant: str = "default", user: str = "plain_owner"
        ) -> PostgresStore:
            store = PostgresStore(database.url(user), project_id=project, tenant=tenant)
            opened.callback(store.close)
            return store

        yield open_one


@pytest.fixture
def store(open_store: OpenStore) -> PostgresStore:
    """Return the store of a project without rows."""
    return open_store()


@pytest.fixture
def relay(database: Database) -> Iterator[Relay]:
    """Return a relay to the database."""
    with Relay(database) as relay:
        yield relay

"""Fixtures that run every contract test on the stores of all engines."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from tests.postgres import Database

OpenStore = Callable[[], Store]


@pytest.fixture(params=["sqlite", "postgres"])
def open_again(request: pytest.FixtureRequest) -> Iterator[OpenStore]:
    """Return a function that opens the same database again, as another process would."""
    opened: list[Store] = []
    place: Callable[[], Store] = request.getfixturevalue(f"{request.param}_place")

    def open_one() -> Store:
        opened.append(place())
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_again: OpenStore) -> Store:
    """Return the store of an empty project."""
    return open_again()


@pytest.fixture
def sqlite_place(tmp_path: Path) -> OpenStore:
    return lambda: open_store(None, project=tmp_path)


@pytest.fixture
def postgres_place(database: Database, tmp_path: Path) -> OpenStore:
    return lambda: open_store(database.url(), project=tmp_path, project_id="shop")

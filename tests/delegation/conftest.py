"""Tests of delegation runs, each on the stores of both engines."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from tests.delegation.runners import Place

_MARKER = "delegation"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the long tests, unless the marker is asked for."""
    if _MARKER in str(config.getoption("markexpr")):
        return

    long = [item for item in items if item.get_closest_marker(_MARKER) is not None]
    items[:] = [item for item in items if item not in long]
    config.hook.pytest_deselected(items=long)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.delegation)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Return where runs are stored; on PostgreSQL the long way, with `make delegation`."""
    yield from _place(request, tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
def any_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Return where runs are stored, on both engines each time."""
    yield from _place(request, tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Return an empty store of the project in `tmp_path`, on both engines each time."""
    url = None
    if request.param == "postgres":
        url = request.getfixturevalue("database").url()

    store = open_store(url, project=tmp_path, project_id="shop" if url else None)
    yield store
    store.close()


def _place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Return where runs are stored, and runner processes of which none outlives the test."""
    url = None
    if request.param == "postgres":
        url = request.getfixturevalue("database").url()
    with Place(tmp_path, url) as place:
        yield place

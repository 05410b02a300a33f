"""A project's store on disk, opened anew for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from goop_mcp.store.interface import Store
from goop_mcp.store.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / ".goopspec" / "goop.db", name=".goopspec/goop.db")
    yield opened
    opened.close()

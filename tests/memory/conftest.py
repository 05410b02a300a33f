"""A project's store on disk, opened again for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(None, project=tmp_path)
    yield opened
    opened.close()

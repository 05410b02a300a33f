from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workspace.true_projects import Project, make_project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """Return a project of its own for each test."""
    folder = tmp_path / "project"
    folder.mkdir()
    made = make_project(folder)
    yield made
    made.store.close()

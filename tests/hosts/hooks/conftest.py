from pathlib import Path

import pytest

from tests.hosts.hooks.hooks import Host


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Begin a session in an empty project."""
    project = tmp_path / "my project é"
    project.mkdir()
    return Host(project, tmp_path / "data")

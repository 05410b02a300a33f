from pathlib import Path

import pytest

from tests.hosts.hooks.hooks import Host
from tests.workspace.true_projects import write


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Begin a session in a project that holds what the good report claims, and nothing else.

    The person knows already that the recorded events name no transcript that exists, and that there
    is no repository.
    """
    project = tmp_path / "my project é"
    project.mkdir()
    write(project, "src/login.py")
    host = Host(project, tmp_path / "data")
    host.let_know("unread", "unverified")
    return host

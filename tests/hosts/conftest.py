from pathlib import Path

import pytest

from tests.hosts.machine import Machine, make_machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Create an empty machine."""
    return make_machine(tmp_path)

from pathlib import Path

import pytest

from tests.hosts.machine import Machine, make_machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Lay down a machine of its own."""
    return make_machine(tmp_path)

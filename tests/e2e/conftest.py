from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.clients import Sandbox, make_sandbox
from tests.e2e.scripted_model import ScriptedModel, scripted_model


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """Create a project and a home."""
    return make_sandbox(tmp_path / "a project é")


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """Run the model that follows the script."""
    with scripted_model() as server:
        yield server

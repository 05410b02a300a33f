from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.scenarios.connecting import stdio
from tests.scenarios.playing import STORIES, play


@requirement("G-48", "G-59", "G-60")
@pytest.mark.parametrize("story", STORIES)
async def test_project_goes_through_its_rounds_by_tools_alone(tmp_path: Path, story: str) -> None:
    await play(tmp_path, stdio("--project", str(tmp_path)), steps=STORIES[story])

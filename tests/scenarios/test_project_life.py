from pathlib import Path

from tests.requirements import requirement
from tests.scenarios.playing import play, stdio


@requirement("G-59", "G-60")
async def test_project_goes_through_two_rounds_by_tools_alone(tmp_path: Path) -> None:
    await play(tmp_path, stdio("--project", str(tmp_path)))

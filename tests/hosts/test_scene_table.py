"""The table of scenes in docs/frameworks.md shows what is tested; this test needs no framework."""

import ast
import re

from tests.frameworks.recipes import PAGE
from tests.frameworks.scenes import SCENES
from tests.repository import ROOT

REASONS = {"not supported", "not validated", "your own nodes"}


def _table() -> dict[tuple[str, str], str]:
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in re.findall(r"^\|.*\|$", PAGE, re.MULTILINE)
    ]
    start = next(number for number, cells in enumerate(lines) if cells[0] == "scenario")
    frameworks = lines[start][1:]
    rows = lines[start + 2 : start + 2 + len(SCENES)]
    return {
        (framework, row[0]): cell
        for row in rows
        for framework, cell in zip(frameworks, row[1:], strict=True)
    }


def _marked() -> set[tuple[str, str]]:
    found = set()
    for file in sorted((ROOT / "tests" / "frameworks").glob("test_*_scenes.py")):
        framework = file.stem.removeprefix("test_").removesuffix("_scenes").replace("_", "-")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "scene":
                [name] = node.args
                assert isinstance(name, ast.Constant)
                found.add((framework, str(name.value)))

    return found


def test_the_table_names_every_scene_of_every_framework() -> None:
    assert {scene for _, scene in _table()} == set(SCENES)
    assert len({framework for framework, _ in _table()}) == 7


def test_a_scene_is_tested_where_the_table_says_so_and_nowhere_else() -> None:
    table = _table()
    assert {place for place, cell in table.items() if cell == "tested"} == _marked()
    assert {cell for cell in table.values() if cell != "tested"} <= REASONS

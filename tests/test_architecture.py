"""What the architecture promises about names, layers and the text of the repository."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.repository import ROOT, project_files

PACKAGE = ROOT / "goop_mcp"
# Nouns that say nothing about what is inside.
NAMES_WITHOUT_MEANING = {
    "base",
    "common",
    "core",
    "helper",
    "helpers",
    "manager",
    "managers",
    "util",
    "utils",
}
LAYERS_1_TO_3 = {"evidence", "validation", "protocols", "workflow", "messages", "routing"}
PATH_OF_ONE_MACHINE = re.compile(r"(?<![\w.~/}\-])/(?:(?:work|root)/|(?:home|Users)/[A-Za-z])")
PACKAGE_REGISTRY = re.compile(
    r"pypi\.org|pythonhosted\.org|registry\.npmjs|index[-]url|find[-]links"
)
# Before Python 3.11.5 a group that is repeated possessively matches wrongly, or without end; one
# that is repeated within an atomic group does not, and means the same. A single character may be
# repeated possessively.
POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{[0-9,]+\})\+")
# Replies of agents are evidence, kept as they came.
CASES = ROOT / "tests" / "cases"


def _sources(folder: Path) -> list[Path]:
    return [
        path for path in project_files() if path.suffix == ".py" and path.is_relative_to(folder)
    ]


def _places(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT).as_posix()}:{number}: {line.strip()[:80]}"
        for path in project_files()
        if not path.is_relative_to(CASES)
        for number, line in enumerate(
            path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1
        )
        if pattern.search(line)
    ]


def test_every_import_follows_the_layers() -> None:
    command = (
        "from importlinter.cli import lint_imports_command; lint_imports_command(['--no-logo',"
        " '--no-cache'])"
    )
    result = subprocess.run(
        [sys.executable, "-c", command], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_contract_for_light_layers_names_each_of_them() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    named = next(
        contract["source_modules"] for contract in contracts if contract["id"] == "light-layers"
    )
    built = {
        f"goop_mcp.{name}" for name in LAYERS_1_TO_3 if (PACKAGE / name / "__init__.py").exists()
    }
    assert set(named) == built


def test_no_class_is_named_validation_error() -> None:
    classes = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in _sources(ROOT)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.name == "ValidationError"
    ]
    assert classes == []


def test_every_module_is_named_for_what_it_holds() -> None:
    modules = [path.relative_to(ROOT) for path in _sources(PACKAGE)]
    assert modules, "no sources found below goop_mcp"
    assert [str(path) for path in modules if NAMES_WITHOUT_MEANING & {*path.parts, path.stem}] == []


def test_no_file_holds_a_path_of_one_machine() -> None:
    assert _places(PATH_OF_ONE_MACHINE) == []


def test_no_file_names_a_package_registry() -> None:
    assert _places(PACKAGE_REGISTRY) == []


def test_no_pattern_repeats_a_group_possessively() -> None:
    found = [
        f"{path.relative_to(ROOT).as_posix()}:{node.lineno}"
        for path in _sources(PACKAGE)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and POSSESSIVE_GROUP.search(node.value)
    ]
    assert found == []

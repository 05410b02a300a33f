"""Every distribution that is imported is declared in pyproject.toml, with a lower bound."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.repository import ROOT, project_files

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOR_DEVELOPMENT = {"dev", "docs"}
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?(?P<bounds>.*)")
OURS = {"goop_mcp", "tests", "benchmarks"}
# Where a distribution is not called as its module and may be missing here.
NAMES = {"agents": "openai-agents", "pydantic_ai": "pydantic-ai-slim"}
# These have environments of their own, with versions of their own.
ELSEWHERE = (
    ROOT / "tests" / "frameworks",
    ROOT / "benchmarks" / "peers",
    ROOT / "benchmarks" / "engines",
)
# What the package may import without declaring it, with the reason.
UNDECLARED = {
    "_typeshed": "exists for type checkers only",
    "crewai": "cannot be installed next to mcp; docs/frameworks.md shows how to use it",
    "pytest": "is installed where it loads goop_mcp.testing.plugin",
}


def _requirements(*, development: bool) -> list[str]:
    extras = PROJECT["optional-dependencies"].items()
    wanted = [each for name, each in extras if development or name not in FOR_DEVELOPMENT]
    return [*PROJECT["dependencies"], *(each for extra in wanted for each in extra)]


def _name(requirement: str) -> str:
    found = REQUIREMENT.fullmatch(requirement)
    assert found is not None, requirement
    return re.sub(r"[-_.]+", "-", found["name"]).lower()


def _imported(path: Path) -> set[str]:
    """Return the first parts of the names of modules that a file imports, by any statement."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                modules.update(each.name for each in names)
            case ast.ImportFrom(module=str(module), level=0):
                modules.add(module)
            case ast.Call(
                func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(module))],
            ):
                modules.add(module)
            case _:
                pass

    return {module.partition(".")[0] for module in modules}


def _undeclared(paths: list[Path], declared: set[str]) -> dict[str, str]:
    """Return each module of another distribution that is not declared, with a file using it."""
    installed = packages_distributions()
    found: dict[str, str] = {}
    for path in paths:
        for module in _imported(path) - set(sys.stdlib_module_names) - OURS:
            named = installed.get(module) or [NAMES.get(module, module)]
            if not {_name(each) for each in named} & declared:
                found[module] = path.relative_to(ROOT).as_posix()

    return found


def test_what_the_package_imports_is_declared_for_its_users() -> None:
    paths = [path for path in project_files() if path.suffix == ".py"]
    package = [path for path in paths if path.is_relative_to(ROOT / "goop_mcp")]
    assert len(package) > 100

    found = _undeclared(package, {_name(each) for each in _requirements(development=False)})
    # Equal, so that a reason goes when its import does.
    assert found.keys() == UNDECLARED.keys(), found


@pytest.mark.parametrize("folder", ["tests", "benchmarks"])
def test_what_tests_and_benchmarks_import_is_declared_for_development(folder: str) -> None:
    paths = [
        path
        for path in project_files()
        if path.suffix == ".py"
        and path.is_relative_to(ROOT / folder)
        and not any(path.is_relative_to(other) for other in ELSEWHERE)
    ]
    assert paths
    assert _undeclared(paths, {_name(each) for each in _requirements(development=True)}) == {}


def test_every_requirement_has_a_lower_bound() -> None:
    own = re.compile(rf"{PROJECT['name']}\[\w+\]")
    requirements = [each for each in _requirements(development=True) if not own.fullmatch(each)]
    assert [each for each in requirements if ">=" not in each] == []


def test_an_import_that_is_not_declared_is_found(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "import json, markupsafe.sub\nfrom yaml import load\nfrom . import near\n"
        "def f(): import_module('idna.core')\n",
        encoding="utf-8",
    )
    assert _imported(path) == {"json", "markupsafe", "yaml", "idna"}

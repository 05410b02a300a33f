"""What is built can be installed elsewhere and works there, with everything it needs inside."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.repository import ROOT

REPORT = ROOT / "tests" / "cases" / "goop_report" / "016_executor_complete.xml"


@dataclass(frozen=True, slots=True)
class Installation:
    """A virtual environment with the built wheel; `elsewhere` is an empty folder to work in."""

    environment: Path
    elsewhere: Path

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment away from the checkout."""
        return _run([str(self.environment / "bin" / program), *arguments], cwd=self.elsewhere)


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and the wheel from it, so that the sdist is shown to be complete."""
    folder = tmp_path_factory.mktemp("distributions")
    # Without isolation nothing is downloaded.
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    result = _run(build, cwd=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


@pytest.fixture(scope="module")
def installation(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Install the wheel alone; its dependencies are borrowed from the running interpreter."""
    environment = tmp_path_factory.mktemp("installed") / "environment"
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    wheel = str(_only(distributions, "*.whl"))

    for command in (
        [sys.executable, "-m", "venv", "--without-pip", str(environment)],
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(environment),
            "install",
            "--no-deps",
            "--no-index",
            wheel,
        ],
    ):
        result = _run(command, cwd=elsewhere)
        assert result.returncode == 0, result.stdout + result.stderr

    # Path files inside a borrowed folder are not followed, so the checkout stays out of sight.
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    site_packages = _only(environment, "lib/python*/site-packages")
    (site_packages / "borrowed.pth").write_text(
        "\n".join(sorted(borrowed)) + "\n", encoding="utf-8"
    )

    return Installation(environment, elsewhere)


def _run(command: list[str], *, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command without the settings that would lead Python or pip back to this checkout."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))
    }
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment | {"PYTHONUTF8": "1"},
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )


def _only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path


def test_wheel_holds_the_package_with_its_schemas_prompts_and_pages(distributions: Path) -> None:
    names = zipfile.ZipFile(_only(distributions, "*.whl")).namelist()
    folders = {"/".join(name.split("/")[:2]) for name in names if name.startswith("goop_mcp/")}
    assert {
        "goop_mcp/py.typed",
        "goop_mcp/schemas",
        "goop_mcp/prompts",
        "goop_mcp/docs",
        "goop_mcp/plugins",
    } <= folders
    assert "goop_mcp/prompts/templates/documents/spec.md" in names
    assert "goop_mcp/plugins/claude-code/goop-mcp/.claude-plugin/plugin.json" in names
    assert "goop_mcp/store/migrations/sqlite/0001_tables.sql" in names
    assert "goop_mcp/testing/corpus/factory.jsonl" in names
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"goop_mcp"}


def test_sdist_holds_what_the_tests_need(distributions: Path) -> None:
    with tarfile.open(_only(distributions, "*.tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {
        "Makefile",
        "tests/requirements/requirements.jsonl",
        "tests/test_wheel.py",
        ".ci/run",
    } <= names


def test_the_installed_package_is_imported_not_the_checkout(installation: Installation) -> None:
    result = installation.run("python", "-c", "import goop_mcp; print(goop_mcp.__file__)")
    assert result.returncode == 0, result.stderr
    assert Path(result.stdout.strip()).is_relative_to(installation.environment)


def test_the_installed_command_accepts_a_good_report(installation: Installation) -> None:
    result = installation.run("goop-mcp", "check", "--format", "json", str(REPORT))
    assert result.returncode == 0, result.stdout + result.stderr
    assert [verdict["verdict"] for verdict in json.loads(result.stdout)] == ["accepted"]


def test_the_installed_command_prints_the_schema_it_ships(installation: Installation) -> None:
    result = installation.run("goop-mcp", "schema", "goop_report")
    assert result.returncode == 0, result.stderr
    assert "http://www.w3.org/2001/XMLSchema" in result.stdout
    assert "goop_report" in result.stdout

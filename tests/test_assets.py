"""What ships with the package is found, and nothing else."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from goop_mcp.assets import AssetKind, list_assets, read_asset
from goop_mcp.errors import AssetMissingError
from tests.repository import ROOT


@pytest.mark.parametrize(
    ("kind", "name", "place"),
    [
        ("schemas", "goop_report/0.1.6.xsd", "schemas/goop_report/0.1.6.xsd"),
        ("prompts", "goop_report.md", "prompts/goop_report.md"),
        ("templates", "documents/spec.md", "prompts/templates/documents/spec.md"),
        ("docs", "goop_report.md", "docs/protocols/goop_report.md"),
        ("plugins", "opencode/goop.js", "packaging/plugins/opencode/goop.js"),
    ],
)
def test_each_kind_is_read_from_its_folder(kind: AssetKind, name: str, place: str) -> None:
    assert read_asset(kind, name) == (ROOT / place).read_text(encoding="utf-8")


def test_assets_are_listed_sorted_with_their_folders() -> None:
    names = list_assets("schemas", ".xsd")
    assert "goop_report/0.1.6.xsd" in names
    assert list(names) == sorted(names)


def test_only_assets_with_the_suffix_are_listed() -> None:
    assert list_assets("schemas", ".docx") == ()
    assert all(name.endswith(".md") for name in list_assets("prompts", ".md"))


@pytest.mark.parametrize(
    "name",
    [
        "goop_report/9.9.9.xsd",
        "../pyproject.toml",
        "goop_report/../../pyproject.toml",
        "goop_report/../goop_report/0.1.6.xsd",
        str(ROOT / "pyproject.toml"),
        "goop_report",
        "",
        "a\0b",
    ],
)
def test_a_name_that_is_not_listed_is_refused(name: str) -> None:
    with pytest.raises(AssetMissingError, match=r"^schemas has no file .*; install goop-mcp again"):
        read_asset("schemas", name)


def _list_schemas_of_copy(folder: Path) -> subprocess.CompletedProcess[str]:
    code = "from goop_mcp.assets import list_assets; print(list_assets('schemas'))"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Copy the package as it is when installed, next to a folder of schemas of another package."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "goop_mcp", tmp_path / "goop_mcp", ignore=ignored)
    shutil.copytree(ROOT / "schemas", tmp_path / "goop_mcp" / "schemas")
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "other.xsd").touch()
    return tmp_path


def test_an_installed_package_reads_its_own_files_only(installed: Path) -> None:
    result = _list_schemas_of_copy(installed)
    assert result.returncode == 0, result.stderr
    assert "goop_report/0.1.6.xsd" in result.stdout
    assert "other.xsd" not in result.stdout


def test_a_damaged_installation_is_reported(installed: Path) -> None:
    shutil.rmtree(installed / "goop_mcp" / "schemas")
    result = _list_schemas_of_copy(installed)
    assert (
        "AssetMissingError: the folder schemas of goop-mcp is missing; install goop-mcp again"
        in result.stderr
    )

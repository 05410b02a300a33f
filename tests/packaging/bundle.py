"""The bundle for desktop hosts (MCPB): a folder with the manifest and all that `uv run` builds the program from."""

import shutil
import zipfile
from pathlib import Path

from tests.packaging.tools import run
from tests.repository import ROOT

__all__ = ["MANIFEST", "pack_bundle", "stage_bundle"]

MANIFEST = ROOT / "mcpb" / "manifest.json"
CONTENTS = (
    "LICENSE",
    "README.md",
    "docs/protocols",
    "goop_mcp",
    "plugins",
    "prompts",
    "pyproject.toml",
    "schemas",
    "templates",
)


def stage_bundle(folder: Path) -> Path:
    """Lay down the contents of the bundle in `folder`, which must not exist, and return it."""
    folder.mkdir(parents=True)
    shutil.copy(MANIFEST, folder / "manifest.json")
    for name in CONTENTS:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    return folder


def pack_bundle(mcpb: Path, staged: Path, target: Path) -> int:
    """Validate and pack `staged` into `target` with the tool `mcpb`; return how many files it holds."""
    run([mcpb, "validate", staged / "manifest.json"])
    run([mcpb, "pack", staged, target])
    with zipfile.ZipFile(target) as archive:
        return len(archive.namelist())

"""The bundle for desktop hosts (MCPB): the manifest and all files that `uv run` needs."""

import json
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tests.packaging.tools import run
from tests.repository import ROOT

__all__ = ["MANIFEST", "Launch", "pack_bundle", "stage_bundle", "unpack_bundle"]

MANIFEST = ROOT / "packaging" / "mcpb" / "manifest.json"
CONTENTS = (
    "LICENSE",
    "README.md",
    "docs/protocols",
    "goop_mcp",
    "packaging/plugins",
    "prompts",
    "pyproject.toml",
    "schemas",
)


@dataclass(frozen=True, slots=True)
class Launch:
    """How a host starts the server of a bundle."""

    command: str
    arguments: list[str]
    environment: dict[str, str]


def stage_bundle(folder: Path) -> Path:
    """Copy the contents of the bundle to `folder`, which must not exist, and return it."""
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
    """Validate and pack `staged` into `target` with the tool `mcpb`; return its number of files."""
    run([mcpb, "validate", staged / "manifest.json"])
    run([mcpb, "pack", staged, target])
    with zipfile.ZipFile(target) as archive:
        return len(archive.namelist())


def unpack_bundle(bundle: Path, folder: Path, *, project: Path) -> Launch:
    """Unpack `bundle` and return how a host starts it when only `project` is configured."""
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(folder)

    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    answers = {name: asked.get("default", "") for name, asked in manifest["user_config"].items()}
    answers["project_dir"] = str(project)
    values = {"${__dirname}": str(folder)} | {
        f"${{user_config.{name}}}": text for name, text in answers.items()
    }

    def filled_in(text: str) -> str:
        for place, value in values.items():
            text = text.replace(place, value)
        return text

    configuration = manifest["server"]["mcp_config"]
    environment = {name: filled_in(text) for name, text in configuration["env"].items()}

    return Launch(
        configuration["command"], [filled_in(word) for word in configuration["args"]], environment
    )

"""The path of the checkout, and the files that belong to it."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
CACHE = Path(os.environ.get("GOOP_TEST_CACHE") or ROOT / ".cache")
"""Where programs and packages that only tests need are installed; git ignores it."""

NOT_TESTED = 77
"""Exit code of a make target that could not test anything here, which is a failure."""

GENERATED_FOLDERS = frozenset({".git", ".venv", "__pycache__", "build", "dist", "htmlcov"})


def project_files() -> list[Path]:
    """Return the files of the project: those git tracks or would add, else all not generated."""
    try:
        listing = subprocess.run(
            # Git may be anywhere on PATH.
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        listing = ""

    known = [ROOT / name for name in listing.split("\0") if name]

    return [path for path in known or ROOT.rglob("*") if path.is_file() and not _is_generated(path)]


def _is_generated(path: Path) -> bool:
    folders = path.relative_to(ROOT).parts[:-1]
    return any(name in GENERATED_FOLDERS or name.endswith("_cache") for name in folders)

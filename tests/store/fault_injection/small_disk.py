"""Run the full-disk program on a small disk, or with a limit on files if mounting is forbidden."""

import subprocess
import sys
from pathlib import Path

from tests.repository import ROOT

__all__ = ["can_mount", "defects_on_small_disk", "defects_with_small_files"]

_PROGRAM = (sys.executable, "-m", "tests.store.fault_injection.full_disk")
_MOUNT = 'mount -t tmpfs -o size=1500k none "$1" && shift && exec "$@"'
_LONGEST_RUN = 300


def can_mount() -> bool:
    """Return whether this user may mount a disk in a namespace of its own."""
    try:
        # The program may be anywhere on PATH.
        tried = subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True)  # noqa: S607
        return tried.returncode == 0
    except OSError:
        return False


def defects_on_small_disk(folder: Path) -> str:
    """Return what went wrong on a disk of 1,500 KiB at `folder`, empty when nothing did."""
    return _output(
        ["unshare", "-rm", "sh", "-c", _MOUNT, "sh", str(folder), *_PROGRAM, str(folder)]
    )


def defects_with_small_files(folder: Path) -> str:
    """Return what went wrong where files may not grow, empty when nothing did."""
    return _output([*_PROGRAM, str(folder), "--limit"])


def _output(command: list[str]) -> str:
    result = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=_LONGEST_RUN, cwd=ROOT
    )
    return result.stderr.strip() or (
        "" if result.returncode == 0 else f"exit code {result.returncode}"
    )

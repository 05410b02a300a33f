"""Programs from npm at pinned versions, with their own Node.js, in a folder that git ignores."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.repository import CACHE

__all__ = ["NO_NPM", "Installation"]

NO_NPM: Final = "there is no npm on the path; install Node.js, which brings it"

# Brings a program of this version, whatever is on the machine; npm itself runs with any.
_NODE: Final = ("node", "22.23.3")
_LONGEST_INSTALLATION: Final = 600


@dataclass(frozen=True, slots=True)
class Installation:
    """Packages with their versions in a folder called `name`."""

    name: str
    packages: Mapping[str, str]

    @property
    def folder(self) -> Path:
        """Where they are, or would be, installed."""
        return CACHE / self.name

    @property
    def node(self) -> Path:
        """The program that runs them."""
        return self.folder / "node_modules" / ".bin" / _NODE[0]

    def file(self, package: str, path: str) -> Path:
        """Return a file of a package."""
        return self.folder / "node_modules" / package / path

    def install(self) -> str:
        """Install what is missing; return why that is impossible, empty when all is there."""
        wanted = {"private": True, "dependencies": {**self.packages, _NODE[0]: _NODE[1]}}
        stamp = self.folder / "installed.json"
        if stamp.exists() and json.loads(stamp.read_text(encoding="utf-8")) == wanted:
            return ""

        npm = shutil.which("npm")
        if npm is None:
            return NO_NPM

        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "package.json").write_text(json.dumps(wanted), encoding="utf-8")
        error = self._run(npm)
        if not error:
            stamp.write_text(json.dumps(wanted), encoding="utf-8")
        return error

    def environment(self, home: Path) -> dict[str, str]:
        """Return the whole environment of a program: its settings and traces go to `home`."""
        path = os.pathsep.join([str(self.node.parent), "/usr/bin", "/bin"])
        return {"PATH": path, "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8"}

    def _run(self, npm: str) -> str:
        command = [npm, "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent"]
        try:
            ended = subprocess.run(
                command,
                cwd=self.folder,
                check=False,
                capture_output=True,
                timeout=_LONGEST_INSTALLATION,
            )
        except subprocess.TimeoutExpired:
            return (
                f"npm took longer than {_LONGEST_INSTALLATION} seconds; see whether its registry"
                " answers, and try again"
            )

        if ended.returncode:
            names = ", ".join(self.packages)
            return (
                f"npm cannot install {names} (it ended with {ended.returncode}); see whether its"
                " registry answers"
            )

        return self._node_error()

    def _node_error(self) -> str:
        try:
            subprocess.run([self.node, "--version"], check=True, capture_output=True, timeout=30)
        except (OSError, subprocess.SubprocessError):
            return (
                f"npm brought no Node.js {_NODE[1]} that runs on this machine; use one that has a"
                " build of it"
            )

        return ""

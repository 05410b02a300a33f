"""Real repositories for the tests of recorded runs."""

import os
import shutil
import subprocess
from pathlib import Path

__all__ = ["GIT", "Work"]

GIT = shutil.which("git") or "git"

_WHO = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")


class Work:
    """A repository in `folder` with one commit, unless it is to have none."""

    def __init__(self, folder: Path, *, commit: bool = True) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        if commit:
            self.write("src/app.py", "def add(a, b):\n    return a + b\n")
            self.write("README.md", "An example\n")
            self.commit("first")

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        done = subprocess.run(
            [GIT, *_WHO, "-c", "protocol.file.allow=always", *arguments],
            cwd=folder or self.folder,
            capture_output=True,
            text=True,
            check=True,
            env={name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        )
        return done.stdout

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD").strip()

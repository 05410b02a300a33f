"""Real projects on disk, with a git repository and everything that a truthful reply claims."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import NewMemory
from goop_mcp.validation.samples import COMPLETE_REPLY

STATE = {
    "version": 1,
    "project": {"name": "demo", "initialized": "2026-01-15T10:30:00.000Z"},
    "workflow": {
        "phase": "execute",
        "specLocked": True,
        "interviewComplete": True,
        "currentWave": 1,
        "totalWaves": 2,
    },
}
BLUEPRINT = """\
# BLUEPRINT: demo

## Wave 1: Accounts

### Task 1.1: Model
### Task 1.2: Login

## Wave 2: Sessions

### Task 2.1: Redis
"""
MEMORY = "Sessions are kept in Redis"
SUBJECT = "feat(auth): add login endpoint"
_NOBODY = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(
    folder: Path, *arguments: str, given: str | None = None, env: Mapping[str, str] | None = None
) -> str:
    """Run git in `folder` with a neutral identity; return its output without the last line end."""
    command = [
        "git",
        "-c",
        "protocol.file.allow=always",
        "-c",
        "init.defaultBranch=main",
        *arguments,
    ]
    return subprocess.run(
        command,
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        input=given,
        timeout=300,
        env={**os.environ, **_NOBODY, **(env or {})},
    ).stdout.rstrip("\n")


def commit(folder: Path, message: str) -> str:
    """Commit everything in `folder` and return the whole id."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def write(folder: Path, path: str, text: str = "x\n") -> None:
    """Write a file and the folders around it."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def memory_of(folder: Path, *titles: str) -> Store:
    """Return the memory of the project in `folder` after saving one note for each title."""
    store = open_store(None, project=folder)
    for title in titles:
        new = NewMemory(
            uid=title,
            type="note",
            title=title,
            content="Because.",
            importance=0.5,
            idempotency_key=title,
            fingerprint=title,
            created_at="2026-01-15T10:30:00Z",
        )
        # Mypy infers no default.
        store.write(lambda writing, new=new: writing.add_memory(new))  # type: ignore[misc]

    return store


@dataclass(frozen=True, slots=True)
class Project:
    """A project in which everything that `reply` says is true.

    The task began at the commit `base`; `loose` is one that no branch leads to.
    """

    folder: Path
    sha: str
    store: Store
    base: str
    loose: str

    @property
    def reply(self) -> str:
        """A report of which every word is true."""
        return true_in(self, COMPLETE_REPLY)


def true_in(project: Project, reply: str) -> str:
    """Return `reply` with the commits of the samples replaced by those there are."""
    known = {"a1b2c3d": project.sha, "0a9b8c7": project.base, "f1e2d3c": project.loose}
    for sample, sha in known.items():
        reply = reply.replace(sample, sha[:7])
    return reply


def make_project(folder: Path) -> Project:
    """Fill `folder` with files, one commit, a plan, a state and a memory."""
    git(folder, "init", "--quiet")
    write(folder, "src/plan.py")
    base = commit(folder, "docs: plan")
    write(folder, "src/login.py")
    write(folder, "src/empty.py", "")
    sha = commit(folder, SUBJECT)
    then = {"GIT_AUTHOR_DATE": "2026-01-15T10:30:00Z"}
    loose = git(folder, "commit-tree", "HEAD^{tree}", "-p", "HEAD^", "-m", SUBJECT, env=then)
    write(folder, "src/other.py")
    write(folder, ".goopspec/state.json", json.dumps(STATE))
    write(folder, ".goopspec/BLUEPRINT.md", BLUEPRINT)

    return Project(folder, sha, memory_of(folder, MEMORY), base, loose)

"""The pinned clients: installed into a cache that git ignores, and run in a sandbox."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from goop_mcp.hosts.catalogue import HOSTS
from tests.npm import NO_NPM
from tests.repository import CACHE, ROOT

__all__ = [
    "CLAUDE_CODE",
    "CLAUDE_CODE_OLDEST",
    "CLIENTS",
    "CODEX",
    "OPENCODE",
    "OPENCODE_OLDEST",
    "TESTS_OF_LOGIN",
    "VERSIONS",
    "Client",
    "Ended",
    "Sandbox",
    "make_sandbox",
]

_CACHE = Path(os.environ.get("GOOP_E2E_CLIENTS") or CACHE / "clients")
VERSIONS = "GOOP_E2E_VERSIONS"
"""The variable that names other versions than the pinned ones."""
_LONGEST_INSTALL = 900
_CHECKERS = ("pytest", "ruff", "mypy")
_ALONE = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1"
"""Without it the plugins of this checkout would write into the outputs."""
TESTS_OF_LOGIN = "login_tests.py"
"""Twelve tests in every project, which pytest runs only where they are named."""
_TESTS = """\
import pytest


@pytest.mark.parametrize("attempt", range(12))
def test_login(attempt: int) -> None:
    assert attempt < 12
"""
_LONGEST_RUN = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client from npm. `program` is its command, `version` the one that is used here."""

    package: str
    version: str
    program: str
    pinned: str

    @property
    def folder(self) -> Path:
        """The folder of the installation, which need not exist."""
        return _CACHE / f"{self.program}-{self.version}"

    @property
    def path(self) -> Path:
        """The command."""
        return self.folder / "node_modules" / ".bin" / self.program

    def missing_reason(self) -> str | None:
        """Return why it cannot be run; None when it can."""
        if self.path.exists():
            return None

        note = self.folder / "absent.txt"
        reason = (
            note.read_text(encoding="utf-8")
            if note.exists()
            else "it was not installed; run make e2e"
        )

        return f"{self.package}@{self.version} is not there: {reason}"

    def install(self) -> None:
        """Install it unless it is there; keep the reason of a failure for skipped tests."""
        if self.path.exists():
            return

        self.folder.mkdir(parents=True, exist_ok=True)
        error = self._run_npm()
        note = self.folder / "absent.txt"
        if error is None:
            note.unlink(missing_ok=True)
        else:
            note.write_text(error, encoding="utf-8")

    def _run_npm(self) -> str | None:
        npm = shutil.which("npm")
        if npm is None:
            return NO_NPM

        wanted = f"{self.package}@{self.version}"
        command = [npm, "install", "--prefix", str(self.folder), "--no-audit", "--no-fund", wanted]

        try:
            ended = subprocess.run(
                command, check=False, capture_output=True, text=True, timeout=_LONGEST_INSTALL
            )
        except subprocess.TimeoutExpired:
            return f"npm took longer than {_LONGEST_INSTALL} seconds"

        if ended.returncode:
            return f"npm ended with {ended.returncode}: {ended.stderr.strip()[-400:]}"
        return None if self.path.exists() else f"npm installed no command {self.program}"


def _client(package: str, program: str, pinned: str) -> Client:
    return Client(package=package, program=program, pinned=pinned, version=_chosen(program, pinned))


def _chosen(program: str, pinned: str) -> str:
    """Return the version of `program` in GOOP_E2E_VERSIONS ("claude=2.1.332 codex=0.171.0")."""
    chosen = dict(each.split("=", 1) for each in os.environ.get(VERSIONS, "").split())
    return chosen.get(program, pinned)


CLAUDE_CODE = _client("@anthropic-ai/claude-code", "claude", "2.1.329")
OPENCODE = _client("opencode-ai", "opencode", "1.18.33")
CODEX = _client("@openai/codex", "codex", "0.169.0")
CLAUDE_CODE_OLDEST = replace(CLAUDE_CODE, version=HOSTS["claude-code"].oldest)
OPENCODE_OLDEST = replace(OPENCODE, version=HOSTS["opencode"].oldest)
CLAUDE_CODE_AUTO = replace(CLAUDE_CODE, version="2.1.300")
"""In auto mode it asks its model whether an action is safe; later ones ask their service."""
CLIENTS = (CLAUDE_CODE, OPENCODE, CODEX, CLAUDE_CODE_OLDEST, OPENCODE_OLDEST, CLAUDE_CODE_AUTO)


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of a client's run, which took `seconds`."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def lines(self) -> list[dict[str, object]]:
        """Every line of the output that is a JSON object."""
        return list(_objects(self.out))


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A project and a home for one test; the client inherits nothing of our environment."""

    project: Path
    home: Path
    scratch: Path
    programs: Path

    def environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        """Return the whole environment of a client: `goop-mcp`, `sh` and `node` are on its path."""
        node = shutil.which("node")
        folders = [
            str(self.programs),
            *([str(Path(node).parent)] if node else []),
            "/usr/bin",
            "/bin",
        ]

        return {
            "PATH": os.pathsep.join(folders),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.scratch),
            **extra,
        }

    def run(
        self,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str],
        written: str | None = None,
    ) -> Ended:
        """Run a client in the project until it ends, with additional variables.

        `written` goes to its standard input.
        """
        began = time.monotonic()
        ended = subprocess.run(
            [str(word) for word in command],
            cwd=self.project,
            env=self.environment(environment),
            input=written or "",
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=_LONGEST_RUN,
        )

        return Ended(ended.returncode, ended.stdout, ended.stderr, time.monotonic() - began)


def make_sandbox(folder: Path) -> Sandbox:
    """Create a project with some tests, a home, and programs: checkers, and this `goop-mcp`."""
    sandbox = Sandbox(folder / "project", folder / "home", folder / "scratch", folder / "programs")
    for place in (sandbox.project, sandbox.home, sandbox.scratch, sandbox.programs):
        place.mkdir(parents=True)

    for name in _CHECKERS:
        own = " -p no:cacheprovider" if name == "pytest" else ""
        _write_program(sandbox, name, f'{_ALONE} exec "{sys.executable}" -m {name}{own} "$@"')
    start = f'PYTHONPATH="{ROOT}" PYTHONUTF8=1 exec "{sys.executable}" -m goop_mcp "$@"'
    _write_program(sandbox, "goop-mcp", start)

    (sandbox.project / TESTS_OF_LOGIN).write_text(_TESTS, encoding="utf-8")
    # Codex runs each command in a login shell, which would set the path to another one.
    path = sandbox.environment({})["PATH"]
    (sandbox.home / ".profile").write_text(f'export PATH="{path}"\n', encoding="utf-8")

    return sandbox


def _write_program(sandbox: Sandbox, name: str, line: str) -> None:
    program = sandbox.programs / name
    program.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    program.chmod(0o755)


def _objects(text: str) -> Iterator[dict[str, object]]:
    for line in text.splitlines():
        if line.startswith("{"):
            value = json.loads(line)
            if isinstance(value, dict):
                yield value

"""A make target that cannot do its work on this machine reports that and fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging import tools
from tests.packaging.__main__ import CHECKS
from tests.repository import NOT_TESTED, ROOT

PATIENCE = 300
NO_INDEX = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_NO_INDEX": "1", "PIP_RETRIES": "0"}


def run_target(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a make target with nothing installed, no program on the path and no package index."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "GOOP_"))
    }
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env=own
        | NO_INDEX
        | {
            "GOOP_TEST_CACHE": str(place / "cache"),
            "PATH": str(place),
            "PYTHONUTF8": "1",
        },
        stdin=subprocess.DEVNULL,
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )


def test_targets_keep_compiled_modules_also_where_the_environment_forbids_it() -> None:
    shown = subprocess.run(
        [str(shutil.which("make")), "--no-print-directory", "-f", "-", "shown"],
        input="include Makefile\nshown:\n\t@env\n",
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        check=True,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
    ).stdout

    assert "PATH=" in shown
    assert "PYTHONDONTWRITEBYTECODE" not in shown


@pytest.mark.parametrize(
    "target", ["tests.conformance", "tests.gates", "tests.inspector", "tests.reliability.compare"]
)
def test_a_target_that_needs_npm_fails_without_it_and_names_what_to_install(
    target: str, tmp_path: Path
) -> None:
    ended = run_target(tmp_path, target)

    assert ended.returncode == NOT_TESTED
    assert (
        ended.stderr
        == "not tested: there is no npm on the path; install Node.js, which brings it\n"
    )


def test_scenarios_of_a_missing_client_are_a_failure(tmp_path: Path) -> None:
    ended = run_target(tmp_path, "tests.e2e", "-k", "codex", "-p", "no:cacheprovider")

    assert ended.returncode == 1
    assert "not tested: @openai/codex@" in ended.stderr
    assert "there is no npm on the path" in ended.stderr


def test_a_framework_that_does_not_install_is_a_failure(tmp_path: Path) -> None:
    ended = run_target(tmp_path, "tests.frameworks", "smolagents")

    assert ended.returncode == 1, ended.stderr
    assert "failed: does not install (" in ended.stdout


def test_tools_that_do_not_install_fail_the_packaging_without_a_traceback(tmp_path: Path) -> None:
    ended = run_target(tmp_path, "tests.packaging")

    assert ended.returncode == 1
    assert ended.stdout.startswith("tools                 failed: python ended with 1")
    assert ended.stderr == ""


def test_the_bundle_is_not_left_out_without_npm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "CACHE", tmp_path)

    with pytest.raises(tools.ProgramFailedError, match="there is no npm on the path"):
        CHECKS["bundle"]()


def test_a_full_disk_that_cannot_be_had_is_a_failure(tmp_path: Path) -> None:
    ended = run_target(tmp_path, "tests.store.fault_injection", "--only", "disk")
    files, disk = ended.stdout.splitlines()

    assert ended.returncode == 1, ended.stderr
    assert files.endswith(" ok")
    assert "this user may not mount a disk; allow user namespaces" in disk


def test_a_peer_that_is_not_installed_fails_the_comparison(tmp_path: Path) -> None:
    ended = run_target(tmp_path, "benchmarks.peers")

    assert ended.returncode == 1
    assert (
        "not measured: guardrails (no module named 'guardrails'); run make bench-peers"
        in ended.stderr
    )

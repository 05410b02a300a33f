"""Short runs of `make faults`, in processes of their own, since they fork."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository import ROOT
from tests.store.fault_injection.small_disk import (
    can_mount,
    defects_on_small_disk,
    defects_with_small_files,
)

LONGEST_RUN = 600


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", "tests.store.fault_injection", "--slack", "20", *arguments]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=LONGEST_RUN, cwd=ROOT, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_writers_that_are_killed_lose_nothing_that_was_acknowledged() -> None:
    printed = run("--only", "kills", "--kills", "30", "--seed", "7")
    kills = {
        place: int(count)
        for place, count in re.findall(r"(lock|begin|insert|commit|random moment) (\d+)", printed)
    }
    assert sorted(kills) == ["begin", "commit", "insert", "lock", "random moment"]
    # Six writers die in each of five rounds, one at each place and one more anywhere.
    assert min(kills.values()) >= 5
    assert sum(kills.values()) == 30


def test_crowds_of_writers_lose_nothing() -> None:
    assert run("--only", "crowds", "--part", "0.05").count(" ok\n") == 2


def test_checkpoints_outside_the_lock_damage_nothing() -> None:
    assert " 0 acknowledged" not in run("--only", "stress", "--rounds", "1", "--seconds", "2")


def test_a_server_of_postgresql_that_is_killed_loses_nothing() -> None:
    assert " 0 repeated" not in run("--only", "postgres", "--servers", "1")


def test_a_full_disk_loses_nothing_and_is_reported(tmp_path: Path) -> None:
    if not can_mount():
        pytest.skip("this user may not mount a disk; the test with limits on files still runs")
    assert defects_on_small_disk(tmp_path) == ""


def test_files_that_may_not_grow_lose_nothing_and_are_reported(tmp_path: Path) -> None:
    assert defects_with_small_files(tmp_path) == ""

"""A task of a run as a step of DBOS, on a real PostgreSQL, with a process that is killed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("dbos", reason="dbos is not installed here; make frameworks tests it")

from tests.delegation.graphs import chain
from tests.delegation.runners import Place, check_run, within
from tests.postgres import Database


def start(place: Place, run: str, *, seconds: float) -> "subprocess.Popen[bytes]":
    words = [str(place.folder), place.url or "", run, str(seconds)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.frameworks.dbos_process", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_workflow_goes_on_after_a_kill_and_nothing_is_accepted_twice(
    database: Database, tmp_path: Path
) -> None:
    with Place(tmp_path, database.url()) as place:
        run = place.ledger.create(chain(), input={})
        log = tmp_path / "asked.jsonl"
        with start(place, run, seconds=60) as killed:
            within(60, log.exists)
            killed.kill()

        # The step is called again, and the task of the dead process taken over at once.
        for _ in range(2):
            with start(place, run, seconds=0) as process:
                out, errors = process.communicate(timeout=60)
            assert (process.returncode, out) == (0, b"accepted, accepted"), errors.decode()

        check_run(place.store, run)
        assert place.accepted_times(run) == {"a": 1, "b": 1}
        assert [json.loads(line) for line in log.read_text().splitlines()] == ["a", "a", "b"]

"""Writers killed at any step: no acknowledged entry is lost, and the next start fixes the files."""

import contextlib
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from goop_mcp.store.failpoints import Failpoint
from goop_mcp.store.opening import open_store
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.projection_text import blocks_of, insert_blocks
from goop_mcp.workspace.projections import open_conflicts
from goop_mcp.workspace.recovery import recover
from tests.workspace.projects import NOW, as_it_is, copied
from tests.workspace.recorder import STEPS

CHRONICLE = ".goopspec/CHRONICLE.md"


def started(project: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.workspace.recorder", str(project), *arguments]
    )


def acknowledged(project: Path) -> set[str]:
    lines = (path.read_text() for path in project.glob("*.ack"))
    # A killed writer may have cut its last line.
    return {line for text in lines for line in text.split("\n")[:-1]}


def restarted(project: Path, before: str | None) -> list[str]:
    """Start again, check every promise, and return the texts of what is recorded."""
    files, store = ProjectFiles(project), open_store(None, project=project)
    try:
        recover(store, files, now=NOW, redact=as_it_is)
        assert store.check() == []
        events = store.read(lambda reading: reading.events(document="CHRONICLE.md"))
        texts = [event.text for event in events if event.kind == "report"]
        assert acknowledged(project) <= set(texts)
        assert len(texts) == len(set(texts))
        found = files.read_text(CHRONICLE)
        assert found == (
            insert_blocks(before, blocks_of(events), document="CHRONICLE.md") if texts else before
        )
        assert store.read(open_conflicts) == ()
        assert [name for name in files.names(".goopspec") if name.endswith(".goop-tmp")] == []

        return texts
    finally:
        store.close()


@pytest.mark.parametrize("nth", [1, 3])
@pytest.mark.parametrize("point", STEPS, ids=lambda point: point.replace(" ", "-"))
def test_a_writer_killed_at_any_step_loses_nothing(
    tmp_path: Path, point: Failpoint, nth: int
) -> None:
    before = copied("profile_0x", tmp_path).read_text(CHRONICLE)

    with started(tmp_path, "a", "5", str(point), str(nth)) as writer:
        assert writer.wait(timeout=300) == -signal.SIGKILL

    texts = restarted(tmp_path, before)

    assert 0 <= len(texts) - len(acknowledged(tmp_path)) <= 1
    with started(tmp_path, "b", "2") as writer:
        assert writer.wait(timeout=300) == 0

    assert len(restarted(tmp_path, before)) == len(texts) + 2


def test_many_writers_of_which_half_are_killed_lose_nothing(tmp_path: Path) -> None:
    chance = random.Random(4)
    before = copied("windows", tmp_path).read_text(CHRONICLE)

    writers = [started(tmp_path, name, "25") for name in "abcdef"]

    try:
        deadline = time.monotonic() + 60
        for writer in writers[::2]:
            wanted = len(acknowledged(tmp_path)) + chance.randint(5, 15)
            while (
                len(acknowledged(tmp_path)) < wanted
                and time.monotonic() < deadline
                and writer.poll() is None
            ):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    writer.wait(timeout=0.01)

            writer.kill()

        assert [writer.wait(timeout=300) for writer in writers[1::2]] == [0, 0, 0]
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()

    texts = restarted(tmp_path, before)
    assert len(texts) >= 75

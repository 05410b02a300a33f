"""Orchestrators killed at any step: acknowledged reports are stored, and the files follow."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from goop_mcp.store.failpoints import Failpoint
from goop_mcp.workspace.documents.handoff import read_handoff
from goop_mcp.workspace.projections import is_stale, open_conflicts
from goop_mcp.workspace.state import ProjectState, read_state
from tests.services.reporting import working_in
from tests.workspace.projects import copied
from tests.workspace.recorder import STEPS


def started(project: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.services.reporter", str(project), *arguments]
    )


def acknowledged(project: Path) -> set[str]:
    lines = (path.read_text(encoding="utf-8") for path in project.glob("*.ack"))
    return {line for text in lines for line in text.split("\n")[:-1]}


def restarted(project: Path) -> int:
    """Start again, check every promise, and return how many reports there are."""
    with working_in(project) as project_context:
        store, files = project_context.store, project_context.files
        reports = store.read(lambda reading: reading.reports())
        events = store.read(lambda reading: reading.events())
        assert store.check() == []
        assert not store.read(lambda reading: is_stale(reading, files))
        assert store.read(open_conflicts) == ()
        chronicle = files.read_text(".goopspec/CHRONICLE.md") or ""
        for kept in acknowledged(project):
            assert sum(kept in report.envelope for report in reports) == 1

        for report in reports:
            own = [event for event in events if event.revision == report.revision]
            assert {"report", "state"} <= {event.kind for event in own}
            assert all(event.text in chronicle for event in own if event.kind == "report")

        handoffs = [event for event in events if event.kind == "handoff"]
        if handoffs:
            text = files.read_text(".goopspec/HANDOFF.md") or ""
            assert f"<!-- goop:rev {handoffs[-1].revision} -->" in text
            assert read_handoff(text).phase == "execute"

        state = read_state(files)
        assert isinstance(state, ProjectState)
        assert state.revision == (reports[0].revision if reports else None)
        assert not [name for name in files.names(".goopspec") if name.endswith(".goop-tmp")]

        return len(reports)


@pytest.mark.parametrize("nth", [1, 4])
@pytest.mark.parametrize("point", STEPS, ids=lambda point: point.replace(" ", "-"))
def test_an_orchestrator_killed_at_any_step_loses_nothing(
    tmp_path: Path, point: Failpoint, nth: int
) -> None:
    copied("profile_0x", tmp_path)

    with started(tmp_path, "a", "5", str(point), str(nth)) as writer:
        assert writer.wait(timeout=300) == -signal.SIGKILL

    reports = restarted(tmp_path)

    assert 0 <= reports - len(acknowledged(tmp_path)) <= 1
    with started(tmp_path, "b", "2") as writer:
        assert writer.wait(timeout=300) == 0

    assert restarted(tmp_path) == reports + 2


def test_many_orchestrators_at_once_lose_nothing(tmp_path: Path) -> None:
    copied("profile_0x", tmp_path)

    writers = [started(tmp_path, name, "8") for name in "abcd"]
    try:
        assert [writer.wait(timeout=300) for writer in writers] == [0, 0, 0, 0]
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()

    assert restarted(tmp_path) == len(acknowledged(tmp_path)) == 32

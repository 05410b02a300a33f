"""A real repository with a real CI script: who only says that the tests pass is found out.

Locally and in CI; an honest report is believed as recorded.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from goop_mcp.services.named_checks import read_checks
from tests.recording.played import PYTEST, Player
from tests.recording.repositories import Work

GOOD = "from src.app import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n"
BAD = "from src.app import add\n\n\ndef test_adds():\n    assert add(1, 2) == 4\n"
CI = """\
#!/bin/sh
set -e
goop-mcp run --trust "$CHECKS_DIGEST"
exec goop-mcp evidence verify --rerun --report "$1"
"""


@pytest.fixture
def player(tmp_path: Path) -> Player:
    work = Work(tmp_path / "work")
    work.write("src/__init__.py", "")
    work.write("tests/test_app.py", GOOD)
    command = ", ".join(f'"{each}"' for each in PYTEST)
    work.write(".goopspec/checks.toml", f"[checks.tests]\ncommand = [{command}]\n")
    work.write(".gitignore", "__pycache__/\n.goopspec/goop.db*\n")
    work.write("ci.sh", CI).chmod(0o755)
    work.commit("with tests")
    return Player(work, tmp_path / "state")


def clone_and_run_ci(
    player: Player, tmp_path: Path, report: str
) -> subprocess.CompletedProcess[str]:
    """Run the CI script on a fresh clone, on a machine that recorded nothing."""
    clone, machine = tmp_path / "ci", tmp_path / "ci-machine"
    machine.mkdir()
    player.work.git("clone", "-q", str(player.work.folder), str(clone))
    (machine / "report.md").write_text(report, encoding="utf-8")
    program = machine / "bin" / "goop-mcp"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m goop_mcp "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    ci = Player(Work(clone, commit=False), machine)
    return subprocess.run(
        ["./ci.sh", str(machine / "report.md")],
        cwd=clone,
        env=ci.environment
        | {
            "PATH": f"{program.parent}:{ci.environment['PATH']}",
            # A variable of CI that a person set, and no file of the repository.
            "CHECKS_DIGEST": read_checks(player.work.folder).digest,
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.requirement("G-28", "R-06")
def test_a_false_claim_is_rejected_locally_and_found_in_ci(player: Player, tmp_path: Path) -> None:
    player.state.mkdir()
    player.work.write("tests/test_app.py", BAD)
    run, line = player.record(*PYTEST)
    assert f"run {run} tests failed (1 run, 1 failed, exit code 1) on tree " in line

    claim = '<check name="tests" passed="true">pytest: 1 passed</check>'
    judged = player.judge(claim)
    assert not judged.accepted
    assert judged.rules == {"check-failed": "error"}
    assert run in judged.verdict["feedback"]
    assert "goop-mcp run --name tests -- " in judged.verdict["feedback"]

    # The agent commits its work all the same, and CI runs the named commands again.
    player.work.commit("broken")
    ci = clone_and_run_ci(player, tmp_path, player.report(claim))
    assert ci.returncode == 1, ci
    assert "tests: contradicted: pytest did not pass: exit code 1" in ci.stdout


@pytest.mark.requirement("G-28")
def test_an_honest_report_is_accepted_as_recorded(player: Player, tmp_path: Path) -> None:
    player.state.mkdir()
    player.work.write("src/app.py", "def add(a, b):\n    return b + a\n")
    run, line = player.record(*PYTEST)
    assert f"run {run} tests passed (1 run) on tree " in line

    # The commit of the same content is the same tree, and one run fits without being named.
    player.work.commit("the other way round")
    for claim in (
        '<check name="tests" passed="true">pytest: 1 passed</check>',
        f'<check name="tests" passed="true" run="{run}">pytest: 1 passed</check>',
        f'<check name="tests" passed="true">pytest: 1 passed, run {run}</check>',
    ):
        judged = player.judge(claim, require="recorded")
        assert judged.accepted, judged.text
        assert judged.tier == "recorded"
        assert judged.rules == {}

    # Who asks for recorded runs need not ask for the project as well.
    claim = '<check name="tests" passed="true">pytest: 1 passed</check>'
    done = player.goop("check", "-", "--require-evidence", "recorded", given=player.report(claim))
    assert done.returncode == 0, done.stdout
    assert "Claims: 1 recorded" in done.stdout

    verified = player.goop("evidence", "verify", run)
    assert verified.returncode == 0, verified
    assert f"{run} tests: confirmed: it passed on the present tree" in verified.stdout

    ci = clone_and_run_ci(player, tmp_path, player.report(claim))
    assert ci.returncode == 0, ci
    assert "tests: confirmed: pytest passed" in ci.stdout

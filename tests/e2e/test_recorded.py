"""A real repository with a real CI script, and an agent in real Claude Code that records its runs.

What it hides from its transcript is known to the recorder, and CI runs the checks again.
"""

from pathlib import Path

import pytest

from goop_mcp.recording.trust import content_digest
from goop_mcp.validation.feedback import OPENING
from tests.e2e.claude_code import handed_back, hook_settings, run_claude, write_json, write_project
from tests.e2e.clients import CLAUDE_CODE, Ended, Sandbox
from tests.e2e.conversation import Conversation
from tests.e2e.pace import patience
from tests.e2e.recording.hosts import prepare
from tests.e2e.recording.playing import play
from tests.e2e.recording.scenes import BROKEN, claiming
from tests.e2e.recording.steps import Edit, Read, Scene, Shell
from tests.e2e.scripted_model import ScriptedModel, scripted_model

pytestmark = pytest.mark.skipif(
    CLAUDE_CODE.missing_reason() is not None, reason=CLAUDE_CODE.missing_reason() or ""
)

CHECKS = '[checks.tests]\ncommand = ["pytest", "-q"]\n'
CI = """\
set -e
goop-mcp run --trust "$CHECKS_DIGEST"
exec goop-mcp evidence verify --rerun --report "$1"
"""
# Whatever the command does, the status of the line is 0: a transcript shows nothing.
HIDDEN = Shell("goop-mcp run --name tests -- pytest -q > /dev/null 2>&1 || true")
FALSE = Scene(name="false", files=BROKEN, steps=(HIDDEN, claiming()))
TRUE = Scene(
    name="true",
    files=BROKEN,
    steps=(
        HIDDEN,
        claiming(),
        Read("test_calc.py"),
        Edit("test_calc.py", "== 4", "== 3"),
        HIDDEN,
        claiming(),
    ),
)


def play_in_claude_code(sandbox: Sandbox, scene: Scene, **options: object) -> ScriptedModel:
    """Play the scene in a repository with named checks and a CI script."""
    folder = sandbox.project / ".goopspec"
    folder.mkdir()
    (folder / "checks.toml").write_text(CHECKS, encoding="utf-8")
    (sandbox.project / "ci.sh").write_text(CI, encoding="utf-8")
    prepare(sandbox, scene)
    write_json(folder / "hooks.json", {"record": True, **options})
    write_project(sandbox, settings=hook_settings())

    script = play(scene, project=str(sandbox.project), killed=lambda: None)
    with scripted_model(script) as model:
        ended = run_claude(sandbox, model, "GOOP-MAIN delegate")
    assert ended.code == 0, ended.err
    assert ended.seconds < patience()
    return model


def run_ci(sandbox: Sandbox, folder: Path) -> Ended:
    """Commit what the agent left, and run the CI script on a clone, on a machine of its own."""
    for words in (
        ["add", "-A", "--", "*.py"],
        ["commit", "-q", "--allow-empty", "-m", "made by the agent"],
        ["clone", "-q", ".", folder / "clone"],
    ):
        done = sandbox.run(["git", *words], environment={})
        assert done.code == 0, done.err

    machine = Sandbox(folder / "clone", folder / "home", folder / "scratch", sandbox.programs)
    for place in (machine.home, machine.scratch):
        place.mkdir()
    (machine.scratch / "report.md").write_text(claiming().text, encoding="utf-8")
    # A variable of CI that a person set, and no file of the repository.
    known = {"CHECKS_DIGEST": content_digest(CHECKS.encode())}
    return machine.run(["sh", "ci.sh", machine.scratch / "report.md"], environment=known)


def subagent(model: ScriptedModel) -> Conversation:
    return [each for each in model.conversations if "GOOP-SUB" in each.first_text][-1]


@pytest.mark.requirement("G-28", "R-06")
def test_a_false_claim_is_rejected_in_the_host_and_found_in_ci(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    model = play_in_claude_code(sandbox, FALSE)
    text = subagent(model).text_of("user", "system")
    # The feedback names the run that shows it, and the agent that insists is not believed.
    [run] = sandbox.run(["goop-mcp", "evidence", "list"], environment={}).out.splitlines()
    assert "tests" in run
    assert "failed" in run
    assert run.split()[0] in text[text.index(OPENING) :]
    assert "is not accepted" in handed_back(model)
    assert "is not accepted" not in text[: text.index(OPENING)]

    ci = run_ci(sandbox, tmp_path)
    assert ci.code == 1, ci
    assert "tests: contradicted: pytest did not pass: exit code 1" in ci.out


@pytest.mark.requirement("G-28")
def test_a_claim_that_became_true_is_recorded_and_confirmed_in_ci(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    model = play_in_claude_code(sandbox, TRUE, require_evidence="recorded")
    assert subagent(model).times_received(OPENING) == 1
    assert "is not accepted" not in handed_back(model)
    shown = sandbox.run(["goop-mcp", "reports", "show", "1"], environment={}).out
    runs = sandbox.run(["goop-mcp", "evidence", "list"], environment={}).out.splitlines()
    assert len(runs) == 2
    # The newest run is listed first, and the report rests on it.
    assert "recorded" in shown
    assert runs[0].split()[0] in shown

    ci = run_ci(sandbox, tmp_path)
    assert ci.code == 0, ci
    assert "tests: confirmed: pytest passed" in ci.out

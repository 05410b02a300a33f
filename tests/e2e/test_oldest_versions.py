"""The oldest versions of the hosts that `install` and `doctor` name, and hosts that know no `args`.

They may be years older than what people use; nothing in goop-mcp depends on a version.
"""

import json
from pathlib import Path

import pytest

from goop_mcp.validation.feedback import OPENING
from tests.e2e import opencode
from tests.e2e.claude_code import PLUGIN, final_text, handed_back, run_claude, write_project
from tests.e2e.clients import CLAUDE_CODE_OLDEST, OPENCODE_OLDEST, Sandbox
from tests.e2e.script import DONE
from tests.e2e.scripted_model import ScriptedModel

REPAIRED = "<status>COMPLETE</status>"
EARLIER = (
    Path(__file__).parent.parent / "cases" / "hosts" / "claude_code" / "settings_with_args.json"
)
NO_CLAUDE, NO_OPENCODE = (
    pytest.mark.skipif(client.missing_reason() is not None, reason=client.missing_reason() or "")
    for client in (CLAUDE_CODE_OLDEST, OPENCODE_OLDEST)
)


def requests_to_fix(model: ScriptedModel) -> int:
    """Count how often a subagent was asked to fix its report."""
    turns = [each for each in model.conversations if "GOOP-SUB" in each.first_text]
    return turns[-1].times_received(OPENING)


def set_up(sandbox: Sandbox, how: str) -> tuple[str, list[str | Path]]:
    """Install goop-mcp; return the name of the agent that reports, and options of the host."""
    if how == "plugin":
        return "goop-mcp:goop-executor", ["--plugin-dir", PLUGIN]

    settings = json.loads(EARLIER.read_text(encoding="utf-8")) if how == "args" else None
    write_project(sandbox, settings=settings)
    if how == "installed":
        opencode.install(sandbox, "claude-code")
    return "goop-executor", []


@NO_CLAUDE
@pytest.mark.parametrize("how", ["installed", "plugin", "args"])
@pytest.mark.parametrize("scene", ["", "GOOP-STUBBORN"])
def test_claude_code_sends_reports_back_and_runs_no_words_of_a_prompt(
    sandbox: Sandbox, model: ScriptedModel, how: str, scene: str
) -> None:
    """This version ignores `args`: what an earlier goop-mcp wrote starts it without them."""
    agent, options = set_up(sandbox, how)
    words = "$(touch ran) `touch ran`"
    ended = run_claude(
        sandbox,
        model,
        f"GOOP-MAIN {scene} delegate {words} agent={agent}",
        arguments=options,
        client=CLAUDE_CODE_OLDEST,
    )
    assert ended.code == 0, ended.err
    assert final_text(ended) == DONE
    assert requests_to_fix(model) == (2 if scene else 1)
    assert REPAIRED in handed_back(model)
    assert list(sandbox.project.parent.rglob("ran")) == []


@NO_OPENCODE
def test_opencode_sends_reports_back(sandbox: Sandbox, model: ScriptedModel) -> None:
    opencode.write_project(sandbox)
    opencode.install(sandbox)
    ended = opencode.run_opencode(
        sandbox, model, "run", "--format", "json", "GOOP-MAIN delegate", client=OPENCODE_OLDEST
    )
    assert ended.code == 0, ended.err
    assert DONE in ended.out
    assert requests_to_fix(model) == 1
    assert REPAIRED in opencode.handed_back(model)

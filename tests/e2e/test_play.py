"""A short project in the real clients: a person at a terminal, bad reports, a new session."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from goop_mcp.cli.demo import full_texts
from tests.e2e.claude_code import converse
from tests.e2e.claude_code import write_project as write_agents_of_claude
from tests.e2e.clients import CLAUDE_CODE, OPENCODE, Ended, Sandbox
from tests.e2e.conversation import Conversation
from tests.e2e.opencode import delegate, install
from tests.e2e.opencode import write_project as write_agents_of_opencode
from tests.e2e.play import FILES, LIE, answer_in_play
from tests.e2e.screen import ENTER, on_screen
from tests.e2e.scripted_model import ScriptedModel, scripted_model

Run = Callable[[Sandbox, ScriptedModel, str], Ended]
"""How a client is run with a prompt, in a new session."""


def goop(sandbox: Sandbox, *words: str) -> Ended:
    return sandbox.run([sandbox.programs / "goop-mcp", *words], environment={})


def status(sandbox: Sandbox) -> dict[str, Any]:
    """Return the status, in which nothing may disagree."""
    ended = goop(sandbox, "status", "--format", "json")
    found: dict[str, Any] = json.loads(ended.out)
    assert [each for each in found["drift"] if each["severity"] != "info"] == []
    return found


def main_agent(model: ScriptedModel) -> Conversation:
    """Return the last request of the orchestrator with all that it has received."""
    return [each for each in model.conversations if "GOOP-PLAY" in each.text_of("user")][-1]


def lock_at_terminal(sandbox: Sandbox) -> None:
    """Confirm what waits as a person does, with the command that the answer named."""
    command = [str(sandbox.programs / "goop-mcp"), "project", "lock"]
    with on_screen(command, cwd=sandbox.project, environment=sandbox.environment({})) as terminal:
        terminal.wait_for("[y/N]")
        terminal.press(f"y{ENTER}", then="Locked")


def start(sandbox: Sandbox) -> None:
    """Create the project, in which a person has answered and a planner has planned."""
    ended = goop(sandbox, "init", "--name", "linkcheck")
    assert ended.code == 0, ended.err
    folder = sandbox.project / ".goopspec"
    for name, text in (
        ("REQUIREMENTS.md", full_texts.REQUIREMENTS),
        ("SPEC.md", full_texts.SPEC),
        ("BLUEPRINT.md", full_texts.BLUEPRINT),
    ):
        (folder / name).write_text(text, encoding="utf-8")


def play(sandbox: Sandbox, run: Run) -> None:
    """Play the project; assert after every session that all of it agrees."""
    start(sandbox)
    with scripted_model(answer_in_play) as model:
        run(sandbox, model, "GOOP-PLAY plan")
        planned = status(sandbox)
        assert (planned["phase"], planned["spec_locked"]) == ("plan", False)
        assert [each["action"] for each in planned["waiting"]] == ["lock_spec"]
        received = main_agent(model).text_of("user", "tool")
        assert "Specification not locked. Run /goop-plan to confirm and lock first." in received
        assert "goop-mcp project lock" in received

        lock_at_terminal(sandbox)
        locked = status(sandbox)
        assert (locked["spec_locked"], locked["waiting"]) == (True, [])

        run(sandbox, model, "GOOP-PLAY work")
        worked = status(sandbox)
        assert worked["phase"] == "execute"
        received = main_agent(model).text_of("user", "tool", "system")
        assert "goop-mcp recorded this report as report 1 (goop-executor, COMPLETE, W1.T1)" in (
            received
        )
        agent = [each for each in model.conversations if "GOOP-SUB W1.T1" in each.first_text][-1]
        assert LIE in agent.text_of("user", "system"), "the false claim was sent back"

        # A new session knows only what the project holds.
        run(sandbox, model, "GOOP-PLAY resume")
        received = main_agent(model).text_of("user", "tool", "system")
        assert "W1.T1 is done" in received
        assert "goop-mcp recorded this report as report 2 (goop-executor, COMPLETE, W1.T2)" in (
            received
        )

    ended = status(sandbox)
    done = {
        task["id"]
        for wave in ended["waves"]
        for task in wave["tasks"]
        if task["status"] in ("done", "completed", "complete")
    }
    assert done == set(FILES)
    chronicle = (sandbox.project / ".goopspec/CHRONICLE.md").read_text(encoding="utf-8")
    assert chronicle.count("The file of W1.T1 is written") >= 1


@pytest.mark.skipif(
    CLAUDE_CODE.missing_reason() is not None, reason=CLAUDE_CODE.missing_reason() or ""
)
def test_a_project_is_played_in_claude_code(sandbox: Sandbox) -> None:
    def run(sandbox: Sandbox, model: ScriptedModel, prompt: str) -> Ended:
        ended = converse(sandbox, model, [prompt])
        assert ended.code == 0, ended.err
        return ended

    write_agents_of_claude(sandbox, settings=None)
    install(sandbox, "claude-code")
    play(sandbox, run)


@pytest.mark.skipif(OPENCODE.missing_reason() is not None, reason=OPENCODE.missing_reason() or "")
def test_a_project_is_played_in_opencode(sandbox: Sandbox) -> None:
    def run(sandbox: Sandbox, model: ScriptedModel, prompt: str) -> Ended:
        ended = delegate(sandbox, model, prompt)
        assert ended.code == 0, ended.err
        return ended

    write_agents_of_opencode(sandbox)
    install(sandbox)
    play(sandbox, run)

"""The three hosts, in each of which a scene of a subagent is played while goop-mcp judges it."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e import claude_code, codex, opencode
from tests.e2e.clients import CLAUDE_CODE, CODEX, OPENCODE, Ended, Sandbox
from tests.e2e.conversation import Conversation
from tests.e2e.pace import patience
from tests.e2e.recording.hosts import prepare
from tests.e2e.recording.playing import play
from tests.e2e.recording.steps import Scene
from tests.e2e.scripted_model import ScriptedModel, scripted_model

__all__ = [
    "CLIENTS",
    "absent",
    "assert_ended_well",
    "each_host",
    "handed_back",
    "main_agent",
    "on_claude_code",
    "playing",
    "subagent",
]

CLIENTS = {"claude-code": CLAUDE_CODE, "codex": CODEX, "opencode": OPENCODE}


def absent(name: str) -> pytest.MarkDecorator:
    missing = CLIENTS[name].missing_reason()
    return pytest.mark.skipif(missing is not None, reason=missing or "")


each_host = pytest.mark.parametrize(
    "host", [pytest.param(name, marks=absent(name)) for name in CLIENTS]
)
on_claude_code = absent("claude-code")


@contextmanager
def playing(scene: Scene, sandbox: Sandbox, host: str) -> Iterator[ScriptedModel]:
    """Play the scene in a project with goop-mcp, and yield the model when the client has ended."""
    prepare(sandbox, scene)
    script = play(scene, project=str(sandbox.project), killed=lambda: None)
    with scripted_model(script) as model:
        if host == "claude-code":
            claude_code.write_project(sandbox, settings=claude_code.hook_settings())
            ended = claude_code.run_claude(
                sandbox, model, "GOOP-MAIN delegate", background=scene.background
            )
        elif host == "codex":
            codex.write_home(sandbox, model)
            ended = codex.run_codex(sandbox, "GOOP-MAIN delegate")
        else:
            opencode.write_project(sandbox)
            opencode.install(sandbox)
            ended = opencode.delegate(sandbox, model, "GOOP-MAIN delegate")

        assert_ended_well(ended)
        yield model


def assert_ended_well(ended: Ended) -> None:
    assert ended.code == 0, ended.err
    assert "All subagents are done." in ended.out
    assert ended.seconds < patience()


def subagent(model: ScriptedModel) -> Conversation:
    """Return the last conversation of the subagent."""
    return [each for each in model.conversations if "GOOP-SUB" in each.first_text][-1]


def main_agent(model: ScriptedModel) -> Conversation:
    """Return the last conversation of the main agent."""
    return [each for each in model.conversations if "GOOP-MAIN" in each.first_text][-1]


def handed_back(model: ScriptedModel) -> str:
    """Return what the main agent received, with the report of its subagent."""
    main = main_agent(model)
    if main.form == "responses":
        return codex.handed_back(model)
    return main.text_of("user", "tool", "system")

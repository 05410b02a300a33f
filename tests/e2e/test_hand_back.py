"""Subagents that hand their report back with a tool, as those of Claude Code do in its auto mode.

Later versions let their service decide about each action, so that nothing can be done in auto mode
with a model on loopback. This one asks its model.
"""

from collections.abc import Iterator

import pytest

from goop_mcp.validation.feedback import OPENING
from tests.e2e import opencode
from tests.e2e.claude_code import PLUGIN, final_text, handed_back, run_claude, write_project
from tests.e2e.clients import CLAUDE_CODE_AUTO, Sandbox
from tests.e2e.conversation import Conversation, ToolCall
from tests.e2e.script import BAD_REPORTS, DONE, GOOD_REPORT, after_tests, answer
from tests.e2e.scripted_model import ScriptedModel, scripted_model

HAND_BACK = "SubagentHandback"
DELIVERED = "This agent's report was delivered to you"
NOT_ACCEPTED = "goop-mcp: the report of goop-executor is not accepted"

pytestmark = pytest.mark.skipif(
    CLAUDE_CODE_AUTO.missing_reason() is not None, reason=CLAUDE_CODE_AUTO.missing_reason() or ""
)


def script(conversation: Conversation) -> str | ToolCall:
    """Let every action happen, and hand back what the script of the other scenes ends with."""
    if not conversation.tools:
        return "<severity>3</severity>"
    reply = answer(conversation)
    if HAND_BACK not in conversation.tools or isinstance(reply, ToolCall):
        return reply
    if "GOOP-QUIET" in conversation.first_text:
        return after_tests(conversation, GOOD_REPORT)
    return ToolCall(HAND_BACK, {"message": reply})


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """Run the model that hands back."""
    with scripted_model(script) as server:
        yield server


def play(sandbox: Sandbox, model: ScriptedModel, scene: str, *, how: str = "installed") -> int:
    """Run the scene; return how often the subagent was asked to fix its report."""
    write_project(sandbox, settings=None)
    options = ["--permission-mode", "auto"]
    agent = "goop-executor"
    if how == "plugin":
        options += ["--plugin-dir", str(PLUGIN)]
        agent = "goop-mcp:goop-executor"
    else:
        opencode.install(sandbox, "claude-code")

    ended = run_claude(
        sandbox,
        model,
        f"GOOP-MAIN {scene} delegate agent={agent}",
        arguments=options,
        client=CLAUDE_CODE_AUTO,
    )
    assert ended.code == 0, ended.err
    assert final_text(ended) == DONE
    turns = [each for each in model.conversations if HAND_BACK in each.tools]
    return turns[-1].times_received(OPENING)


@pytest.mark.parametrize("how", ["installed", "plugin"])
def test_a_bad_report_that_is_handed_back_is_refused_and_fixed(
    sandbox: Sandbox, model: ScriptedModel, how: str
) -> None:
    assert play(sandbox, model, "", how=how) == 1
    received = handed_back(model)
    assert DELIVERED in received
    assert "<status>COMPLETE</status>" in received
    assert BAD_REPORTS[0] not in received
    assert "goop-mcp: the report" not in received


def test_a_report_that_stays_bad_is_delivered_with_a_mark(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    assert play(sandbox, model, "GOOP-STUBBORN") == 2
    received = handed_back(model)
    assert DELIVERED in received
    assert "<phase>coding</phase>" in received
    assert NOT_ACCEPTED in received


def test_the_parent_learns_that_a_report_was_not_handed_back(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    assert play(sandbox, model, "GOOP-QUIET") == 0
    received = handed_back(model)
    assert "<status>COMPLETE</status>" not in received
    assert "goop-mcp: the host withheld the report of goop-executor" in received


def test_a_report_that_the_host_warns_of_has_a_mark(sandbox: Sandbox) -> None:
    def warn(conversation: Conversation) -> str | ToolCall:
        asked = not conversation.tools and "<goop_report" in conversation.text_of("user")
        return "<severity>90</severity>" if asked else script(conversation)

    with scripted_model(warn) as model:
        play(sandbox, model, "")
        received = handed_back(model)
    assert "SECURITY WARNING" in received
    assert "goop-mcp: the host delivered the report of goop-executor with a security" in received

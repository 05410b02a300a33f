"""Claude Code's own tasks: one that a plan names is completed with its report, or asked once."""

from pathlib import Path

import pytest

from tests.e2e.claude_code import claude_environment, write_json, write_project
from tests.e2e.clients import CLAUDE_CODE, Ended, Sandbox
from tests.e2e.conversation import Conversation, ToolCall
from tests.e2e.pace import patience
from tests.e2e.scripted_model import ScriptedModel, scripted_model
from tests.services.reporting import record, report, working_in
from tests.workspace.projects import copied

pytestmark = pytest.mark.skipif(
    CLAUDE_CODE.missing_reason() is not None, reason=CLAUDE_CODE.missing_reason() or ""
)
BLOCKED = "W2.T1 has no accepted report in this round"


def completing(conversation: Conversation) -> str | ToolCall:
    """Create a task, and complete it until the host accepts that, three times at most."""
    if "GOOP-MAIN" not in conversation.text_of("user"):
        return "ok"

    calls = [call for message in conversation.messages for call in message.calls]
    if "TaskCreate" not in conversation.tools:
        query = {"query": "select:TaskCreate,TaskUpdate", "max_results": 5}
        return "No tasks here." if "ToolSearch" in calls else ToolCall("ToolSearch", query)
    if "TaskCreate" not in calls:
        task = {"subject": "W2.T1: add login", "description": "Build it"}
        return ToolCall("TaskCreate", task)

    tries = calls.count("TaskUpdate")
    feedback = conversation.text_of("user", "system").count("TaskCompleted hook feedback")
    if tries == 0 or (tries == feedback and tries < 3):
        return ToolCall("TaskUpdate", {"taskId": "1", "status": "completed"})
    return "All is done."


def play(sandbox: Sandbox, model: ScriptedModel) -> Ended:
    arguments = ["-p", "GOOP-MAIN go", "--output-format", "stream-json", "--verbose"]
    arguments += ["--allowedTools", "TaskCreate", "TaskUpdate", "ToolSearch"]
    own = {**claude_environment(sandbox, model), "CLAUDE_CODE_ENABLE_TASKS": "1"}
    ended = sandbox.run([CLAUDE_CODE.path, *arguments], environment=own)
    assert ended.code == 0, ended.err
    assert ended.seconds < patience()
    return ended


def tried(model: ScriptedModel) -> tuple[int, int]:
    """Return how often the agent completed its task, and how often it was blocked."""
    last = [each for each in model.conversations if "GOOP-MAIN" in each.text_of("user")][-1]
    calls = [call for message in last.messages for call in message.calls]
    return calls.count("TaskUpdate"), last.times_received(BLOCKED)


def prepare(sandbox: Sandbox, *options: str) -> None:
    copied("profile_0x", sandbox.project)
    write_project(sandbox, settings=None)
    command: list[str | Path] = [sandbox.programs / "goop-mcp", "install", "claude-code", *options]
    installed = sandbox.run(command, environment={})
    assert installed.code == 0, installed.err
    write_json(sandbox.project / ".goopspec" / "hooks.json", {"tasks": True})


def test_a_task_without_a_report_is_blocked_once_and_then_completed(sandbox: Sandbox) -> None:
    prepare(sandbox, "--tasks")
    with scripted_model(completing) as model:
        assert "All is done." in play(sandbox, model).out
        assert tried(model) == (2, 1)


def test_a_task_with_its_report_is_completed_at_once(sandbox: Sandbox) -> None:
    prepare(sandbox, "--tasks")
    with working_in(sandbox.project) as context:
        record(context, report("W2.T1"))
    with scripted_model(completing) as model:
        assert "All is done." in play(sandbox, model).out
        assert tried(model) == (1, 0)


def test_without_the_option_nothing_is_installed_for_tasks(sandbox: Sandbox) -> None:
    prepare(sandbox)
    with scripted_model(completing) as model:
        assert "All is done." in play(sandbox, model).out
        assert tried(model) == (1, 0)

"""A graph whose agent is the real OpenCode, spoken to with the Agent Client Protocol.

Its model is scripted: its first reply has no report, and it corrects that in its conversation.
"""

import json
from pathlib import Path

import pytest

from goop_mcp.delegation import Graph
from tests.delegation.reports import report
from tests.e2e import opencode
from tests.e2e.clients import OPENCODE, Sandbox
from tests.e2e.conversation import Conversation, ToolCall
from tests.e2e.opencode import opencode_environment
from tests.e2e.script import after_tests
from tests.e2e.scripted_model import scripted_model

MISSING = OPENCODE.missing_reason()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")

GRAPH = f"""\
graph = 1
name = "spoken"
protocol = "goop_report"
[agents.worker]
run = "acp"
command = ["{OPENCODE.path}", "acp"]
[tasks.api]
agent = "worker"
prompt = "TASK-API: build the endpoint."
[tasks.test]
agent = "worker"
needs = ["api"]
prompt = "TASK-TEST: test this: ${{api.summary}}"
"""


def play(conversation: Conversation) -> str | ToolCall:
    """Answer without a report at first, and as an agent that remembers afterwards."""
    asked = conversation.text_of("user")
    if "TASK-" not in asked:
        return "ok"
    if "was not accepted" not in asked:
        return "It is all done."
    if "TASK-TEST" in asked:
        return after_tests(conversation, report(agent="goop-tester", summary="12 tests pass."))
    return after_tests(conversation, report(summary="An endpoint for the login."))


def test_open_code_does_the_tasks_of_a_graph_and_corrects_its_reports(sandbox: Sandbox) -> None:
    opencode.write_project(sandbox)
    graph: Path = sandbox.project / "spoken.toml"
    graph.write_text(GRAPH, encoding="utf-8")
    trust = Graph.load(graph).digest

    with scripted_model(play) as model:
        ended = sandbox.run(
            [
                *(sandbox.programs / "goop-mcp", "delegate", "spoken.toml"),
                *("--trust", trust, "--format", "jsonl"),
            ],
            environment=opencode_environment(model),
        )
        heard = [each.text_of("user") for each in model.conversations]

    assert ended.code == 0, (ended.out, ended.err)
    events = [json.loads(line) for line in ended.out.splitlines()]
    asked = [(each["task"], each["data"]["way"]) for each in events if each["what"] == "asked"]
    assert asked == [
        *(("api", "first"), ("api", "same_conversation")),
        *(("test", "first"), ("test", "same_conversation")),
    ]
    # The model saw the task and the correction in one conversation, and what was accepted before.
    corrected = [text for text in heard if "was not accepted" in text]
    assert any("TASK-API" in text for text in corrected)
    assert any("test this: An endpoint for the login." in text for text in corrected)
    # What it used is known.
    answered = [each["data"] for each in events if each["what"] == "answered"]
    assert all(each.get("tokens") for each in answered), answered

"""The answers of the scripted model.

They depend only on the conversation in the request, because clients may repeat a request. An agent
that claims passed tests has run them: only `tests.e2e.recording.scenes` has others.

Marks in the task choose the scene:

    GOOP-MAIN      the main agent: it delegates once with the mark GOOP-SUB, then ends
    GOOP-SUB       the subagent: a bad report, and a good one after our feedback
    GOOP-STUBBORN  the subagent never fixes its report, and makes other mistakes each time
    GOOP-SAME      the subagent sends the same bad report each time
    GOOP-LOWER     the subagent that is sent back writes settings by which it need not report
    GOOP-TOOL      the subagent calls validate_report before it reports
    GOOP-QUIET     the subagent writes a good report and hands nothing back
    GOOP-FREE      the subagent is of the client's own kind, which need not report
    GOOP-OWN       the main agent reports itself and delegates nothing
    GOOP-STEP      the main agent takes a step of the project that needs a person
"""

import re

from goop_mcp.validation.feedback import OPENING
from tests.e2e.clients import TESTS_OF_LOGIN
from tests.e2e.conversation import Conversation, Json, ToolCall

__all__ = [
    "BAD_REPORTS",
    "CHAT",
    "DELEGATING",
    "DONE",
    "GOOD_REPORT",
    "RUN_TESTS",
    "after_tests",
    "answer",
    "call_of",
    "next_line",
]

GOOD_REPORT = """\
I added the endpoint. Its report:

<goop_report version="0.1.6">
  <status>COMPLETE</status>
  <agent>goop-executor</agent>
  <task_id>W1.T2</task_id>
  <state><phase>execute</phase></state>
  <summary>Added the login endpoint.</summary>
  <artifacts>
    <files><file path="src/login.py" action="created">Login endpoint</file></files>
    <commits><commit sha="a1b2c3d">feat(auth): add login endpoint</commit></commits>
  </artifacts>
  <memory><saved type="decision" importance="0.7">Sessions are kept in Redis</saved></memory>
  <verification><check name="tests" passed="true">pytest: 12 passed</check></verification>
  <handoff>
    <ready>true</ready>
    <next_action agent="goop-tester">W1.T3: test the login endpoint</next_action>
    <blockers>None</blockers>
    <suggest_new_session>false</suggest_new_session>
  </handoff>
</goop_report>
"""

BAD_REPORTS = (
    "I did the work but forgot the envelope.",
    GOOD_REPORT.replace("COMPLETE", "FINISHED"),
    GOOD_REPORT.replace("<phase>execute</phase>", "<phase>coding</phase>"),
    GOOD_REPORT.replace("<ready>true</ready>", ""),
)
"""Each has other errors than the one before."""

DONE = "All subagents are done."
CHAT = "ok"
_MOST_SEARCHES = 100
DELEGATING = ("Agent", "Task", "task", "multi_agent_v1.spawn_agent")
_WAITING = "multi_agent_v1.wait_agent"
RUN_TESTS = f"pytest -q {TESTS_OF_LOGIN}"
_PASSED = '<check name="tests" passed="true">'
_SHELLS = ("Bash", "bash", "exec_command")
_MARKS = ("GOOP-STUBBORN", "GOOP-SAME", "GOOP-TOOL", "GOOP-FREE", "GOOP-LOWER", "GOOP-QUIET")
_LAX = "printf '[hooks]\\nagents = []\\n' > goop-mcp.toml"


def answer(conversation: Conversation) -> str | ToolCall:
    """Return the next message of the model, or the tool that it calls."""
    if "GOOP-SUB" in conversation.first_text:
        return _subagent(conversation)
    if "GOOP-STEP" in conversation.text_of("user"):
        return call_of(conversation, "update_project", {"action": "confirm_merge"}) or DONE
    if "GOOP-MAIN" in conversation.text_of("user"):
        return _main(conversation)
    return CHAT


def _main(conversation: Conversation) -> str | ToolCall:
    text = conversation.text_of("user")
    if "GOOP-OWN" in text:
        return _report(conversation)

    delegate = next((name for name in DELEGATING if name in conversation.tools), None)
    if delegate is None or conversation.has_called(delegate):
        return _wait(conversation) or DONE

    marks = " ".join(mark for mark in _MARKS if mark in text)
    kind = "general-purpose" if "GOOP-FREE" in text else _agent_kind(text)
    prompt = f"GOOP-SUB {marks} add the login endpoint"
    if _WAITING in conversation.tools:
        return ToolCall(delegate, {"agent_type": kind, "message": prompt})
    return ToolCall(delegate, {"description": "Add login", "prompt": prompt, "subagent_type": kind})


def _wait(conversation: Conversation) -> ToolCall | None:
    """Return the call that waits for the subagents, if the client needs one and it is due."""
    started = re.findall(r'"agent_id": ?"([^"]+)"', conversation.text_of("tool"))
    if not started or _WAITING not in conversation.tools or conversation.has_called(_WAITING):
        return None
    return ToolCall(_WAITING, {"targets": started, "timeout_ms": 30_000})


def _agent_kind(text: str) -> str:
    """Return the agent to start: the one that the task names with `agent=`, else the executor."""
    named = re.search(r"agent=(\S+)", text)
    return named[1] if named else "goop-executor"


def _subagent(conversation: Conversation) -> str | ToolCall:
    if "GOOP-TOOL" in conversation.first_text:
        call = call_of(conversation, "validate_report", {"text": BAD_REPORTS[1]})
        if call is not None:
            return call
    if "GOOP-LOWER" in conversation.first_text and conversation.times_received(OPENING) > 0:
        call = next_line(conversation, _LAX)
        if call is not None:
            return call
    return _report(conversation)


def after_tests(conversation: Conversation, report: str) -> str | ToolCall:
    """Return `report`, or first the run of the tests that it says have passed."""
    if _PASSED not in report:
        return report
    return next_line(conversation, RUN_TESTS) or report


def next_line(conversation: Conversation, *lines: str) -> ToolCall | None:
    """Return the call that runs the next of `lines`; None after all, or where there is no shell."""
    shell = next((name for name in _SHELLS if name in conversation.tools), None)
    done = sum(shell in message.calls for message in conversation.messages)
    if shell is None or done >= len(lines):
        return None
    line = lines[done]
    if shell == "exec_command":
        return ToolCall(shell, {"cmd": line, "yield_time_ms": 30_000})
    return ToolCall(shell, {"command": line, "description": "Run a command"})


def call_of(
    conversation: Conversation, name: str, arguments: Json, *, since: int = 0
) -> ToolCall | None:
    """Return the call of our tool, or the search for it first; None after it was called.

    Only the messages from number `since` count.
    """
    ours = re.compile(f"goop.*{name}")
    tool = next((each for each in conversation.tools if ours.search(each)), None)
    if tool is not None:
        called = any(tool in message.calls for message in conversation.messages[since:])
        return None if called else ToolCall(tool, arguments)

    # A server that is still starting is found by one of the next searches.
    searches = sum("ToolSearch" in message.calls for message in conversation.messages)
    if "ToolSearch" in conversation.tools and searches < _MOST_SEARCHES:
        return ToolCall("ToolSearch", {"query": f"+goop {name}", "max_results": 5})
    return None


def _report(conversation: Conversation) -> str | ToolCall:
    times = conversation.times_received(OPENING)
    text = conversation.text_of("user")
    if "GOOP-SAME" in text:
        return BAD_REPORTS[0]

    # A main agent need not send an envelope, so the first bad report would pass.
    bad = BAD_REPORTS[1:] if "GOOP-OWN" in text else BAD_REPORTS
    if "GOOP-STUBBORN" in text:
        return after_tests(conversation, bad[times % len(bad)])
    return after_tests(conversation, GOOD_REPORT if times else bad[0])

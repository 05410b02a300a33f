"""A model that only follows its instructions: it builds its report, and records by reference.

The subagent knows of `build_report` from its briefing alone. The main agent never writes the reply
of the subagent out again: it names the agent.
"""

import json
import re
from typing import Final

from tests.e2e.conversation import Conversation, ToolCall
from tests.e2e.script import DONE, after_tests, call_of

__all__ = ["FIELDS", "build_and_record", "envelope_in"]

FIELDS: Final = {
    "status": "COMPLETE",
    "agent": "goop-executor",
    "phase": "execute",
    "task_id": "W1.T2",
    "summary": "Sorts by a < b && b < c now.",
    "checks": [{"name": "tests", "passed": True, "evidence": "pytest -q: 12 passed"}],
    "next_action": "Go on with the plan",
}
_DELEGATING = ("Agent", "Task", "task")
_ENVELOPE = re.compile(r"<goop_report\b.*?</goop_report>", re.DOTALL)


def build_and_record(conversation: Conversation) -> str | ToolCall:
    """Return the next message of the model, or the tool that it calls."""
    if "GOOP-SUB" in conversation.first_text:
        return _build(conversation)
    if "GOOP-MAIN" not in conversation.text_of("user"):
        return "ok"

    delegate = next((name for name in _DELEGATING if name in conversation.tools), None)
    if delegate is not None and not conversation.has_called(delegate):
        prompt = "GOOP-SUB sort the table"
        return ToolCall(
            delegate,
            {"description": "Sort", "prompt": prompt, "subagent_type": "goop-executor"},
        )

    by_name = {"agent": "goop-executor", "last": True}
    return call_of(conversation, "record_report", by_name) or DONE


def _build(conversation: Conversation) -> str | ToolCall:
    briefing = conversation.text_of("user", "system", "prompt")
    if "Build it with the tool build_report" not in briefing:
        return "There was no word on how to report."
    if (call := call_of(conversation, "build_report", FIELDS)) is not None:
        return call
    built = next(
        envelope
        for message in reversed(conversation.messages)
        if (envelope := envelope_in(message.text))
    )
    return after_tests(conversation, f"I sorted the table.\n\n{built}")


def envelope_in(answer: str) -> str:
    """Return the envelope in an answer of build_report, as text or as JSON; "" without one."""
    # Some clients give their model the structured answer only.
    try:
        values = json.loads(answer[answer.index("{") : answer.rindex("}") + 1])
    except ValueError:
        values = None

    text = str(values.get("text", "")) if isinstance(values, dict) else answer
    found = _ENVELOPE.search(text)

    return found[0] if found else ""

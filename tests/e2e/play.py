"""A short project, played by a scripted orchestrator and its agent in a real client.

The first message of a session names its chapter with the mark GOOP-PLAY. The agent of a task sends
no report first, then one that claims a file which does not exist, then writes the file.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from goop_mcp.cli.demo import full_texts
from goop_mcp.validation.feedback import OPENING
from tests.e2e.conversation import Conversation, ToolCall
from tests.e2e.script import CHAT, DELEGATING, DONE, call_of

__all__ = ["FILES", "LIE", "NO_REPORT", "TASKS", "Play"]

FILES = {"W1.T1": "linkcheck/pages.py", "W1.T2": "linkcheck/links.py"}
TASKS = tuple(FILES)
NO_REPORT = "I built it, and all tests pass."
LIE = "does not exist"
_CHAPTERS: Mapping[str, Sequence[ToolCall]] = {
    "plan": (
        ToolCall("update_project", {"action": "complete_interview"}),
        ToolCall("update_project", {"action": "start_phase", "phase": "plan"}),
        ToolCall("update_project", {"action": "start_phase", "phase": "execute"}),
        ToolCall("update_project", {"action": "lock_spec"}),
    ),
    "work": (
        ToolCall("update_project", {"action": "start_phase", "phase": "execute"}),
        ToolCall("delegate", {"task": "W1.T1"}),
        ToolCall("update_project", {"action": "checkpoint", "note": "W1.T1 is done"}),
    ),
    "resume": (
        ToolCall("update_project", {"action": "resume"}),
        ToolCall("delegate", {"task": "W1.T2"}),
        ToolCall("project_status", {}),
    ),
}


class Play:
    """The model of all agents; `project` is the folder in which the agent writes its files."""

    def __init__(self, project: Path) -> None:
        self._project = project

    def __call__(self, conversation: Conversation) -> str | ToolCall:
        """Return the next message or call."""
        # Clients ask for a title as well, without any tools.
        if not conversation.tools:
            return CHAT

        task = re.search(r"GOOP-SUB (\S+)", conversation.first_text)
        if task is not None:
            return self._report(conversation, task[1])

        chapter = re.search(r"GOOP-PLAY (\w+)", conversation.text_of("user"))
        return CHAT if chapter is None else _move(conversation, _CHAPTERS[chapter[1]])

    def _report(self, conversation: Conversation, task: str) -> str:
        times = conversation.times_received(OPENING)
        if times == 0:
            return NO_REPORT

        if times > 1:
            file = self._project / FILES[task]
            file.parent.mkdir(exist_ok=True)
            file.write_text('"""A part of the link checker."""\n', encoding="utf-8")

        return full_texts.report(
            task,
            of=(3, 2),
            summary=f"The file of {task} is written",
            file=FILES[task],
            next_action="Go on with the plan",
        )


def _move(conversation: Conversation, moves: Sequence[ToolCall]) -> str | ToolCall:
    """Return the first of `moves` that the orchestrator has not made."""
    made = [
        number
        for number, message in enumerate(conversation.messages)
        if message.calls and "ToolSearch" not in message.calls
    ]
    if len(made) >= len(moves):
        return DONE

    move = moves[len(made)]
    if move.name != "delegate":
        since = made[-1] + 1 if made else 0
        return call_of(conversation, move.name, move.arguments, since=since) or DONE

    delegate = next(name for name in DELEGATING if name in conversation.tools)
    prompt = f"GOOP-SUB {move.arguments['task']} of the plan"
    kind = {"description": "A task", "prompt": prompt, "subagent_type": "goop-executor"}
    return ToolCall(delegate, kind)

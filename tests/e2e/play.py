"""A short project, played by a scripted orchestrator and its agent in a real client.

The first message of a session names its chapter with the mark GOOP-PLAY. The agent of a task sends
no report first, then one that claims a file which does not exist, then writes the file.
"""

import re
from collections.abc import Mapping, Sequence

from goop_mcp.cli.demo import full_texts
from goop_mcp.validation.feedback import OPENING
from tests.e2e.conversation import Conversation, ToolCall
from tests.e2e.script import CHAT, DELEGATING, DONE, RUN_TESTS, call_of, next_line

__all__ = ["FILES", "LIE", "NO_REPORT", "TASKS", "answer_in_play"]

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


def answer_in_play(conversation: Conversation) -> str | ToolCall:
    """Return the next message or call of any agent of the play."""
    # Clients ask for a title as well, without any tools.
    if not conversation.tools:
        return CHAT

    task = re.search(r"GOOP-SUB (\S+)", conversation.first_text)
    if task is not None:
        return _report(conversation, task[1])

    chapter = re.search(r"GOOP-PLAY (\w+)", conversation.text_of("user"))
    return CHAT if chapter is None else _move(conversation, _CHAPTERS[chapter[1]])


def _report(conversation: Conversation, task: str) -> str | ToolCall:
    times = conversation.times_received(OPENING)
    if times == 0:
        return NO_REPORT

    file = FILES[task]
    write = f"mkdir -p linkcheck && echo '# A part of the link checker' > {file}"
    lines = [RUN_TESTS, f"{write} && {RUN_TESTS}"]
    call = next_line(conversation, *lines[:times])
    if call is not None:
        return call

    return full_texts.report(
        task,
        of=(3, 2),
        summary=f"The file of {task} is written",
        file=file,
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

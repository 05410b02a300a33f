"""The events of Claude Code and Codex, one JSON object each on standard input.

Hosts add and drop keys from version to version: unknown keys are ignored, and a value that is
missing or of another type is None.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from goop_mcp.errors import GoopError
from goop_mcp.evidence.readers.blocks import objects, text_of
from goop_mcp.evidence.readers.hand_back import HAND_BACK_TOOL

__all__ = ["EventError", "HookEvent", "answer_bytes", "is_busy", "read_event"]

_LONGEST_REMARK = 500
_SHELLS = ("bash", "local_bash", "shell")


class EventError(GoopError, ValueError):
    """Raised when standard input does not hold the event of a hook."""


class HookEvent(NamedTuple):
    """One event of a host.

    `message` is the agent's last message, `transcript` the path of the file that holds it as well.
    `silent` is True where the host says that there is no last message. `hand_back` is the report
    that an agent is about to give to the tool that delivers it. `active` is true when the agent
    continues because a hook asked for it, `busy` when subagents still run in the background.
    `source` is what began the session: startup, resume, clear or compact. `result` is the text that
    a tool returned, "" where it returned none, with the type and the id of the agent that wrote it;
    `delivery` is what the host says of a report that the agent handed back: "send", "flagged" or
    "withheld"; `elsewhere` is True where `result` only says that such a report came as a message.
    `prompt` is the prompt to the main agent; `task_subject` and `task_description` are those of the
    task that the host calls completed. `session_work` is the session of the agent where the host
    keeps no file that a hook could read. `root` is the session that a person began, where subagents
    have sessions of their own.
    """

    name: str
    session: str | None = None
    prompt_id: str | None = None
    folder: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    message: str | None = None
    silent: bool = False
    hand_back: str | None = None
    transcript: str | None = None
    active: bool = False
    busy: bool = False
    tool: str | None = None
    result: str | None = None
    result_agent: str | None = None
    result_agent_id: str | None = None
    delivery: str | None = None
    elsewhere: bool = False
    prompt: str | None = None
    task_subject: str | None = None
    task_description: str | None = None
    session_work: Mapping[str, object] | None = None
    source: str | None = None
    root: str | None = None


def read_event(content: bytes) -> HookEvent:
    """Return the event in `content`; raise EventError if it is not a JSON object with a name."""
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        what = "not JSON" if content.strip() else "empty"
        raise EventError(
            f"standard input is {what}; expected the event of a hook as one JSON object"
        ) from None

    name = values.get("hook_event_name") if isinstance(values, Mapping) else None
    if not isinstance(values, Mapping) or not isinstance(name, str):
        raise EventError(
            "standard input names no event; expected an object with a text hook_event_name"
        )

    response, given = _object(values, "tool_response"), _object(values, "tool_input")

    delivery, result = _text(response, "handback"), _result(response)
    handed_back = _text(_object(response, "handbackReport"), "text")

    return HookEvent(
        name=name,
        session=_text(values, "session_id"),
        prompt_id=_text(values, "prompt_id") or _text(values, "turn_id"),  # Codex: turn_id
        folder=_text(values, "cwd"),
        agent_id=_text(values, "agent_id"),
        agent_type=_text(values, "agent_type"),
        message=_text(values, "last_assistant_message"),
        silent=values.get("last_assistant_message", "") is None,
        hand_back=_text(given, "message") if values.get("tool_name") == HAND_BACK_TOOL else None,
        transcript=_text(
            values, "agent_transcript_path" if name == "SubagentStop" else "transcript_path"
        ),
        active=values.get("stop_hook_active") is True,
        busy=is_busy(values.get("background_tasks")),
        tool=_text(values, "tool_name"),
        # What a tool delivered counts: the content then holds only remarks of the host.
        result=result if handed_back is None else handed_back,
        # Older hosts name the agent only in the call.
        result_agent=_text(response, "agentType") or _text(given, "subagent_type"),
        result_agent_id=_text(response, "agentId"),
        delivery=delivery,
        elsewhere=handed_back is None and _comes_elsewhere(delivery, result or ""),
        prompt=_text(values, "prompt"),
        task_subject=_text(values, "task_subject"),
        task_description=_text(values, "task_description"),
        session_work=work if isinstance(work := values.get("session"), Mapping) else None,
        source=_text(values, "source"),
        root=_text(values, "root_session_id") or _text(values, "session_id"),
    )


def answer_bytes(answer: Mapping[str, object]) -> bytes:
    """Return an answer to an event as the hosts read it."""
    return json.dumps(answer).encode()


def _result(response: Mapping[str, object]) -> str | None:
    """Return the text in the answer of a tool, None where the agent still works."""
    content = response.get("content")
    # Of a list of another form it is not known whether the agent wrote something.
    if isinstance(content, list) and len(objects(content)) < len(content):
        return None
    return text_of(content) if isinstance(content, str | list) else None


def _comes_elsewhere(delivery: str | None, result: str) -> bool:
    """Whether the host only says that a report was handed back, as some of its versions do."""
    is_remark = HAND_BACK_TOOL in result and len(result) <= _LONGEST_REMARK
    return delivery in ("send", "flagged") or is_remark


def _object(values: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = values.get(key)
    return value if isinstance(value, Mapping) else {}


def _text(values: Mapping[str, object], key: str) -> str | None:
    value = values.get(key)
    return value if isinstance(value, str) else None


def is_busy(tasks: object) -> bool:
    """Return whether an agent still works; shell commands do not count, they may never end."""
    return any(
        task.get("status") == "running" and task.get("type") not in _SHELLS
        for task in objects(tasks)
    )

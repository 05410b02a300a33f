"""The events of Claude Code and Codex, one JSON object each on standard input.

Hosts add and drop keys from version to version: unknown keys are ignored, and a value that is
missing or of another type is None.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from goop_mcp.errors import GoopError

__all__ = ["EventError", "HookEvent", "answer_bytes", "is_busy", "read_event"]

_SHELLS = ("bash", "local_bash", "shell")


class EventError(GoopError, ValueError):
    """Raised when standard input does not hold the event of a hook."""


class HookEvent(NamedTuple):
    """One event of a host.

    `message` is the agent's last message, `transcript` the path of the file that holds it as well.
    `active` is true when the agent continues because a hook asked for it, `busy` when subagents
    still run in the background. `source` is what began the session: startup, resume, clear or
    compact. `result` is the text that a tool returned, with the type and the id of the agent that
    wrote it; `prompt` is the prompt to the main agent; `task_subject` and `task_description` are
    those of the task that the host calls completed. `session_work` is the session of the agent
    where the host keeps no file that a hook could read. `root` is the session that a person began,
    where subagents have sessions of their own.
    """

    name: str
    session: str | None = None
    prompt_id: str | None = None
    folder: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    message: str | None = None
    transcript: str | None = None
    active: bool = False
    busy: bool = False
    tool: str | None = None
    result: str | None = None
    result_agent: str | None = None
    result_agent_id: str | None = None
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

    response = values.get("tool_response")
    response = response if isinstance(response, Mapping) else {}
    blocks = _objects(response.get("content"))
    texts = [text for block in blocks if isinstance(text := block.get("text"), str)]

    return HookEvent(
        name=name,
        session=_text(values, "session_id"),
        prompt_id=_text(values, "prompt_id") or _text(values, "turn_id"),  # Codex: turn_id
        folder=_text(values, "cwd"),
        agent_id=_text(values, "agent_id"),
        agent_type=_text(values, "agent_type"),
        message=_text(values, "last_assistant_message"),
        transcript=_text(
            values, "agent_transcript_path" if name == "SubagentStop" else "transcript_path"
        ),
        active=values.get("stop_hook_active") is True,
        busy=is_busy(values.get("background_tasks")),
        tool=_text(values, "tool_name"),
        # The host may put text of its own first, so the report is in the last block.
        result=texts[-1] if texts else None,
        result_agent=_text(response, "agentType"),
        result_agent_id=_text(response, "agentId"),
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


def _text(values: Mapping[str, object], key: str) -> str | None:
    value = values.get(key)
    return value if isinstance(value, str) else None


def is_busy(tasks: object) -> bool:
    """Return whether an agent still works; shell commands do not count, they may never end."""
    return any(
        task.get("status") == "running" and task.get("type") not in _SHELLS
        for task in _objects(tasks)
    )


def _objects(value: object) -> Sequence[Mapping[str, object]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []

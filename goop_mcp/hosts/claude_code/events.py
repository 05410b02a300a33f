"""The events of Claude Code and Codex as they come on standard input, one JSON object each (HOSTS, 1.1).

Hosts add keys and leave keys out from version to version: what is unknown is ignored, what is missing or of another
type is None.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from goop_mcp.errors import GoopError

__all__ = ["EventError", "HookEvent", "is_busy", "read_event"]

_SHELLS = ("bash", "local_bash", "shell")


class EventError(GoopError, ValueError):
    """Raised when what came on standard input is no event of a hook."""


class HookEvent(NamedTuple):
    """One event. `message` is the agent's last text, raw; `transcript` the file that holds it too.

    `active` tells that the agent goes on because a hook asked for it. `busy` tells that subagents
    still run in the background. `result` is the text that a tool gave, `prompt` what the main agent
    is asked.
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
    prompt: str | None = None


def read_event(content: bytes) -> HookEvent:
    """Return the event in `content`. Raises EventError when it is no JSON object with a name."""
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        what = "no JSON" if content.strip() else "empty"
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

    return HookEvent(
        name=name,
        session=_text(values, "session_id"),
        prompt_id=_text(values, "prompt_id") or _text(values, "turn_id"),  # Codex counts turns
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
        result=_last_text(response.get("content")),
        result_agent=_text(response, "agentType"),
        prompt=_text(values, "prompt"),
    )


def _text(values: Mapping[str, object], key: str) -> str | None:
    value = values.get(key)
    return value if isinstance(value, str) else None


def is_busy(tasks: object) -> bool:
    """Tell whether somebody still works; a shell command in the background may run for ever and reports to nobody."""
    return any(
        task.get("status") == "running" and task.get("type") not in _SHELLS
        for task in _objects(tasks)
    )


def _last_text(content: object) -> str | None:
    """Return the last text of a tool's answer: a report stands behind what the host puts before it."""
    texts = [block.get("text") for block in _objects(content)]
    return next((text for text in reversed(texts) if isinstance(text, str)), None)


def _objects(value: object) -> Sequence[Mapping[str, object]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []

"""Read the transcript of an agent: its last message, and what it did.

The file is untrusted: it may be of any size, a pipe, or still being written.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from goop_mcp.evidence import readers
from goop_mcp.evidence.activity import NO_ACTIVITY
from goop_mcp.evidence.evidence import Evidence
from goop_mcp.evidence.readers.claude_code import HOST
from goop_mcp.services.small_files import read_end
from goop_mcp.services.transcripts import read_activity

if TYPE_CHECKING:
    from goop_mcp.services.stop_hooks.task_bases import TaskBase

__all__ = ["last_message", "observe"]

_MOST_BYTES = 8 * 1024 * 1024


def observe(
    session: Mapping[str, object] | None,
    path: str | None,
    report: str | None,
    *,
    host: str = HOST,
    base: "TaskBase | None",
) -> Evidence:
    """Return what the agent did until its `report`, from the session of OpenCode or else a file.

    `host` is "claude-code" or "codex", which wrote the file at `path`. `base` is what
    the agent began with, None if unknown.
    """
    if session is not None:
        activity = readers.opencode.read_opencode(session, report=report)
    else:
        activity = read_activity(path, report, host=host) if path else NO_ACTIVITY

    if base is None:
        return Evidence(activity=activity)
    return Evidence(activity=activity, base=base.commit, changed=base.changed, began=base.began)


def last_message(path: str) -> str | None:
    """Return the assistant's last message, None when the end of the file holds none.

    A transcript is JSON Lines. Each block of a message has a separate line, with the id of the
    message. A line that is not JSON, such as one that is being written, is skipped. Raises OSError.
    """
    found: list[str] = []
    message_id: object = None

    # Backwards, and only until another message begins: a transcript can be very long.
    for line in reversed(read_end(path, most=_MOST_BYTES).split(b"\n")):
        # Cheaper than decoding every line.
        if b'"assistant"' not in line:
            continue

        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue

        if not isinstance(entry, Mapping) or entry.get("type") != "assistant":
            continue
        if not isinstance(message := entry.get("message"), Mapping):
            continue
        if found and message.get("id") != message_id:
            break

        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        texts = [
            block.get("text")
            for block in blocks
            if isinstance(block, Mapping) and block.get("type") == "text"
        ]
        text = (
            content
            if isinstance(content, str)
            else "\n".join(text for text in texts if isinstance(text, str))
        )
        if text:
            found.append(text)
            message_id = message.get("id")
            if message_id is None:
                break

    return "\n".join(reversed(found)) if found else None

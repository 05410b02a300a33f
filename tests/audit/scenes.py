"""Transcripts of real hosts with another last message: what the agent states, not what ran."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

from goop_mcp.services.audit import Audit, AuditLimits, audit, find_transcripts, home_places
from tests.evidence.recorded import recorded

__all__ = ["HOSTS", "Turn", "audited", "claude_session", "messages", "transcript"]

HOSTS = ("claude-code", "codex", "opencode")
Turn: TypeAlias = Iterable[tuple[str, str, int] | str]
"""Commands with their output and status, and the message that ends it."""

_MESSAGES = Path(__file__).parent / "messages.jsonl"


def messages(kind: str) -> list[tuple[str, str]]:
    """Return the scene and the text of each message of this kind: "honest" or "lie"."""
    lines = map(json.loads, _MESSAGES.read_text(encoding="utf-8").splitlines())
    return [(each["scene"], each["text"]) for each in lines if each["kind"] == kind]


def transcript(scene: str, text: str, *, host: str = "claude-code") -> bytes:
    """Return the recorded transcript of the scene whose last message is `text`."""
    record = recorded(scene, host)
    content = record.file.read_text(encoding="utf-8")
    stated = json.dumps(record.report, ensure_ascii=False)[1:-1]
    assert stated in content
    return content.replace(stated, json.dumps(text, ensure_ascii=False)[1:-1]).encode()


def audited(folder: Path, limits: AuditLimits | None = None) -> Audit:
    """Return the audit of all transcripts in the folder."""
    found = find_transcripts(home_places({}), project=None, folder=folder)
    return audit(found, project="", limits=limits)


def claude_session(*turns: Turn, cwd: str = "/project", time: int = 0) -> bytes:
    """Return a transcript of Claude Code: each turn has its commands and ends with a message.

    A command is its line, its output and its exit status. One that begins with "edit " is an edit
    of that file, which the host refuses with any other status than 0.
    """
    lines: list[dict[str, Any]] = []
    number = 0
    for turn in turns:
        lines.append({"type": "user", "message": {"role": "user", "content": "Go on."}})
        for step in turn:
            number += 1
            if isinstance(step, str):
                lines.append(_assistant(f"{time}_{number}", {"type": "text", "text": step}))
                continue
            line, output, status = step
            call = f"toolu_{time}_{number}"
            name, given = "Bash", {"command": line}
            if line.startswith("edit "):
                name, given = "Edit", {"file_path": f"{cwd}/{line[5:]}"}
            lines.append(
                _assistant(
                    f"{time}_{number}",
                    {"type": "tool_use", "id": call, "name": name, "input": given},
                )
            )
            failed = f"Exit code {status}\n{output}" if name == "Bash" else output
            result = {
                "type": "tool_result",
                "tool_use_id": call,
                "content": failed if status else output,
                "is_error": bool(status),
            }
            lines.append({"type": "user", "message": {"role": "user", "content": [result]}})

    common = {"isSidechain": False, "cwd": cwd, "version": "9.9.9", "sessionId": "s"}
    stamped = [
        {**each, **common, "timestamp": f"2026-01-01T00:{time:02}:{at % 60:02}.{at:03}Z"}
        for at, each in enumerate(lines)
    ]
    return b"".join(json.dumps(each, separators=(",", ":")).encode() + b"\n" for each in stamped)


def _assistant(number: str, block: dict[str, Any]) -> dict[str, Any]:
    message = {"id": f"msg_{number}", "role": "assistant", "content": [block]}
    return {"type": "assistant", "message": message}

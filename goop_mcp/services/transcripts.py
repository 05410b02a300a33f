"""Read the transcript that a user names, of any host that has a reader."""

import json
import os
from typing import Final, Literal, NamedTuple

from goop_mcp.errors import GoopError
from goop_mcp.evidence.activity import AgentActivity
from goop_mcp.evidence.readers.claude_code import read_claude_code
from goop_mcp.evidence.readers.codex import is_rollout, read_codex
from goop_mcp.evidence.readers.opencode import read_opencode_export
from goop_mcp.services.small_files import read_end

__all__ = ["Transcript", "TranscriptError", "open_transcript"]

_MOST_BYTES: Final = 64 * 1024 * 1024
_HEAD = 64 * 1024


class TranscriptError(GoopError, ValueError):
    """Raised when a file is no transcript that can be read; the text says what to do."""


class Transcript(NamedTuple):
    """The content of a transcript, or its end where the file is longer than what is read."""

    content: bytes
    from_start: bool
    host: Literal["claude-code", "codex", "opencode"]

    def activity_until(self, report: str) -> AgentActivity:
        """Return what the agent did until it sent `report`."""
        if self.host == "opencode":
            return read_opencode_export(self.content, report=report)

        read = read_codex if self.host == "codex" else read_claude_code
        return read(self.content, report=report, from_start=self.from_start, at_end=False)


def open_transcript(path: str) -> Transcript:
    """Return the transcript in the file `path`.

    Known are transcripts of Claude Code, rollouts of Codex, and exports of OpenCode. At most the
    last 64 MB of a file are read. Raises TranscriptError for one that cannot be read, or is none of
    these.
    """
    try:
        content = read_end(path, most=_MOST_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TranscriptError(
            f"the transcript {path!r} cannot be read: {reason}; name the file of the agent's"
            " session"
        ) from None

    from_start = len(content) <= _MOST_BYTES
    # The export of OpenCode is one value over many lines, a transcript has one on each line.
    whole_line = content[:_HEAD].strip().partition(b"\n")[0] if from_start else b"{}"
    exported = whole_line.endswith(b"{") or _has_messages(content if from_start else b"")
    if exported:
        return Transcript(content, from_start, "opencode")
    if not (whole_line.startswith(b"{") and b'"type"' in content):
        raise TranscriptError(
            f"{os.fspath(path)!r} is no transcript of Claude Code or Codex (JSON Lines) and no"
            " session of OpenCode; write one with opencode export SESSION > FILE"
        )

    # Of a rollout that is too long, the first line is missing that shows what it is.
    rollout = is_rollout(content) or (not from_start and b'"response_item"' in content)
    return Transcript(content, from_start, "codex" if rollout else "claude-code")


def _has_messages(content: bytes) -> bool:
    """Whether the content is one JSON object with the messages of a session."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return False

    return isinstance(value, dict) and isinstance(value.get("messages"), list)

"""Read transcripts of agents, of any host that has a reader.

Their files are untrusted: they may be of any size, a pipe, or still being written.
"""

import json
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Final, Literal, NamedTuple

from goop_mcp import services
from goop_mcp.errors import GoopError
from goop_mcp.evidence import readers
from goop_mcp.evidence.activity import AgentActivity
from goop_mcp.evidence.readers.claude_code import (
    HOST,
    OutputFile,
    Outputs,
    holds_report,
    read_claude_code,
)
from goop_mcp.services.small_files import read_end

__all__ = [
    "LATE_SECONDS",
    "SECOND_LOOK",
    "Transcript",
    "TranscriptError",
    "open_transcript",
    "read_activity",
    "wait_for_file",
]

_MOST_BYTES: Final = 64 * 1024 * 1024
_HEAD = 64 * 1024

# How much of a transcript is read while a host waits: of one that is longer, the end.
_MOST_LIVE: Final = 16 * 1024 * 1024
_MOST_OUTPUTS: Final = 200
LATE_SECONDS: Final = 0.5
"""How long the last lines of a transcript are waited for."""
SECOND_LOOK: Final = 0.04
"""Seconds until a file that is not there is looked for once more."""
_PAUSE = 0.02
# The report as JSON has at most 6 bytes for each of its own, and short lines may follow it.
_TAIL_BYTES = 256 * 1024
_BYTES_AS_JSON = 6


class TranscriptError(GoopError, ValueError):
    """Raised when a file is not a transcript that can be read; the text says what to do."""


class Transcript(NamedTuple):
    """The content of a transcript, or its end where the file is longer than what is read."""

    content: bytes
    from_start: bool
    host: Literal["claude-code", "codex", "opencode"]

    def activity_until(self, report: str) -> AgentActivity:
        """Return what the agent did until it sent `report`."""
        if self.host == "opencode":
            return readers.opencode.read_opencode_export(self.content, report=report)

        read = readers.codex.read_codex if self.host == "codex" else read_claude_code
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
            f"{os.fspath(path)!r} is neither a transcript of Claude Code or Codex (JSON Lines) nor"
            " a session of OpenCode; write one with opencode export SESSION > FILE"
        )

    # Of a rollout that is too long, the first line is missing that shows what it is.
    cut_rollout = not from_start and b'"response_item"' in content
    rollout = cut_rollout or readers.codex.is_rollout(content)
    return Transcript(content, from_start, "codex" if rollout else "claude-code")


def _has_messages(content: bytes) -> bool:
    """Whether the content is one JSON object with the messages of a session."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return False

    return isinstance(value, dict) and isinstance(value.get("messages"), list)


def wait_for_file(path: str) -> None:
    """Give a host one more moment for a file that is not there; one that lacks then never comes."""
    if not os.path.exists(path):  # noqa: PTH110 - pathlib is slow to import
        time.sleep(SECOND_LOOK)


def read_activity(path: str, report: str | None, *, host: str = HOST) -> AgentActivity:
    """Return what the agent did until it sent `report`, from a transcript of `host`.

    Without `report` the transcript is read to its end. The host ends a turn before it has written
    the last lines of it, so that this waits for them, at most half a second; a file that is not
    there is looked for once more. Never raises: an activity that is not complete says why.
    """
    read: Callable[..., AgentActivity] = partial(read_claude_code, outputs=_outputs_for(path))
    ends = holds_report
    # The name alone: the reader of another host need not be loaded.
    if host == "codex":
        read, ends = readers.codex.read_codex, readers.codex.ends_with_report

    give_up = time.monotonic() + LATE_SECONDS
    expected = report or ""
    tail = min(_TAIL_BYTES + _BYTES_AS_JSON * len(expected.encode("utf-8", "replace")), _MOST_LIVE)
    try:
        if expected:
            wait_for_file(path)
        while expected and not ends(read_end(path, most=tail), expected):
            if time.monotonic() >= give_up:
                break
            time.sleep(_PAUSE)

        # One byte more shows whether that is the whole file.
        content = read_end(path, most=_MOST_LIVE + 1)
    except OSError as error:
        reason = error.strerror or error
        why = f"the transcript cannot be read ({reason})"
        return AgentActivity(host=host, why_incomplete=why, unreadable=True)

    return read(content, report=report, from_start=len(content) <= _MOST_LIVE)


def _outputs_for(path: str) -> Outputs:
    """Return what reads the outputs of background commands, of the first 200 in the transcript."""
    left = iter(range(_MOST_OUTPUTS))

    def output_of(file: OutputFile) -> tuple[str, bool] | None:
        # Loaded here: few agents have commands in the background.
        read = None if next(left, None) is None else services.background_outputs.read_output
        return None if read is None else read(path, file)

    return output_of

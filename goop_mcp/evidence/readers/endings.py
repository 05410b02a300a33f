"""Read how an agent of Claude Code ended: its last message, what it handed back, and why it ended.

The host delivers the last message of an agent, or what the agent gave to the tool SubagentHandback.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from goop_mcp.evidence.readers.blocks import objects, text_of
from goop_mcp.evidence.readers.claude_code import begins_task, parse_line
from goop_mcp.evidence.readers.hand_back import HAND_BACK_MARK, handed_back

__all__ = ["Ending", "read_ending"]


class Ending(NamedTuple):
    """How an agent ended.

    `message` is the last message since the agent was last spoken to, "" if it wrote none.
    `handed_back` is what the tool delivered in this task, None for nothing; a call that was refused
    delivered nothing. `stop_reason` is the word of the model's interface for the last message, such
    as "max_tokens", None where the transcript has none.
    """

    message: str = ""
    handed_back: str | None = None
    stop_reason: str | None = None


class _Reading:
    """What is known so far, while the lines are read from the last one."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.message_id: object = None
        self.message_is_whole = False
        self.handed_back: str | None = None
        self.refused: set[object] = set()
        self.stop_reason: str | None = None
        self.saw_message = False

    def read_user(self, content: object) -> None:
        results = [each for each in objects(content) if each.get("type") == "tool_result"]
        self.refused.update(
            each.get("tool_use_id") for each in results if each.get("is_error") is True
        )
        # What else is written to the agent asks for another message.
        self.message_is_whole = self.message_is_whole or not results

    def read_assistant(self, message: Mapping[str, object]) -> None:
        if not self.saw_message:
            reason = message.get("stop_reason")
            self.stop_reason = reason if isinstance(reason, str) else None
            self.saw_message = True
        if self.handed_back is None:
            self.handed_back = handed_back(message.get("content"), refused=self.refused)
        if self.message_is_whole:
            return
        # Each block of a message has a line of its own, with the id of the message.
        if self.texts and message.get("id") != self.message_id:
            self.message_is_whole = True
        elif text := text_of(message.get("content")):
            self.texts.append(text)
            self.message_id = message.get("id")
            self.message_is_whole = self.message_id is None


def read_ending(content: bytes) -> Ending:
    """Return how the agent ended, from its transcript or the end of one.

    Lines that are damaged or still being written are skipped. Never raises.
    """
    reading = _Reading()
    may_hand_back = HAND_BACK_MARK in content
    # Backwards, and only as far as needed: a transcript can be very long.
    for raw in _reversed_lines(content):
        # Cheaper than decoding every line.
        if b'"assistant"' not in raw and b'"user"' not in raw:
            continue
        line = parse_line(0, raw)
        if line is None or line.kind == "notice":
            continue

        if line.kind == "assistant":
            message = line.value.get("message")
            reading.read_assistant(message if isinstance(message, Mapping) else {})
        else:
            reading.read_user(line.content)

        begins = line.kind == "user" and not _has_results(line.content) and begins_task(line)
        looks_on = may_hand_back and reading.handed_back is None and not begins
        if reading.message_is_whole and not looks_on:
            break

    return Ending("\n".join(reversed(reading.texts)), reading.handed_back, reading.stop_reason)


def _has_results(content: object) -> bool:
    return any(each.get("type") == "tool_result" for each in objects(content))


def _reversed_lines(content: bytes) -> Sequence[bytes]:
    lines = content.split(b"\n")
    lines.reverse()
    return lines

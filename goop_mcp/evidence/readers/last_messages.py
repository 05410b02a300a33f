"""Find the last message of each task in a transcript: what an agent answered.

A message after which the agent called a tool was not its last one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from goop_mcp.evidence.readers import claude_code, codex, opencode
from goop_mcp.evidence.readers.blocks import objects, text_at, text_of
from goop_mcp.evidence.readers.hand_back import handed_back

__all__ = ["LastMessage", "in_claude_code", "in_codex", "in_opencode"]


class LastMessage(NamedTuple):
    """The last message of a task.

    `text` is all that the agent wrote in it, `report` its last block, by which a reader finds it.
    `line` is the number of its line, from 1, or of the message in a session of OpenCode. `end` is
    where the part of the transcript ends that leads to it: an offset in bytes, for OpenCode the
    number of messages. `time` is as the host writes it, "" if unknown.
    """

    text: str
    report: str
    line: int
    end: int
    time: str = ""


def in_claude_code(content: bytes) -> Iterator[LastMessage]:
    """Yield the last messages in a transcript of Claude Code, of the agent whose file it is.

    Older versions write subagents into the file of the main agent: these are left out, because
    several of them may stand there at once. Damaged lines are skipped. Never raises.
    """
    last, delivered = _NONE, _NONE
    message_id: object = None
    call_of_report: object = None
    side: bool | None = None
    for line, end in _claude_lines(content):
        side = line.side if side is None else side
        if line.side is not side:
            continue

        blocks = objects(line.content)
        if line.kind == "user":
            results = [each for each in blocks if each.get("type") == "tool_result"]
            if any(
                each.get("is_error") is True and each.get("tool_use_id") == call_of_report
                for each in results
            ):
                delivered = _NONE
            if not results and claude_code.begins_task(line):
                yield from _present(delivered, last)
                last = delivered = _NONE
            continue

        message = line.value.get("message")
        own_id = message.get("id") if isinstance(message, Mapping) else None
        text, report = text_of(line.content), handed_back(line.content)
        time = text_at(line.value, "timestamp")
        calls = [each for each in blocks if each.get("type") == "tool_use"]
        if report is not None:
            delivered = LastMessage(report, report, line.number, end, time)
            call_of_report = calls[-1].get("id")
        elif calls:
            last = _NONE
        elif text.strip():
            # Each block of a message has a line of its own, with the id of the message.
            goes_on = last.text and own_id is not None and own_id == message_id
            whole = f"{last.text}\n{text}" if goes_on else text
            last, message_id = LastMessage(whole, text, line.number, end, time), own_id

    yield from _present(delivered, last)


def in_codex(content: bytes) -> Iterator[LastMessage]:
    """Yield the last messages in a rollout of Codex. Damaged lines are skipped. Never raises."""
    last = _NONE
    for number, raw, end in _raw_lines(content):
        if not any(mark in raw for mark in _CODEX_MARKS):
            continue
        entry = codex.parse_entry(number, raw)
        if entry is None:
            continue
        if entry.kind == "user":
            yield from _present(last)
            last = _NONE
        elif entry.kind == "call":
            last = _NONE
        elif (text := codex.message_of(entry)) is not None:
            last = LastMessage(text, text, number, end)

    yield from _present(last)


def in_opencode(session: Mapping[str, object]) -> Iterator[LastMessage]:
    """Yield the last messages in a session of OpenCode. Never raises."""
    last = _NONE
    for number, message in enumerate(objects(session.get("messages")), 1):
        role = opencode.role_of(message)
        if role == "user" and opencode.begins_task(message):
            yield from _present(last)
            last = _NONE
        elif role == "assistant":
            text = _after_tools(objects(message.get("parts")))
            info = message.get("info")
            times = info.get("time") if isinstance(info, Mapping) else None
            time = str(times.get("created") or "") if isinstance(times, Mapping) else ""
            last = LastMessage(text, text, number, number, time) if text.strip() else _NONE

    yield from _present(last)


_NONE = LastMessage("", "", 0, 0)
_CODEX_MARKS = (b'"response_item"', b'"UserMessage"', b'"user_message"')


def _present(*messages: LastMessage) -> Iterator[LastMessage]:
    """Yield the first of the messages that is there: what was delivered goes before the text."""
    found = next((each for each in messages if each.text.strip()), None)
    if found is not None:
        yield found


def _after_tools(parts: Sequence[Mapping[str, object]]) -> str:
    """Return the text of a message after its last call of a tool."""
    at = max((at for at, part in enumerate(parts) if part.get("type") == "tool"), default=-1)
    return "\n".join(opencode.texts_of({"parts": list(parts[at + 1 :])}))


def _claude_lines(content: bytes) -> Iterator[tuple[claude_code.Line, int]]:
    """Yield the lines from and to the agent, each with the offset after it."""
    for number, raw, end in _raw_lines(content):
        # Cheaper than decoding every line.
        if b'"assistant"' not in raw and b'"user"' not in raw:
            continue
        for each in claude_code.separated(raw.rstrip()):
            line = claude_code.parse_line(number, each)
            if line is not None and line.kind != "notice":
                yield line, end


def _raw_lines(content: bytes) -> Iterator[tuple[int, bytes, int]]:
    """Yield the number, the bytes and the end of each line, without a copy of them all."""
    start, number = 0, 0
    while start < len(content):
        number += 1
        feed = content.find(b"\n", start)
        end = len(content) if feed < 0 else feed + 1
        yield number, content[start:end], end
        start = end

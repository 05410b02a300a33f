"""The last words of an agent from the end of its transcript, for hosts that do not hand them over."""

import json
from collections.abc import Iterator, Mapping

from goop_mcp.operations.stopping.small_files import read_end

__all__ = ["last_words"]

_MOST_BYTES = 8 * 1024 * 1024


def last_words(path: str) -> str | None:
    """Return the text of the last message of the assistant, None when the end of the file holds none.

    A transcript is JSON lines; each block of a message has a line of its own, with the id of the message. A line that
    is no JSON, such as one that is being written, is passed over. Raises OSError.
    """
    found: list[str] = []
    message_id: object = None

    for message in _messages_backwards(read_end(path, most=_MOST_BYTES)):
        if found and message.get("id") != message_id:
            break

        text = _text(message.get("content"))
        if text:
            found.append(text)
            message_id = message.get("id")
            if message_id is None:
                break

    return "\n".join(reversed(found)) if found else None


def _messages_backwards(content: bytes) -> Iterator[Mapping[str, object]]:
    for line in reversed(content.split(b"\n")):
        if b'"assistant"' not in line:
            continue

        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue

        if isinstance(entry, Mapping) and entry.get("type") == "assistant":
            message = entry.get("message")
            if isinstance(message, Mapping):
                yield message


def _text(content: object) -> str:
    if isinstance(content, str):
        return content

    blocks = content if isinstance(content, list) else []
    texts = [
        block.get("text")
        for block in blocks
        if isinstance(block, Mapping) and block.get("type") == "text"
    ]

    return "\n".join(text for text in texts if isinstance(text, str))

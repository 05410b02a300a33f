"""A model that does what a command of the workflow asks for first: the first call in its text."""

import json
import re

from tests.e2e.conversation import Conversation, ToolCall
from tests.e2e.script import DONE, call_of

__all__ = ["answers", "first_call", "follow"]

_CALL = re.compile(r"Call `(?P<tool>[a-z_]+)(?:\((?P<arguments>\{[^`]*\})\))?`")


def first_call(text: str) -> ToolCall | None:
    """Return the first call that a command's text asks for; None for a text without one."""
    match = _CALL.search(text)
    if match is None:
        return None
    arguments = match["arguments"]
    return ToolCall(match["tool"], json.loads(arguments) if arguments else {"text": "done"})


def follow(conversation: Conversation) -> str | ToolCall:
    """Return the first call of the newest command, and after it the model's last message."""
    numbers = _commands(conversation)
    if not numbers:
        return DONE

    wanted = first_call(conversation.messages[numbers[-1]].text)
    assert wanted is not None
    return call_of(conversation, wanted.name, wanted.arguments, since=numbers[-1]) or DONE


def answers(conversation: Conversation) -> list[tuple[str, str]]:
    """Return the text of each command with what its tool answered, in order."""
    numbers = _commands(conversation)
    pairs = []
    for number, end in zip(numbers, [*numbers[1:], len(conversation.messages)], strict=True):
        text = conversation.messages[number].text
        wanted = first_call(text)
        assert wanted is not None
        after = conversation.messages[number + 1 : end]
        called = [
            at for at, each in enumerate(after) if any(wanted.name in call for call in each.calls)
        ]
        result = after[called[0] + 1].text if called and len(after) > called[0] + 1 else ""
        pairs.append((text, result))

    return pairs


def _commands(conversation: Conversation) -> list[int]:
    """Return the numbers of the user's messages that hold a command's text."""
    return [
        number
        for number, each in enumerate(conversation.messages)
        if each.role == "user" and first_call(each.text) is not None
    ]

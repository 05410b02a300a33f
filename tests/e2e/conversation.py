"""The requests of a client to its model, read from the published forms into plain values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Conversation", "Form", "Json", "Message", "ToolCall", "read_conversation"]

Json: TypeAlias = Mapping[str, "object"]
Form: TypeAlias = Literal["messages", "completions", "responses"]

_SURROUNDINGS = "<environment_context>"
"""The start of a message that Codex adds itself."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model asks for; the name of one in a namespace is `namespace.name`."""

    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its role, every text in it with tool results, the tools it calls."""

    role: str
    text: str
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages so far, and the tools that are offered: by name, and as the model reads them."""

    form: Form
    model: str
    streamed: bool
    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    definitions: tuple[Json, ...] = ()

    @property
    def first_text(self) -> str:
        """The first message of the user, which may begin with reminders of the host."""
        texts = (
            each.text
            for each in self.messages
            if each.role == "user" and not each.text.startswith(_SURROUNDINGS)
        )
        return next(texts, "")

    def text_of(self, *roles: str) -> str:
        """Return the text of all messages of these roles."""
        return "\n".join(message.text for message in self.messages if message.role in roles)

    def times_received(self, text: str) -> int:
        """Return how often the agent received `text`.

        Some hosts send a text both as the user and as the system, which counts once.
        """
        return max(self.text_of(role).count(text) for role in ("user", "system"))

    def has_called(self, tool: str) -> bool:
        """Return whether the model has called `tool` before."""
        return any(tool in message.calls for message in self.messages)


def read_conversation(body: Json, *, form: Form) -> Conversation:
    """Return the conversation in the body of a request."""
    messages = [
        _message(each)
        for each in _objects(body.get("input" if form == "responses" else "messages"))
    ]
    system = "\n".join(_texts(body.get("instructions" if form == "responses" else "system")))
    if system:
        messages.insert(0, Message("prompt", system))
    return Conversation(
        form=form,
        model=str(body.get("model", "")),
        streamed=body.get("stream") is True,
        messages=tuple(messages),
        tools=tuple(_tool_names(body.get("tools"))),
        definitions=tuple(_objects(body.get("tools"))),
    )


def _message(value: Json) -> Message:
    if value.get("type") == "function_call":
        called = [value.get("namespace"), _tool_name(value)]
        return Message("assistant", "", (".".join(str(part) for part in called if part),))
    if value.get("type") == "function_call_output":
        return Message("tool", "\n".join(_texts(value.get("output"))))

    calls = [
        str(block.get("name"))
        for block in _objects(value.get("content"))
        if block.get("type") == "tool_use"
    ]
    calls += [_tool_name(call) for call in _objects(value.get("tool_calls"))]

    return Message(str(value.get("role")), "\n".join(_texts(value.get("content"))), tuple(calls))


def _tool_names(tools: object) -> Iterator[str]:
    for tool in _objects(tools):
        name = _tool_name(tool)
        if tool.get("type") == "namespace":
            yield from (f"{name}.{each}" for each in _tool_names(tool.get("tools")))
        else:
            yield name


def _tool_name(tool: Json) -> str:
    function = tool.get("function")
    return str((function if isinstance(function, Mapping) else tool).get("name", ""))


def _texts(content: object) -> Iterator[str]:
    """Yield every text of a content: a string, or blocks, also those in tool results."""
    if isinstance(content, str):
        yield content

    for block in _objects(content):
        if isinstance(block.get("text"), str):
            yield str(block["text"])

        yield from _texts(block.get("content"))


def _objects(value: object) -> list[Json]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []

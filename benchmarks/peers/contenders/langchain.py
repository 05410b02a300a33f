"""langchain: an agent with a tool for its answer; the parsers of JSON and XML for texts."""

import json
from collections.abc import Sequence
from itertools import cycle
from typing import Any

from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import PydanticOutputParser, XMLOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from benchmarks.peers.contender import Contender, Talk
from benchmarks.peers.payload import PROMPT, Reply, arguments_of

__all__ = ["CONTENDERS"]


class _FakeModel(BaseChatModel):
    """Gives the answers of `script` in turn."""

    script: Any
    asked: list[object] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, *_: object, **__: object) -> "_FakeModel":
        """Take any tools."""
        return self

    def _generate(self, messages: object, *_: object, **__: object) -> ChatResult:
        self.asked.append(messages)
        return ChatResult(generations=[ChatGeneration(message=next(self.script))])


def _tool(reply: str) -> AIMessage:
    call = {
        "name": "Reply",
        "args": json.loads(arguments_of(reply)),
        "id": "call_1",
        "type": "tool_call",
    }
    return AIMessage(content="", tool_calls=[call])


def _talk(replies: Sequence[str]) -> Talk:
    model = _FakeModel(script=cycle([_tool(reply) for reply in replies]))
    agent = create_agent(model, tools=[], response_format=ToolStrategy(Reply))
    question = {"messages": [{"role": "user", "content": PROMPT}]}

    def talk() -> None:
        model.asked.clear()
        assert agent.invoke(question)["structured_response"].summary
        assert len(model.asked) == len(replies)

    return talk


def _read_json(text: str) -> str | None:
    try:
        return PydanticOutputParser(pydantic_object=Reply).parse(text).summary
    except OutputParserException:
        return None


def _read_xml(text: str) -> str | None:
    try:
        root = XMLOutputParser().parse(text)
    except ValueError:  # its own exception, and that of the parser below it
        return None

    parts = root.get("goop_report") if isinstance(root, dict) else None
    return next((part["summary"] for part in parts or [] if "summary" in part), None)


CONTENDERS = {
    "json": [
        Contender(name="langchain, tool", package="langchain", talk=_talk),
        Contender(
            name="langchain, PydanticOutputParser", package="langchain-core", read=_read_json
        ),
    ],
    "xml": [Contender(name="langchain, XMLOutputParser", package="langchain-core", read=_read_xml)],
}

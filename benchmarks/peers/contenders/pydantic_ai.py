"""pydantic-ai, by prompt and by tool."""

import json
from collections.abc import Sequence
from itertools import cycle

import anyio
from pydantic_ai import Agent, PromptedOutput, ToolOutput
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from benchmarks.peers.contender import Contender, Talk
from benchmarks.peers.payload import PROMPT, Reply, arguments_of

__all__ = ["CONTENDERS"]


def _text(reply: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(reply)])


def _tool(reply: str) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("final_result", json.loads(arguments_of(reply)))])


def _talk(answers: Sequence[ModelResponse], output: object) -> Talk:
    script = cycle(answers)
    asked: list[object] = []

    def answer(messages: object, _info: object) -> ModelResponse:
        asked.append(messages)
        return next(script)

    agent = Agent(FunctionModel(answer), output_type=output, retries=len(answers) - 1)

    async def talk() -> None:
        asked.clear()
        await agent.run(PROMPT)
        assert len(asked) == len(answers)

    return talk


def _read(text: str) -> str | None:
    agent = Agent(
        FunctionModel(lambda _messages, _info: _text(text)),
        output_type=PromptedOutput(Reply),
        retries=0,
    )
    try:
        return anyio.run(agent.run, PROMPT).output.summary
    except UnexpectedModelBehavior:
        return None


CONTENDERS = {
    "json": [
        Contender(
            name="pydantic-ai, prompted",
            package="pydantic-ai-slim",
            talk=lambda replies: _talk([_text(reply) for reply in replies], PromptedOutput(Reply)),
            read=_read,
        ),
        Contender(
            name="pydantic-ai, tool",
            package="pydantic-ai-slim",
            talk=lambda replies: _talk([_tool(reply) for reply in replies], ToolOutput(Reply)),
        ),
    ],
}

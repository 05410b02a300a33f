"""A model of google-adk that answers from a list."""

from collections.abc import AsyncIterator
from typing import Any

from google.adk.models import BaseLlm, LlmResponse
from google.genai import types


def text(content: str) -> LlmResponse:
    """Return an answer of text."""
    return _answer(types.Part(text=content))


def call(name: str, arguments: dict[str, Any]) -> LlmResponse:
    """Return an answer that calls a tool."""
    return _answer(types.Part(function_call=types.FunctionCall(id="1", name=name, args=arguments)))


def message(content: str) -> types.Content:
    """Return what a user says."""
    return types.Content(role="user", parts=[types.Part(text=content)])


class ScriptedLlm(BaseLlm):
    """Gives one answer for each request, the last one for all further ones."""

    model: str = "scripted"
    answers: list[LlmResponse]

    async def generate_content_async(self, *_: object, **__: object) -> AsyncIterator[LlmResponse]:
        """Yield the next answer, whatever the request is."""
        yield self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def _answer(part: types.Part) -> LlmResponse:
    content = types.Content(role="model", parts=[part])
    return LlmResponse(content=content, finish_reason=types.FinishReason.STOP)

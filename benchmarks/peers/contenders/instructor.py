"""instructor, by tools and by JSON in Markdown."""

from collections.abc import Callable, Sequence
from itertools import cycle

from instructor import Mode, from_litellm
from instructor.core.exceptions import InstructorRetryException
from openai.types.chat import ChatCompletion

from benchmarks.peers.contender import Contender, Talk
from benchmarks.peers.payload import PROMPT, Reply, arguments_of

__all__ = ["CONTENDERS"]

_MESSAGES = [{"role": "user", "content": PROMPT}]


def _completion(message: dict[str, object], reason: str) -> ChatCompletion:
    return ChatCompletion.model_validate(
        {
            "id": "fake",
            "object": "chat.completion",
            "created": 0,
            "model": "fake",
            "choices": [
                {"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}
            ],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
    )


def _text(reply: str) -> ChatCompletion:
    return _completion({"content": reply}, "stop")


def _tool(reply: str) -> ChatCompletion:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "Reply", "arguments": arguments_of(reply)},
    }
    return _completion({"content": None, "tool_calls": [call]}, "tool_calls")


def _talk(replies: Sequence[str], mode: Mode, say: Callable[[str], ChatCompletion]) -> Talk:
    script = cycle([say(reply) for reply in replies])
    asked: list[object] = []

    def complete(**arguments: object) -> ChatCompletion:
        asked.append(arguments)
        return next(script)

    client = from_litellm(complete, mode=mode)

    def talk() -> None:
        asked.clear()
        client.chat.completions.create(
            model="fake", messages=_MESSAGES, response_model=Reply, max_retries=len(replies)
        )
        assert len(asked) == len(replies)

    return talk


def _read(text: str) -> str | None:
    client = from_litellm(lambda **_: _text(text), mode=Mode.MD_JSON)
    try:
        return client.chat.completions.create(
            model="fake", messages=_MESSAGES, response_model=Reply, max_retries=1
        ).summary
    except InstructorRetryException:
        return None


CONTENDERS = {
    "json": [
        Contender(
            name="instructor, tools",
            package="instructor",
            talk=lambda replies: _talk(replies, Mode.TOOLS, _tool),
        ),
        Contender(
            name="instructor, Markdown JSON",
            package="instructor",
            talk=lambda replies: _talk(replies, Mode.MD_JSON, _text),
            read=_read,
        ),
    ],
}

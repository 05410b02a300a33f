"""An agent that answers with a prepared script."""

import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import cast

import anyio

from goop_mcp.errors import ScriptEndedError
from goop_mcp.retry.replies import Message, Reply, Usage
from goop_mcp.validation.findings import counted_noun

__all__ = ["ScriptedAgent", "ScriptedReply"]


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One answer: `text`, or `failure` to raise instead, after `delay` seconds, with its `usage`.

    `text` may be of any type, so that a test can see what becomes of None or bytes.
    """

    text: object = ""
    _: KW_ONLY
    failure: BaseException | None = None
    delay: float = 0.0
    usage: Usage | None = None


class ScriptedAgent:
    """Answers each message with the next reply of its script, and records it in `messages`.

    Pass texts, exceptions to raise, or `ScriptedReply` for delays and usage. The agent is a
    conversation, which works under asyncio and trio and reports its usage; `plain` and `sync` are
    the same agent as an async and as an ordinary function. Raises ScriptEndedError when it is asked
    more often than it has replies; with `repeat_last` it repeats the last one instead.
    """

    def __init__(
        self, *replies: str | BaseException | ScriptedReply, repeat_last: bool = False
    ) -> None:
        self.messages: list[Message] = []
        self._script: Sequence[ScriptedReply] = [
            each
            if isinstance(each, ScriptedReply)
            else ScriptedReply(failure=each)
            if isinstance(each, BaseException)
            else ScriptedReply(text=each)
            for each in replies
        ]
        self._repeat_last = repeat_last

    async def ask(self, message: Message) -> Reply:
        """Answer as a conversation does."""
        reply = self._next(message)
        await anyio.sleep(reply.delay)
        return Reply(text=_say(reply), usage=reply.usage)

    async def plain(self, message: str) -> str:
        """Answer as an async function does, from text to text."""
        return (await self.ask(Message(message))).text

    def sync(self, message: str) -> str:
        """Answer as an ordinary function does; blocks for the delay."""
        reply = self._next(Message(message))
        time.sleep(reply.delay)
        return _say(reply)

    @property
    def texts(self) -> list[str]:
        """The text of every message so far."""
        return [message.text for message in self.messages]

    @property
    def replies_left(self) -> int:
        """How many replies of the script have not been given."""
        return max(0, len(self._script) - len(self.messages))

    def _next(self, message: Message) -> ScriptedReply:
        # Recorded first, so that a test also sees the message for which no reply was left.
        self.messages.append(message)
        number = len(self.messages)
        if self._repeat_last and self._script:
            return self._script[min(number, len(self._script)) - 1]
        if number > len(self._script):
            raise ScriptEndedError(
                f"asked {counted_noun(number, 'time')}; the script has"
                f" {counted_noun(len(self._script), 'reply', 'replies')}"
            )

        return self._script[number - 1]


def _say(reply: ScriptedReply) -> str:
    if reply.failure is not None:
        raise reply.failure
    # A reply that is not a str is passed on: the code under test has to refuse it.
    return cast("str", reply.text)

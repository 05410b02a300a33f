"""Small agents that tests ask, and replies for them to send."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from goop_mcp.retry import Attempt, Message, Outcome, Reply, Usage
from tests.validation.replies import EXECUTOR, changed, fenced

both_backends = pytest.mark.parametrize("backend", ["asyncio", "trio"])

GOOD = fenced(EXECUTOR)
BAD_STATUS = fenced(changed(EXECUTOR, ("<status>COMPLETE</status>", "<status>DONE-ISH</status>")))
BAD_AGENT = fenced(changed(EXECUTOR, ("<agent>goop-executor</agent>", "<agent></agent>")))
CUT_OFF = GOOD[: len(GOOD) * 7 // 10]
PROSE = "I moved the check into the middleware. All tests pass."


class Scripted:
    """Answers with each of `replies` in turn and repeats the last one; raises exceptions."""

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = replies
        self.heard: list[str] = []

    def __repr__(self) -> str:
        # Without the place in memory, which is another in each process that collects tests.
        return f"Scripted with {len(self.replies)} replies"

    async def __call__(self, message: str) -> str:
        self.heard.append(message)
        reply = self.replies[min(len(self.heard), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply


class Counting:
    """A conversation of `replies`, each of which costs `usage`; keeps the strategies used."""

    def __init__(self, *replies: str, usage: Usage | None) -> None:
        self.agent = Scripted(*replies)
        self.usage = usage
        self.ways: list[str] = []

    async def ask(self, message: Message) -> Reply:
        self.ways.append(message.way)
        return Reply(text=await self.agent(message.text), usage=self.usage)


# Returns what the call returns
def run(backend: str, call: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401
    """Return what `call` returns under `backend`; no test lasts longer than half a minute."""

    async def bounded() -> object:
        with anyio.fail_after(30):
            return await call()

    return anyio.run(bounded, backend=backend)


def results(outcome: Outcome) -> list[str]:
    """Return what became of each attempt: accepted, rejected, or failed."""
    return [result(each) for each in outcome.attempts]


def result(attempt: Attempt) -> str:
    """Return what became of one attempt."""
    return "failed" if attempt.verdict is None else attempt.verdict.verdict

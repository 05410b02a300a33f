import time
from collections.abc import Awaitable, Callable

import anyio
import pytest

from goop_mcp import ask_until_accepted, ask_until_accepted_sync
from goop_mcp.errors import ReplyTypeError, ScriptEndedError
from goop_mcp.retry import Outcome, RetryPolicy
from goop_mcp.testing import Message, ScriptedAgent, ScriptedReply, Usage, corrupt
from goop_mcp.validation.samples import COMPLETE_REPLY

BAD = corrupt(COMPLETE_REPLY, "placeholder").text

both_backends = pytest.mark.parametrize("backend", ["asyncio", "trio"])


def run(backend: str, call: Callable[[], Awaitable[Outcome]]) -> Outcome:
    async def bounded() -> Outcome:
        with anyio.fail_after(30):
            return await call()

    return anyio.run(bounded, backend=backend)


@both_backends
def test_a_scripted_agent_is_asked_until_its_report_is_accepted(backend: str) -> None:
    agent = ScriptedAgent(BAD, ScriptedReply(text=COMPLETE_REPLY, usage=Usage(tokens=812)))

    outcome = run(backend, lambda: ask_until_accepted(agent, "Do it."))

    assert outcome.accepted
    rejected = outcome.attempts[0].verdict
    assert rejected is not None
    assert agent.texts == ["Do it.", rejected.feedback]
    assert [message.way for message in agent.messages] == ["first", "same_conversation"]
    assert outcome.usage == Usage(tokens=812)
    assert agent.replies_left == 0


@both_backends
def test_the_plain_form_is_an_async_function(backend: str) -> None:
    agent = ScriptedAgent(BAD, COMPLETE_REPLY)

    assert run(backend, lambda: ask_until_accepted(agent.plain, "Do it.")).accepted
    assert len(agent.messages) == 2


def test_the_sync_form_is_an_ordinary_function() -> None:
    agent = ScriptedAgent(BAD, COMPLETE_REPLY)

    assert ask_until_accepted_sync(agent.sync, "Do it.").accepted
    assert len(agent.messages) == 2


def test_an_exception_of_the_script_is_raised_and_the_message_kept() -> None:
    agent = ScriptedAgent(ConnectionError("gone"), COMPLETE_REPLY)

    with pytest.raises(ConnectionError, match="gone"):
        agent.sync("Do it.")

    assert agent.sync("Again.") == COMPLETE_REPLY
    assert agent.texts == ["Do it.", "Again."]


@both_backends
def test_a_delay_runs_into_the_time_limit_of_an_attempt(backend: str) -> None:
    agent = ScriptedAgent(ScriptedReply(text=COMPLETE_REPLY, delay=60))
    policy = RetryPolicy(attempt_timeout=0.01, call_retries=0)

    outcome = run(backend, lambda: ask_until_accepted(agent, "Do it.", policy=policy))

    assert outcome.stopped_because == "agent_error"
    assert isinstance(outcome.failure, TimeoutError)


def test_the_sync_form_waits_as_well() -> None:
    agent = ScriptedAgent(ScriptedReply(text="slow", delay=0.02))

    began = time.monotonic()
    assert agent.sync("Do it.") == "slow"

    assert time.monotonic() - began >= 0.02


def test_an_agent_can_answer_with_what_is_no_text() -> None:
    outcome = ask_until_accepted_sync(ScriptedAgent(ScriptedReply(text=None)), "Do it.")

    assert isinstance(outcome.failure, ReplyTypeError)


def test_an_agent_that_is_asked_too_often_says_so() -> None:
    agent = ScriptedAgent("one")
    agent.sync("Do it.")

    with pytest.raises(ScriptEndedError, match="asked 2 times; the script has 1 reply"):
        agent.sync("Again.")


def test_the_last_reply_is_repeated_on_request() -> None:
    agent = ScriptedAgent("one", "two", repeat_last=True)

    assert [agent.sync("?") for _ in range(4)] == ["one", "two", "two", "two"]


async def test_usage_is_reported_in_a_conversation_only() -> None:
    agent = ScriptedAgent(ScriptedReply(text="one", usage=Usage(tokens=3)), repeat_last=True)

    assert (await agent.ask(Message("Do it."))).usage == Usage(tokens=3)
    assert await agent.plain("Do it.") == "one"

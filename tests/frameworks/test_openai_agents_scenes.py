import asyncio
import time
from typing import Any

import anyio
import pytest

pytest.importorskip(
    "agents", reason="openai-agents is not installed here; make frameworks tests it"
)

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from httpx2 import Limits
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from goop_mcp import RetryPolicy
from goop_mcp.hosts.frameworks.openai_agents import run_checked
from goop_mcp.retry import Outcome
from tests.frameworks.recipes import BAD_STATUS, GOOD, OPENING, FactoryReply, factory_reply
from tests.frameworks.scenes import MANY, TASK, Payments, scene
from tests.frameworks.scripted_chat import (
    HANG,
    TOKENS,
    Busy,
    Call,
    ScriptedChat,
    repaired,
    scripted_chat,
)

set_tracing_disabled(True)


def agent_of(chat: ScriptedChat, **options: Any) -> Agent[Any]:  # noqa: ANN401 - the framework's
    """Return an agent on the framework's own client, which repeats nothing by itself."""
    http = DefaultAsyncHttpxClient(timeout=90, limits=Limits(max_connections=None), trust_env=False)
    client = AsyncOpenAI(base_url=chat.address, api_key="none", max_retries=0, http_client=http)
    model = OpenAIChatCompletionsModel("scripted", openai_client=client)
    return Agent(**{"name": "worker", "model": model} | options)


def roles(body: dict[str, Any]) -> list[str]:
    return [each["role"] for each in body["messages"]]


@scene("approval")
async def test_a_tool_that_waits_for_a_person_is_run_once_when_it_is_approved() -> None:
    payments = Payments()
    tool = function_tool(payments.pay, needs_approval=True)
    with scripted_chat(Call("pay"), BAD_STATUS, GOOD) as chat:
        worker = agent_of(chat, tools=[tool])
        waiting = await run_checked(worker, TASK)
        assert (waiting.outcome.stopped_because, payments.made) == ("interrupted", 0)
        assert waiting.result is not None
        state = waiting.result.to_state()
        state.approve(waiting.interruptions[0])
        done = await run_checked(worker, state)

    assert done.outcome.accepted
    assert payments.made == 1
    assert roles(chat.heard[2]) == ["user", "assistant", "tool", "assistant", "user"]


@scene("handoff")
async def test_the_agent_that_took_over_receives_the_feedback() -> None:
    with scripted_chat(Call("transfer_to_second"), BAD_STATUS, GOOD) as chat:
        second = agent_of(chat, name="second", instructions="You are the second.")
        first = agent_of(chat, handoffs=[second], instructions="You are the first.")
        checked = await run_checked(first, TASK)

    assert checked.outcome.accepted
    assert [each["messages"][0]["content"] for each in chat.heard] == [
        "You are the first.",
        "You are the second.",
        "You are the second.",
    ]
    assert OPENING in chat.heard[2]["messages"][-1]["content"]


@scene("session")
async def test_two_tasks_of_a_session_are_counted_each_by_itself() -> None:
    session = SQLiteSession("s")
    with scripted_chat(BAD_STATUS, GOOD, BAD_STATUS, GOOD) as chat:
        worker = agent_of(chat)
        options = {"session": session}
        both = [await run_checked(worker, TASK, run_options=options) for _ in range(2)]

    assert [(each.outcome.accepted, len(each.outcome.attempts)) for each in both] == [(True, 2)] * 2
    assert roles(chat.heard[3]) == ["user", "assistant"] * 3 + ["user"]
    assert len(await session.get_items()) == 8


@scene("structured output")
async def test_structured_output_is_judged_and_what_is_no_json_is_answered_with_feedback() -> None:
    with scripted_chat("Done.", factory_reply(deliverables=[]), factory_reply()) as chat:
        worker = agent_of(chat, output_type=FactoryReply)
        checked = await run_checked(worker, TASK, protocol="factory")

    assert checked.outcome.accepted
    assert checked.outcome.attempts[0].reply == "Done."
    assert roles(chat.heard[2]) == ["user", "assistant"] * 2 + ["user"]


@scene("tools counted")
async def test_a_tool_runs_once_though_its_report_is_sent_again() -> None:
    payments = Payments()
    with scripted_chat(Call("pay"), Busy(0), BAD_STATUS, GOOD) as chat:
        worker = agent_of(chat, tools=[function_tool(payments.pay)])
        policy = RetryPolicy(backoff=lambda _: 0.0)
        assert (await run_checked(worker, TASK, policy=policy)).outcome.accepted

    assert payments.made == 1


@scene("100 at once")
async def test_a_hundred_runs_at_once_are_counted_each_by_itself() -> None:
    with scripted_chat(script=repaired) as chat:
        worker = agent_of(chat)
        all_checked = await asyncio.gather(*[run_checked(worker, TASK) for _ in range(100)])

    assert [(len(each.outcome.attempts), each.outcome.usage.tokens) for each in all_checked] == [
        (2, 2 * TOKENS)
    ] * 100
    assert len(chat.heard) == 200


@scene("cancelled during a call")
async def test_a_run_that_is_cancelled_while_the_model_is_asked_is_reported() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(BAD_STATUS, HANG) as chat:
        run = asyncio.create_task(run_checked(agent_of(chat), TASK, on_stop=outcomes.append))
        await asyncio.to_thread(chat.hanging.wait, 20)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    assert [(each.stopped_because, each.text) for each in outcomes] == [("cancelled", BAD_STATUS)]


@scene("429 with Retry-After")
async def test_a_rate_limit_is_waited_for_as_long_as_its_header_says() -> None:
    with scripted_chat(Busy(1), GOOD) as chat:
        began = time.monotonic()
        checked = await run_checked(agent_of(chat), TASK, policy=RetryPolicy(backoff=lambda _: 0.0))

    assert checked.outcome.accepted
    assert 1 <= time.monotonic() - began < 10
    assert len(chat.heard) == 2
    assert [each.usage and each.usage.tokens for each in checked.outcome.attempts] == [0, TOKENS]


@scene("usage")
async def test_usage_is_summed_over_tools_attempts_and_failures() -> None:
    payments = Payments()
    with scripted_chat(Call("pay"), Busy(0), BAD_STATUS, GOOD) as chat:
        worker = agent_of(chat, tools=[function_tool(payments.pay)])
        checked = await run_checked(worker, TASK, policy=RetryPolicy(backoff=lambda _: 0.0))

    assert [each.usage and each.usage.tokens for each in checked.outcome.attempts] == [15, 15, 15]
    assert checked.outcome.usage.tokens == 3 * TOKENS


@scene("1,200 open conversations")
async def test_the_counts_of_1200_open_conversations_are_kept() -> None:
    with scripted_chat(script=repaired, hold=MANY) as chat:
        worker = agent_of(chat)
        all_checked = await asyncio.gather(*[run_checked(worker, TASK) for _ in range(MANY)])

    assert [(each.outcome.accepted, len(each.outcome.attempts)) for each in all_checked] == [
        (True, 2)
    ] * MANY


@scene("deadline")
async def test_the_deadline_bounds_a_call_of_the_model() -> None:
    with scripted_chat(BAD_STATUS, HANG) as chat, anyio.fail_after(20):
        checked = await run_checked(agent_of(chat), TASK, policy=RetryPolicy(deadline=1))

    assert checked.outcome.stopped_because == "deadline"
    assert checked.outcome.text == BAD_STATUS

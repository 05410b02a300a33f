import asyncio
import time
from typing import Any

import pytest

pytest.importorskip("langchain", reason="langchain is not installed here; make frameworks tests it")

from httpx2 import Limits
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from openai import DefaultAsyncHttpxClient, DefaultHttpxClient, RateLimitError

from goop_mcp import RetryPolicy
from goop_mcp.errors import PolicyError
from goop_mcp.hosts.frameworks.langchain import EnvelopeMiddleware
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

ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": TASK}]}


def model_of(chat: ScriptedChat, *, max_retries: int = 0) -> ChatOpenAI:
    """Return a model on the framework's own client."""
    limits: dict[str, Any] = {"limits": Limits(max_connections=None), "trust_env": False}
    return ChatOpenAI(
        model="scripted",
        base_url=chat.address,
        api_key="none",
        max_retries=max_retries,
        timeout=90,
        http_client=DefaultHttpxClient(**limits),
        http_async_client=DefaultAsyncHttpxClient(**limits),
    )


# Options of create_agent
def agent_of(
    chat: ScriptedChat,
    outcomes: list[Outcome],
    *more: Any,  # noqa: ANN401
    max_retries: int = 0,
    protocol: str = "auto",
    **options: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    check = EnvelopeMiddleware(on_stop=outcomes.append, protocol=protocol)
    agent = create_agent(
        model_of(chat, max_retries=max_retries), middleware=[check, *more], **options
    )
    return agent.with_config(callbacks=[check.callback])


def thread(number: int = 1) -> Any:  # noqa: ANN401 - the framework's
    return {"configurable": {"thread_id": str(number)}}


def roles(body: dict[str, Any]) -> list[str]:
    return [each["role"] for each in body["messages"]]


def counts(outcomes: list[Outcome]) -> list[tuple[bool, int]]:
    return [(each.accepted, len(each.attempts)) for each in outcomes]


@scene("approval")
def test_a_tool_that_waits_for_a_person_is_run_once_when_it_is_approved() -> None:
    payments, outcomes = Payments(), list[Outcome]()
    waiting = HumanInTheLoopMiddleware(interrupt_on={"pay": True})
    with scripted_chat(Call("pay"), BAD_STATUS, GOOD) as chat:
        agent = agent_of(
            chat, outcomes, waiting, tools=[payments.pay], checkpointer=InMemorySaver()
        )
        assert agent.invoke(ASKED, thread())["__interrupt__"]
        assert (payments.made, outcomes) == (0, [])
        agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread())

    assert payments.made == 1
    assert counts(outcomes) == [(True, 2)]
    assert outcomes[0].usage.tokens == 3 * TOKENS


@scene("handoff")
def test_an_agent_that_another_one_calls_as_a_tool_is_counted_by_itself() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(Call("delegate"), BAD_STATUS, GOOD, BAD_STATUS, GOOD) as chat:
        second = agent_of(chat, outcomes, tools=[], system_prompt="You are the second.")

        def delegate() -> str:
            """Delegate the task."""
            return str(second.invoke(ASKED)["messages"][-1].text)

        first = agent_of(chat, outcomes, tools=[delegate], system_prompt="You are the first.")
        assert first.invoke(ASKED)["messages"][-1].text == GOOD

    assert counts(outcomes) == [(True, 2)] * 2
    who = [each["messages"][0]["content"] for each in chat.heard]
    assert [each.split()[-1] for each in who] == [
        "first.",
        "second.",
        "second.",
        "first.",
        "first.",
    ]


@scene("session")
def test_two_tasks_of_a_thread_are_counted_each_by_itself() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(BAD_STATUS, GOOD, BAD_STATUS, GOOD) as chat:
        agent = agent_of(chat, outcomes, tools=[], checkpointer=InMemorySaver())
        for _ in range(2):
            agent.invoke(ASKED, thread())

    assert counts(outcomes) == [(True, 2)] * 2
    assert roles(chat.heard[3]) == ["user", "assistant"] * 3 + ["user"]


@scene("structured output")
def test_structured_output_is_judged_and_answered_with_feedback() -> None:
    outcomes: list[Outcome] = []
    given = FactoryReply.model_validate_json(factory_reply()).model_dump()
    replies = [Call("FactoryReply", given | {"deliverables": []}), Call("FactoryReply", given)]
    with scripted_chat(*replies) as chat:
        agent = agent_of(
            chat,
            outcomes,
            tools=[],
            protocol="factory",
            response_format=ToolStrategy(FactoryReply),
        )
        assert agent.invoke(ASKED)["structured_response"].confidence == "high"

    assert counts(outcomes) == [(True, 2)]


@scene("tools counted")
def test_a_tool_runs_once_though_its_report_is_sent_again() -> None:
    payments, outcomes = Payments(), list[Outcome]()
    with scripted_chat(Call("pay"), BAD_STATUS, GOOD) as chat:
        agent_of(chat, outcomes, tools=[payments.pay]).invoke(ASKED)

    assert payments.made == 1
    assert roles(chat.heard[2]) == ["user", "assistant", "tool", "assistant", "user"]
    assert OPENING in str(chat.heard[2]["messages"][-1])


@scene("100 at once")
def test_a_hundred_runs_at_once_are_counted_each_by_itself() -> None:
    outcomes: list[Outcome] = []

    async def together() -> None:
        agent = agent_of(chat, outcomes, tools=[])
        await asyncio.gather(*[agent.ainvoke(ASKED) for _ in range(100)])

    with scripted_chat(script=repaired) as chat:
        asyncio.run(together())

    assert [(len(each.attempts), each.usage.tokens) for each in outcomes] == [(2, 30)] * 100
    assert len(chat.heard) == 200


@scene("cancelled during a call")
def test_a_run_that_is_cancelled_while_the_model_is_asked_is_reported() -> None:
    outcomes: list[Outcome] = []

    async def cancelled() -> None:
        run = asyncio.create_task(agent_of(chat, outcomes, tools=[]).ainvoke(ASKED))
        await asyncio.to_thread(chat.hanging.wait, 20)
        run.cancel()
        await run

    with scripted_chat(BAD_STATUS, HANG) as chat, pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())

    assert [(each.stopped_because, each.text) for each in outcomes] == [("cancelled", BAD_STATUS)]


@scene("429 with Retry-After")
def test_a_rate_limit_that_the_client_waits_for_is_no_attempt() -> None:
    payments, outcomes = Payments(), list[Outcome]()
    with scripted_chat(Call("pay"), Busy(1), BAD_STATUS, GOOD) as chat:
        began = time.monotonic()
        agent_of(chat, outcomes, tools=[payments.pay], max_retries=2).invoke(ASKED)

    assert time.monotonic() - began >= 1
    assert payments.made == 1
    assert counts(outcomes) == [(True, 2)]


@scene("429 with Retry-After")
def test_a_rate_limit_that_the_client_gives_up_is_reported_with_its_status() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(BAD_STATUS, Busy(1)) as chat, pytest.raises(RateLimitError):
        agent_of(chat, outcomes, tools=[]).invoke(ASKED)

    assert [(each.stopped_because, each.text) for each in outcomes] == [("agent_error", BAD_STATUS)]
    # A request that is refused uses nothing.
    assert [each.usage and each.usage.tokens for each in outcomes[0].attempts] == [TOKENS, 0]


@scene("usage")
def test_usage_is_summed_over_tools_and_attempts() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(Call("pay"), BAD_STATUS, GOOD) as chat:
        agent_of(chat, outcomes, tools=[Payments().pay]).invoke(ASKED)

    assert [each.usage and each.usage.tokens for each in outcomes[0].attempts] == [30, 15]


@scene("1,200 open conversations")
def test_the_counts_of_1200_open_conversations_are_kept() -> None:
    outcomes: list[Outcome] = []

    async def together() -> None:
        agent = agent_of(chat, outcomes, tools=[])
        await asyncio.gather(*[agent.ainvoke(ASKED) for _ in range(MANY)])

    with scripted_chat(script=repaired, hold=MANY) as chat:
        asyncio.run(together())

    assert counts(outcomes) == [(True, 2)] * MANY


@scene("deadline")
def test_a_deadline_is_refused_and_the_refusal_says_why() -> None:
    with pytest.raises(PolicyError, match="deadline is given"):
        EnvelopeMiddleware(policy=RetryPolicy(deadline=5))

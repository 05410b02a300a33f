import asyncio
import time
from typing import Any

import pytest

pytest.importorskip("langgraph", reason="langgraph is not installed here; make frameworks tests it")

from httpx2 import Limits
from langchain_core.messages import SystemMessage
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt
from openai import DefaultAsyncHttpxClient, DefaultHttpxClient, RateLimitError

from goop_mcp import RetryPolicy
from goop_mcp.errors import PolicyError
from goop_mcp.hosts.frameworks.langgraph import EnvelopeCheck
from goop_mcp.retry import Outcome
from tests.frameworks.recipes import BAD_STATUS, GOOD, OPENING
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


def graph_of(
    chat: ScriptedChat,
    outcomes: list[Outcome],
    *,
    tools: Any = (),  # noqa: ANN401 - the framework's
    max_retries: int = 0,
    instructions: str = "",
) -> Any:  # noqa: ANN401 - as above
    """Return a graph of an agent on the framework's own client, its tools, and the check."""
    limits: dict[str, Any] = {"limits": Limits(max_connections=None), "trust_env": False}
    model: Any = ChatOpenAI(
        model="scripted",
        base_url=chat.address,
        api_key="none",
        max_retries=max_retries,
        timeout=90,
        http_client=DefaultHttpxClient(**limits),
        http_async_client=DefaultAsyncHttpxClient(**limits),
    )
    if tools:
        model = model.bind_tools(tools)

    def given(state: MessagesState) -> list[Any]:
        return [*([SystemMessage(instructions)] if instructions else []), *state["messages"]]

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(given(state))]}

    async def aask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(given(state))]}

    check = EnvelopeCheck(on_stop=outcomes.append)
    builder = StateGraph(MessagesState)
    builder.add_node("agent", RunnableLambda(ask, afunc=aask))
    builder.add_node("tools", ToolNode(list(tools), handle_tool_errors=False))
    builder.add_node("check", check)
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition, {"tools": "tools", "__end__": "check"})
    builder.add_edge("tools", "agent")
    builder.add_conditional_edges("check", check.edge("agent"))

    return builder.compile(checkpointer=InMemorySaver()).with_config(callbacks=[check.callback])


def thread(number: int = 1) -> Any:  # noqa: ANN401 - the framework's
    return {"configurable": {"thread_id": str(number)}}


def roles(body: dict[str, Any]) -> list[str]:
    return [each["role"] for each in body["messages"]]


def counts(outcomes: list[Outcome]) -> list[tuple[bool, int]]:
    return [(each.accepted, len(each.attempts)) for each in outcomes]


@scene("approval")
def test_a_tool_that_waits_for_a_person_is_run_once_when_it_is_approved() -> None:
    payments, outcomes = Payments(), list[Outcome]()

    def pay() -> str:
        """Pay the bill."""
        return payments.pay() if interrupt("May I pay?") else "refused"

    with scripted_chat(Call("pay"), BAD_STATUS, GOOD) as chat:
        graph = graph_of(chat, outcomes, tools=[pay])
        assert graph.invoke(ASKED, thread())["__interrupt__"]
        assert (payments.made, outcomes) == (0, [])
        graph.invoke(Command(resume=True), thread())

    assert payments.made == 1
    assert counts(outcomes) == [(True, 2)]
    assert outcomes[0].usage.tokens == 3 * TOKENS


@scene("handoff")
def test_a_graph_that_hands_off_to_another_one_has_each_counted_by_itself() -> None:
    outcomes: list[Outcome] = []

    def hand_off(_state: MessagesState) -> Any:  # noqa: ANN401 - the framework's
        return Command(
            goto="second", update={"messages": [{"role": "user", "content": "Go on with it."}]}
        )

    with scripted_chat(BAD_STATUS, GOOD, BAD_STATUS, GOOD) as chat:
        builder = StateGraph(MessagesState)
        builder.add_node("first", graph_of(chat, outcomes, instructions="You are the first."))
        builder.add_node("hand_off", hand_off, destinations=("second",))
        builder.add_node("second", graph_of(chat, outcomes, instructions="You are the second."))
        builder.add_edge(START, "first")
        builder.add_edge("first", "hand_off")
        builder.compile(checkpointer=InMemorySaver()).invoke(ASKED, thread())

    assert counts(outcomes) == [(True, 2)] * 2
    who = [each["messages"][0]["content"].split()[-1] for each in chat.heard]
    assert who == ["first."] * 2 + ["second."] * 2


@scene("session")
def test_two_tasks_of_a_thread_are_counted_each_by_itself() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(BAD_STATUS, GOOD, BAD_STATUS, GOOD) as chat:
        graph = graph_of(chat, outcomes)
        for _ in range(2):
            graph.invoke(ASKED, thread())

    assert counts(outcomes) == [(True, 2)] * 2
    assert roles(chat.heard[3]) == ["user", "assistant"] * 3 + ["user"]


@scene("tools counted")
def test_a_tool_runs_once_though_its_report_is_sent_again() -> None:
    payments, outcomes = Payments(), list[Outcome]()
    with scripted_chat(Call("pay"), BAD_STATUS, GOOD) as chat:
        graph_of(chat, outcomes, tools=[payments.pay]).invoke(ASKED, thread())

    assert payments.made == 1
    assert roles(chat.heard[2]) == ["user", "assistant", "tool", "assistant", "user"]
    assert OPENING in str(chat.heard[2]["messages"][-1])


@scene("100 at once")
def test_a_hundred_runs_at_once_are_counted_each_by_itself() -> None:
    outcomes: list[Outcome] = []

    async def together() -> None:
        graph = graph_of(chat, outcomes)
        await asyncio.gather(*[graph.ainvoke(ASKED, thread(each)) for each in range(100)])

    with scripted_chat(script=repaired) as chat:
        asyncio.run(together())

    assert [(len(each.attempts), each.usage.tokens) for each in outcomes] == [(2, 30)] * 100
    assert len(chat.heard) == 200


@scene("cancelled during a call")
def test_a_run_that_is_cancelled_while_the_model_is_asked_is_reported() -> None:
    outcomes: list[Outcome] = []

    async def cancelled() -> None:
        run = asyncio.create_task(graph_of(chat, outcomes).ainvoke(ASKED, thread()))
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
        graph_of(chat, outcomes, tools=[payments.pay], max_retries=2).invoke(ASKED, thread())

    assert time.monotonic() - began >= 1
    assert payments.made == 1
    assert counts(outcomes) == [(True, 2)]


@scene("429 with Retry-After")
def test_a_rate_limit_that_the_client_gives_up_is_reported_with_its_status() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(BAD_STATUS, Busy(1)) as chat, pytest.raises(RateLimitError):
        graph_of(chat, outcomes).invoke(ASKED, thread())

    assert [(each.stopped_because, each.text) for each in outcomes] == [("agent_error", BAD_STATUS)]
    # A request that is refused uses nothing.
    assert [each.usage and each.usage.tokens for each in outcomes[0].attempts] == [TOKENS, 0]


@scene("usage")
def test_usage_is_summed_over_tools_and_attempts() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(Call("pay"), BAD_STATUS, GOOD) as chat:
        graph_of(chat, outcomes, tools=[Payments().pay]).invoke(ASKED, thread())

    assert [each.usage and each.usage.tokens for each in outcomes[0].attempts] == [30, 15]


@scene("1,200 open conversations")
def test_the_counts_of_1200_open_conversations_are_kept() -> None:
    outcomes: list[Outcome] = []

    async def together() -> None:
        graph = graph_of(chat, outcomes)
        await asyncio.gather(*[graph.ainvoke(ASKED, thread(each)) for each in range(MANY)])

    with scripted_chat(script=repaired, hold=MANY) as chat:
        asyncio.run(together())

    assert counts(outcomes) == [(True, 2)] * MANY


@scene("deadline")
def test_a_deadline_is_refused_and_the_refusal_says_why() -> None:
    with pytest.raises(PolicyError, match="deadline is given"):
        EnvelopeCheck(policy=RetryPolicy(deadline=5))

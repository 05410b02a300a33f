import asyncio
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest

pytest.importorskip(
    "pydantic_ai", reason="pydantic-ai is not installed here; make frameworks tests it"
)

from httpx2 import Limits
from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelHTTPError,
    Tool,
    ToolOutput,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from goop_mcp import RetryPolicy
from goop_mcp.hosts.frameworks.pydantic_ai import EnvelopeCheck, check_output
from goop_mcp.retry import Outcome
from tests.frameworks.recipes import (
    ALWAYS_ANOTHER_ERROR,
    BAD_STATUS,
    GOOD,
    OPENING,
    FactoryReply,
    factory_reply,
)
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


def model_of(chat: ScriptedChat, *, max_retries: int = 0) -> OpenAIChatModel:
    """Return a model on the framework's own client."""
    http = DefaultAsyncHttpxClient(timeout=90, limits=Limits(max_connections=None), trust_env=False)
    client = AsyncOpenAI(
        base_url=chat.address, api_key="none", max_retries=max_retries, http_client=http
    )
    return OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=client))


Checked = Callable[..., Agent[Any, Any]]
Terms = dict[str, Any]


def by_capability(model: OpenAIChatModel, terms: Terms, **options: Any) -> Agent[Any, Any]:  # noqa: ANN401
    check = EnvelopeCheck(**terms)
    return Agent(model, capabilities=[check], retries={"output": 4}, **options)


def by_function(model: OpenAIChatModel, terms: Terms, **options: Any) -> Agent[Any, Any]:  # noqa: ANN401
    return check_output(Agent(model, retries={"output": 4}, **options), **terms)


both = pytest.mark.parametrize("checked", [by_capability, by_function])


def roles(body: dict[str, Any]) -> list[str]:
    return [each["role"] for each in body["messages"]]


def counts(outcomes: list[Outcome]) -> list[tuple[bool, int]]:
    return [(each.accepted, len(each.attempts)) for each in outcomes]


@scene("approval")
@both
async def test_a_tool_that_waits_for_a_person_is_run_once_when_it_is_approved(
    checked: Checked,
) -> None:
    payments, outcomes = Payments(), list[Outcome]()
    with scripted_chat(Call("pay"), BAD_STATUS, GOOD) as chat:
        agent = checked(
            model_of(chat),
            {"on_stop": outcomes.append},
            tools=[Tool(payments.pay, requires_approval=True)],
            output_type=[str, DeferredToolRequests],
        )
        waiting = await agent.run(TASK)
        assert isinstance(waiting.output, DeferredToolRequests)
        # A run that waits has no report yet: it is neither judged nor reported.
        assert (payments.made, outcomes) == (0, [])
        [call] = waiting.output.approvals
        done = await agent.run(
            message_history=waiting.all_messages(),
            deferred_tool_results=DeferredToolResults(approvals={call.tool_call_id: True}),
        )

    assert done.output == GOOD
    assert payments.made == 1
    assert counts(outcomes) == [(True, 2)]


@scene("handoff")
@both
async def test_an_agent_that_another_one_runs_is_counted_by_itself(checked: Checked) -> None:
    outcomes: list[Outcome] = []
    terms = {"on_stop": outcomes.append}
    with scripted_chat(Call("delegate"), BAD_STATUS, GOOD, BAD_STATUS, GOOD) as chat:
        second = checked(model_of(chat), terms, instructions="You are the second.")

        async def delegate() -> str:
            return str((await second.run(TASK)).output)

        first = checked(model_of(chat), terms, tools=[delegate], instructions="You are the first.")
        assert (await first.run(TASK)).output == GOOD

    assert counts(outcomes) == [(True, 2)] * 2
    assert [str(each["messages"]).count("You are the second.") for each in chat.heard] == [
        0,
        1,
        1,
        0,
        0,
    ]


@scene("session")
@both
async def test_two_tasks_of_a_conversation_are_counted_each_by_itself(checked: Checked) -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(BAD_STATUS, GOOD, BAD_STATUS, GOOD) as chat:
        agent = checked(model_of(chat), {"on_stop": outcomes.append})
        first = await agent.run(TASK)
        await agent.run(TASK, message_history=first.all_messages())

    assert counts(outcomes) == [(True, 2)] * 2
    # The feedback of the first task stands between its replies.
    assert roles(chat.heard[3]).count("assistant") == 3
    assert str(chat.heard[3]["messages"]).count(OPENING) == 2


@scene("structured output")
@both
async def test_structured_output_is_judged_and_answered_with_feedback(checked: Checked) -> None:
    outcomes: list[Outcome] = []
    replies = [
        Call("final_result", {"summary": 5}),
        Call(
            "final_result",
            FactoryReply.model_validate_json(factory_reply(deliverables=[])).model_dump(),
        ),
        Call("final_result", FactoryReply.model_validate_json(factory_reply()).model_dump()),
    ]
    with scripted_chat(*replies) as chat:
        terms = {"on_stop": outcomes.append, "protocol": "factory"}
        agent = checked(model_of(chat), terms, output_type=ToolOutput(FactoryReply))
        assert (await agent.run(TASK)).output.confidence == "high"

    assert len(chat.heard) == 3
    assert outcomes[-1].accepted


@scene("tools counted")
@both
async def test_a_tool_runs_once_though_its_report_is_sent_again(checked: Checked) -> None:
    payments, outcomes = Payments(), list[Outcome]()
    with scripted_chat(Call("pay"), BAD_STATUS, GOOD) as chat:
        agent = checked(model_of(chat), {"on_stop": outcomes.append}, tools=[payments.pay])
        assert (await agent.run(TASK)).output == GOOD

    assert payments.made == 1
    assert roles(chat.heard[2])[:4] == ["user", "assistant", "tool", "assistant"]
    assert OPENING in str(chat.heard[2]["messages"][4:])


@scene("100 at once")
@both
async def test_a_hundred_runs_at_once_are_counted_each_by_itself(checked: Checked) -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(script=repaired) as chat:
        agent = checked(model_of(chat), {"on_stop": outcomes.append})
        await asyncio.gather(*[agent.run(TASK) for _ in range(100)])

    assert [(len(each.attempts), each.usage.tokens) for each in outcomes] == [(2, 30)] * 100
    assert len(chat.heard) == 200


@scene("cancelled during a call")
async def test_a_run_that_is_cancelled_while_the_model_is_asked_is_reported() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(BAD_STATUS, HANG) as chat:
        agent = by_capability(model_of(chat), {"on_stop": outcomes.append})
        run = asyncio.create_task(agent.run(TASK))
        await asyncio.to_thread(chat.hanging.wait, 20)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    assert [(each.stopped_because, each.text) for each in outcomes] == [("cancelled", BAD_STATUS)]


@scene("429 with Retry-After")
@both
async def test_a_rate_limit_that_the_client_waits_for_is_no_attempt(checked: Checked) -> None:
    payments, outcomes = Payments(), list[Outcome]()
    with scripted_chat(Call("pay"), Busy(1), BAD_STATUS, GOOD) as chat:
        agent = checked(
            model_of(chat, max_retries=2), {"on_stop": outcomes.append}, tools=[payments.pay]
        )
        began = time.monotonic()
        assert (await agent.run(TASK)).output == GOOD

    assert time.monotonic() - began >= 1
    assert payments.made == 1
    assert counts(outcomes) == [(True, 2)]


@scene("429 with Retry-After")
async def test_a_rate_limit_that_the_client_gives_up_is_reported_with_its_status() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(BAD_STATUS, Busy(1)) as chat:
        agent = by_capability(model_of(chat), {"on_stop": outcomes.append})
        with pytest.raises(ModelHTTPError, match="429"):
            await agent.run(TASK)

    assert [(each.stopped_because, each.text) for each in outcomes] == [("agent_error", BAD_STATUS)]
    # A request that is refused uses nothing.
    assert outcomes[0].usage.tokens == TOKENS
    assert "429" in str(outcomes[0].failure)


@scene("usage")
@both
async def test_usage_is_summed_over_tools_and_attempts(checked: Checked) -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(Call("pay"), BAD_STATUS, GOOD) as chat:
        agent = checked(model_of(chat), {"on_stop": outcomes.append}, tools=[Payments().pay])
        result = await agent.run(TASK)

    assert [each.usage and each.usage.tokens for each in outcomes[0].attempts] == [30, 15]
    assert outcomes[0].usage.tokens == result.usage.total_tokens == 3 * TOKENS


@scene("1,200 open conversations")
async def test_the_counts_of_1200_open_conversations_are_kept() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(script=repaired, hold=MANY) as chat:
        agent = by_capability(model_of(chat), {"on_stop": outcomes.append})
        await asyncio.gather(*[agent.run(TASK) for _ in range(MANY)])

    assert counts(outcomes) == [(True, 2)] * MANY


@scene("deadline")
async def test_the_deadline_bounds_a_call_of_the_model() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(BAD_STATUS, HANG) as chat, anyio.fail_after(20):
        terms = {"on_stop": outcomes.append, "policy": RetryPolicy(deadline=1)}
        with pytest.raises(TimeoutError, match="deadline passed"):
            await by_capability(model_of(chat), terms).run(TASK)

    assert [(each.stopped_because, each.text) for each in outcomes] == [("deadline", BAD_STATUS)]


@scene("deadline")
async def test_without_the_capability_a_deadline_ends_the_run_at_the_next_output() -> None:
    outcomes: list[Outcome] = []

    left = iter(ALWAYS_ANOTHER_ERROR)

    def slow(_body: dict[str, Any]) -> str:
        time.sleep(0.3)
        return next(left)

    with scripted_chat(script=slow) as chat:
        policy = RetryPolicy(deadline=0.1, max_attempts=5)
        terms = {"on_stop": outcomes.append, "policy": policy, "hand_on_unaccepted": True}
        await by_function(model_of(chat), terms).run(TASK)

    assert [each.stopped_because for each in outcomes] == ["deadline"]
    assert len(chat.heard) == 2

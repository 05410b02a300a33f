import asyncio
import contextvars
import importlib.util
import os
import time
from typing import Any

import pytest

if importlib.util.find_spec("crewai") is None:
    pytest.skip("crewai is not installed here; make frameworks tests it", allow_module_level=True)
# Read when it is imported: nothing of a test goes out.
os.environ |= {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
}

from crewai import LLM, Agent, Crew, Task
from crewai.events import crewai_event_bus
from crewai.hooks import (
    InterceptionPoint,
    ToolCallHookContext,
    dispatch,
    register_before_tool_call_hook,
    unregister_before_tool_call_hook,
)
from crewai.hooks.contexts import StepContext
from crewai.tasks.task_output import TaskOutput
from crewai.tools import BaseTool

from goop_mcp import RetryPolicy
from goop_mcp.hosts.frameworks.crewai import envelope_guardrail
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
    Busy,
    Call,
    ScriptedChat,
    repaired,
    scripted_chat,
)


class Pay(BaseTool):
    name: str = "pay"
    description: str = "Pay the bill."
    payments: Any

    def _run(self) -> str:
        return str(self.payments.pay())


def model_of(chat: ScriptedChat, *, max_retries: int = 0) -> LLM:
    """Return a model on the framework's own client."""
    return LLM(
        model="openai/gpt-4o-mini",
        base_url=chat.address,
        api_key="none",
        timeout=90,
        max_retries=max_retries,
    )


# The framework's options
def crew_of(
    model: LLM,
    guardrail: Any,  # noqa: ANN401
    *tools: BaseTool,
    **options: Any,  # noqa: ANN401
) -> Crew:
    worker = Agent(
        role="worker", goal="Do the task.", backstory="Reports.", llm=model, tools=list(tools)
    )
    task = Task(
        description=TASK,
        expected_output="A goop_report.",
        agent=worker,
        guardrail=guardrail,
        **options,
    )
    return Crew(agents=[worker], tasks=[task])


def counts(outcomes: list[Outcome]) -> list[tuple[bool, int]]:
    return [(each.accepted, len(each.attempts)) for each in outcomes]


@scene("approval")
def test_a_tool_that_a_person_refuses_is_not_run() -> None:
    payments, outcomes = Payments(), list[Outcome]()
    asked: list[str] = []

    def ask_person(call: ToolCallHookContext) -> bool:
        asked.append(call.tool_name)
        return len(asked) > 1

    register_before_tool_call_hook(ask_person)
    try:
        with scripted_chat(Call("pay"), Call("pay"), BAD_STATUS, GOOD) as chat:
            guardrail = envelope_guardrail(on_stop=outcomes.append)
            crew_of(model_of(chat), guardrail, Pay(payments=payments)).kickoff()
    finally:
        unregister_before_tool_call_hook(ask_person)

    assert (asked, payments.made) == (["pay"] * 2, 1)
    assert counts(outcomes) == [(True, 2)]


@scene("handoff")
def test_the_work_of_a_coworker_is_not_taken_for_the_report_of_the_task() -> None:
    outcomes: list[Outcome] = []
    delegated = Call(
        "delegate_work_to_coworker",
        {"task": "Help.", "context": "The login form.", "coworker": "helper"},
    )
    with scripted_chat(delegated, "I helped.", BAD_STATUS, GOOD) as chat:
        model = model_of(chat)
        crew = crew_of(model, envelope_guardrail(on_stop=outcomes.append))
        crew.agents[0].allow_delegation = True
        crew.agents.append(Agent(role="helper", goal="Help.", backstory="-", llm=model))
        assert crew.kickoff().raw.strip() == GOOD.strip()

    assert "You are helper" in str(chat.heard[1]["messages"])
    assert counts(outcomes) == [(True, 2)]


@scene("structured output")
def test_structured_output_is_judged_and_answered_with_feedback() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(factory_reply(deliverables=[]), factory_reply()) as chat:
        guardrail = envelope_guardrail(on_stop=outcomes.append, protocol="factory")
        crew = crew_of(model_of(chat), guardrail, output_pydantic=FactoryReply)
        assert crew.kickoff().pydantic.confidence == "high"

    assert counts(outcomes) == [(True, 2)]


@scene("tools counted")
def test_a_tool_runs_again_only_where_the_model_calls_it_again() -> None:
    payments, outcomes = Payments(), list[Outcome]()
    with scripted_chat(Call("pay"), BAD_STATUS, GOOD) as chat:
        guardrail = envelope_guardrail(on_stop=outcomes.append)
        crew_of(model_of(chat), guardrail, Pay(payments=payments)).kickoff()

    assert payments.made == 1
    assert OPENING in str(chat.heard[2]["messages"])
    # crewai runs the whole task again: what the tools returned is not in the new conversation.
    assert "paid" not in str(chat.heard[2]["messages"])


@scene("100 at once")
def test_a_hundred_crews_at_once_are_counted_each_by_itself() -> None:
    outcomes: list[Outcome] = []
    guardrail = envelope_guardrail(on_stop=outcomes.append)

    async def together() -> None:
        model = model_of(chat)
        await asyncio.gather(*[crew_of(model, guardrail).akickoff() for _ in range(100)])

    with scripted_chat(script=repaired) as chat:
        asyncio.run(together())

    assert counts(outcomes) == [(True, 2)] * 100
    assert len(chat.heard) == 200


@scene("cancelled during a call")
def test_a_crew_that_is_cancelled_while_the_model_is_asked_is_reported() -> None:
    outcomes: list[Outcome] = []

    async def cancelled() -> None:
        guardrail = envelope_guardrail(on_stop=outcomes.append)
        run = asyncio.create_task(crew_of(model_of(chat), guardrail).akickoff())
        await asyncio.to_thread(chat.hanging.wait, 30)
        run.cancel()
        try:
            await run
        finally:
            # crewai's thread is left with the call; it would keep the loop from closing.
            chat.closed.set()

    with scripted_chat(BAD_STATUS, HANG) as chat, pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())

    assert [(each.stopped_because, each.text.strip()) for each in outcomes] == [
        ("cancelled", BAD_STATUS.strip())
    ]


@scene("429 with Retry-After")
def test_a_rate_limit_that_the_client_waits_for_is_no_attempt() -> None:
    payments, outcomes = Payments(), list[Outcome]()
    with scripted_chat(Call("pay"), Busy(1), BAD_STATUS, GOOD) as chat:
        began = time.monotonic()
        guardrail = envelope_guardrail(on_stop=outcomes.append)
        crew_of(model_of(chat, max_retries=2), guardrail, Pay(payments=payments)).kickoff()

    assert time.monotonic() - began >= 1
    assert payments.made == 1
    assert counts(outcomes) == [(True, 2)]


@scene("usage")
def test_usage_is_unknown_and_never_zero() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(BAD_STATUS, GOOD) as chat:
        crew_of(model_of(chat), envelope_guardrail(on_stop=outcomes.append)).kickoff()

    assert [each.usage for each in outcomes[0].attempts] == [None, None]
    assert outcomes[0].usage.tokens is None


@scene("1,200 open conversations")
def test_the_counts_of_1200_open_conversations_are_kept() -> None:
    # Tasks of crewai's in contexts of their own, announced and judged as crewai does; so many
    # kickoffs at once would take crewai an hour.
    outcomes: list[Outcome] = []
    guardrail = envelope_guardrail(on_stop=outcomes.append)

    def judged(text: str) -> bool:
        messages = [] if text == BAD_STATUS else [{"role": "user", "content": OPENING}]
        output = TaskOutput(description=TASK, raw=text, agent="worker", messages=messages)
        return bool(guardrail(output)[0])

    tasks = [
        (Task(description=TASK, expected_output="A goop_report.", guardrail=guardrail), context)
        for context in (contextvars.copy_context() for _ in range(MANY))
    ]
    for task, context in tasks:
        context.run(
            dispatch, InterceptionPoint.PRE_STEP, StepContext(kind="task", task=task, payload=None)
        )
    assert not any(context.run(judged, BAD_STATUS) for _, context in tasks)
    assert all(context.run(judged, GOOD) for _, context in tasks)
    assert counts(outcomes) == [(True, 2)] * MANY


@scene("deadline")
def test_a_deadline_ends_the_task_at_the_next_output() -> None:
    outcomes: list[Outcome] = []
    left = iter(ALWAYS_ANOTHER_ERROR)

    def slow(_body: dict[str, Any]) -> str:
        time.sleep(0.6)
        return next(left)

    with scripted_chat(script=slow) as chat:
        guardrail = envelope_guardrail(
            policy=RetryPolicy(deadline=0.5, max_attempts=5),
            hand_on_unaccepted=True,
            on_stop=outcomes.append,
        )
        crew_of(model_of(chat), guardrail).kickoff()

    # It is counted from the start of the task.
    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [("deadline", 1)]


@scene("429 with Retry-After")
def test_a_rate_limit_that_crewai_gives_up_is_reported() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(BAD_STATUS, Busy(0)) as chat:
        guardrail = envelope_guardrail(on_stop=outcomes.append)
        with pytest.raises(Exception, match=r"429|rate"):
            crew_of(model_of(chat), guardrail).kickoff()

    assert crewai_event_bus.flush()
    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [("agent_error", 2)]

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip(
    "smolagents", reason="smolagents is not installed here; make frameworks tests it"
)

from smolagents import OpenAIServerModel, Tool, ToolCallingAgent
from smolagents.memory import ActionStep
from smolagents.utils import AgentError

from goop_mcp import RetryPolicy
from goop_mcp.hosts.frameworks.smolagents import EnvelopeCheck, envelope_check
from goop_mcp.retry import Outcome
from tests.frameworks.recipes import BAD_STATUS, GOOD, OPENING, factory_reply
from tests.frameworks.scenes import MANY, TASK, Payments, scene
from tests.frameworks.scripted_chat import (
    HANG,
    TOKENS,
    Busy,
    Call,
    ScriptedChat,
    Turn,
    repaired,
    scripted_chat,
)


class Pay(Tool):
    name = "pay"
    description = "Pay the bill."
    inputs: dict[str, Any] = {}  # noqa: RUF012 - the framework's
    output_type = "string"

    def __init__(self, payments: Payments) -> None:
        super().__init__()
        self._payments = payments

    def forward(self) -> str:
        return self._payments.pay()


def model_of(chat: ScriptedChat, *, max_retries: int = 0) -> OpenAIServerModel:
    """Return a model on the framework's own client, which repeats no call by itself."""
    return OpenAIServerModel(
        "scripted",
        api_base=chat.address,
        api_key="none",
        client_kwargs={"max_retries": max_retries},
        retry=False,
    )


# The framework's options
def agent_of(
    chat: ScriptedChat,
    check: EnvelopeCheck,
    *tools: Tool,
    model: OpenAIServerModel | None = None,
    **options: Any,  # noqa: ANN401
) -> ToolCallingAgent:
    return ToolCallingAgent(
        tools=list(tools),
        model=model or model_of(chat),
        max_steps=6,
        verbosity_level=0,
        final_answer_checks=[check],
        step_callbacks=check.step_callbacks,
        **options,
    )


def counts(outcomes: list[Outcome]) -> list[tuple[bool, int]]:
    return [(each.accepted, len(each.attempts)) for each in outcomes]


@scene("handoff")
def test_an_agent_that_another_one_manages_is_counted_by_itself() -> None:
    outcomes: list[Outcome] = []
    check = envelope_check(on_stop=outcomes.append)
    delegated = Call("second", {"task": TASK})
    with scripted_chat(delegated, BAD_STATUS, GOOD, BAD_STATUS, GOOD) as chat:
        second = agent_of(chat, check, name="second", description="Does tasks.")
        assert agent_of(chat, check, managed_agents=[second]).run(TASK) == GOOD

    assert counts(outcomes) == [(True, 2)] * 2
    assert [each.usage.tokens for each in outcomes] == [2 * TOKENS, 3 * TOKENS]


@scene("session")
def test_two_tasks_of_a_conversation_are_counted_each_by_itself() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(BAD_STATUS, GOOD, BAD_STATUS, GOOD) as chat:
        agent = agent_of(chat, envelope_check(on_stop=outcomes.append))
        for _ in range(2):
            assert agent.run(TASK, reset=False) == GOOD

    assert counts(outcomes) == [(True, 2)] * 2
    assert str(chat.heard[3]["messages"]).count(OPENING) == 2


@scene("structured output")
def test_an_answer_that_is_an_object_is_judged_as_json() -> None:
    outcomes: list[Outcome] = []
    replies = [
        Call("final_answer", {"answer": {"status": "success"}}),
        Call("final_answer", {"answer": factory_reply()}),
    ]
    with scripted_chat(*replies) as chat:
        agent_of(chat, envelope_check(on_stop=outcomes.append, protocol="factory")).run(TASK)

    assert counts(outcomes) == [(True, 2)]
    assert outcomes[0].attempts[0].reply == '{"status": "success"}'


@scene("tools counted")
def test_a_tool_runs_once_though_its_report_is_sent_again() -> None:
    payments, outcomes = Payments(), list[Outcome]()
    with scripted_chat(Call("pay"), BAD_STATUS, GOOD) as chat:
        agent_of(chat, envelope_check(on_stop=outcomes.append), Pay(payments)).run(TASK)

    assert payments.made == 1
    assert OPENING in str(chat.heard[2]["messages"][-1])


@scene("100 at once")
def test_a_hundred_runs_at_once_are_counted_each_by_itself() -> None:
    outcomes: list[Outcome] = []
    check = envelope_check(on_stop=outcomes.append)
    with scripted_chat(script=repaired) as chat, ThreadPoolExecutor(100) as threads:
        replies = list(threads.map(lambda _: agent_of(chat, check).run(TASK), range(100)))

    assert replies == [GOOD] * 100
    assert [(len(each.attempts), each.usage.tokens) for each in outcomes] == [(2, 30)] * 100


@scene("cancelled during a call")
@pytest.mark.parametrize("is_answered", [False, True])
def test_a_run_that_is_interrupted_while_the_model_is_asked_is_reported(is_answered: bool) -> None:
    outcomes: list[Outcome] = []
    payments = Payments()

    def answer(_body: dict[str, Any]) -> Turn:
        if len(chat.heard) == 2:
            # smolagents ends the run when the call of the model has ended.
            agent.interrupt()
            return Call("pay") if is_answered else HANG
        return BAD_STATUS

    with scripted_chat(script=answer) as chat:
        agent = agent_of(chat, envelope_check(on_stop=outcomes.append), Pay(payments))
        if not is_answered:
            threading.Timer(0.5, chat.closed.set).start()
        with pytest.raises(AgentError):
            agent.run(TASK)

    because = "cancelled" if is_answered else "agent_error"
    assert [(each.stopped_because, each.text) for each in outcomes] == [(because, BAD_STATUS)]
    tokens = [each.usage and each.usage.tokens for each in outcomes[0].attempts]
    assert tokens == [TOKENS, TOKENS if is_answered else None]


@scene("429 with Retry-After")
def test_a_rate_limit_that_the_client_waits_for_is_no_attempt() -> None:
    payments, outcomes = Payments(), list[Outcome]()
    with scripted_chat(Call("pay"), Busy(1), BAD_STATUS, GOOD) as chat:
        began = time.monotonic()
        check = envelope_check(on_stop=outcomes.append)
        model = model_of(chat, max_retries=2)
        assert agent_of(chat, check, Pay(payments), model=model).run(TASK) == GOOD

    assert time.monotonic() - began >= 1
    assert payments.made == 1
    assert counts(outcomes) == [(True, 2)]


@scene("429 with Retry-After")
def test_a_rate_limit_that_the_client_gives_up_is_reported_with_its_status() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(BAD_STATUS, Busy(1)) as chat, pytest.raises(AgentError, match="429"):
        agent_of(chat, envelope_check(on_stop=outcomes.append)).run(TASK)

    assert [(each.stopped_because, each.text) for each in outcomes] == [("agent_error", BAD_STATUS)]
    assert "429" in str(outcomes[0].failure)


@scene("usage")
def test_usage_is_summed_over_tools_and_attempts() -> None:
    outcomes: list[Outcome] = []
    with scripted_chat(Call("pay"), BAD_STATUS, GOOD) as chat:
        agent_of(chat, envelope_check(on_stop=outcomes.append), Pay(Payments())).run(TASK)

    assert [each.usage and each.usage.tokens for each in outcomes[0].attempts] == [30, 15]


@scene("1,200 open conversations")
def test_the_counts_of_1200_open_conversations_are_kept() -> None:
    outcomes: list[Outcome] = []
    check = envelope_check(on_stop=outcomes.append)
    with scripted_chat(script=repaired) as chat:
        # A run that is streamed goes on only when its next event is asked for: all are open at
        # once.
        model = model_of(chat)
        agents = [agent_of(chat, check, model=model) for _ in range(MANY)]
        runs = [agent.run(TASK, stream=True) for agent in agents]
        for run in runs:
            assert any(isinstance(event, ActionStep) for event in run)
        assert outcomes == []
        for run in runs:
            for _ in run:
                pass

    assert counts(outcomes) == [(True, 2)] * MANY


@scene("deadline")
def test_a_deadline_ends_the_run_at_the_next_answer() -> None:
    outcomes: list[Outcome] = []

    def slow(_body: dict[str, Any]) -> str:
        time.sleep(0.3)
        return BAD_STATUS if len(chat.heard) == 1 else GOOD.replace("COMPLETE", "UNKNOWN")

    with scripted_chat(script=slow) as chat:
        policy = RetryPolicy(deadline=0.1, max_attempts=5)
        with pytest.raises(AgentError, match="interrupted"):
            agent_of(chat, envelope_check(policy=policy, on_stop=outcomes.append)).run(TASK)

    assert [each.stopped_because for each in outcomes] == ["deadline"]
    assert len(chat.heard) <= 2

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("langchain", reason="langchain is not installed here; make frameworks tests it")

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    SummarizationMiddleware,
    hook_config,
)
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from goop_mcp import NotAcceptedError, RetryPolicy
from goop_mcp.errors import PolicyError
from goop_mcp.evidence import AgentActivity, Evidence
from goop_mcp.hosts.frameworks.langchain import EnvelopeMiddleware
from goop_mcp.retry import Outcome
from tests.frameworks.recipes import (
    ALWAYS_ANOTHER_ERROR,
    BAD_STATUS,
    GOOD,
    OPENING,
    FactoryReply,
    factory_reply,
    names_of,
)

TASK: dict[str, Any] = {"messages": [{"role": "user", "content": "Implement the login form."}]}


class ScriptedModel(BaseChatModel):
    """Sends each of `replies` in turn and repeats the last one; raises exceptions."""

    replies: list[Any]
    # A field of the model, copied for each
    heard: list[list[BaseMessage]] = []  # noqa: RUF012

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        self.heard.append(messages)
        reply = self.replies[min(len(self.heard), len(self.replies)) - 1]
        if isinstance(reply, BaseException):
            raise reply

        message = (
            AIMessage(reply) if isinstance(reply, str) else reply.model_copy(update={"id": None})
        )

        return ChatResult(generations=[ChatGeneration(message=message)])

    def bind_tools(self, *_: object, **__: object) -> "ScriptedModel":
        return self

    @property
    def _llm_type(self) -> str:
        return "scripted"


def scripted(*replies: str | AIMessage | BaseException) -> ScriptedModel:
    return ScriptedModel(replies=list(replies))


def look_up(name: str) -> str:
    """Look something up."""
    return f"{name} is there"


def test_the_recipe_sends_a_bad_report_back_and_returns_the_good_one() -> None:
    model = scripted(BAD_STATUS, GOOD)
    assert names_of("langchain", model=model)["work"]() == GOOD
    assert [len(messages) for messages in model.heard] == [1, 3]
    assert OPENING in str(model.heard[1][-1].content)


def test_the_same_holds_in_an_event_loop() -> None:
    model = scripted(BAD_STATUS, GOOD)
    agent = create_agent(model, tools=[], middleware=[EnvelopeMiddleware()])
    assert asyncio.run(agent.ainvoke(TASK))["messages"][-1].text == GOOD
    assert len(model.heard) == 2


def test_a_good_report_is_not_asked_for_again() -> None:
    model = scripted(GOOD)
    assert names_of("langchain", model=model)["work"]() == GOOD
    assert len(model.heard) == 1


def test_the_same_report_again_ends_the_run_with_every_attempt() -> None:
    model = scripted(BAD_STATUS)
    with pytest.raises(NotAcceptedError) as caught:
        names_of("langchain", model=model)["work"]()
    assert caught.value.outcome.stopped_because == "no_progress"
    assert [attempt.reply for attempt in caught.value.outcome.attempts] == [BAD_STATUS] * 2


def test_the_run_ends_after_the_attempts_of_the_policy_and_may_hand_on_the_last_reply() -> None:
    model, outcomes = scripted(*ALWAYS_ANOTHER_ERROR), list[object]()
    middleware = EnvelopeMiddleware(
        policy=RetryPolicy(max_attempts=2), hand_on_unaccepted=True, on_stop=outcomes.append
    )
    result = create_agent(model, tools=[], middleware=[middleware]).invoke(TASK)
    assert result["messages"][-1].text == ALWAYS_ANOTHER_ERROR[1]
    outcome = middleware.outcome(result["messages"])
    assert (outcome.stopped_because, len(outcome.attempts)) == ("attempts", 2)
    assert len(outcomes) == 1


def test_calls_of_tools_are_no_reports_and_each_task_of_a_conversation_is_counted_by_itself() -> (
    None
):
    call = AIMessage("", tool_calls=[{"name": "look_up", "args": {"name": "form"}, "id": "1"}])
    model = scripted(call, BAD_STATUS, call, GOOD, BAD_STATUS, GOOD)
    agent = create_agent(model, tools=[look_up], middleware=[EnvelopeMiddleware()])
    first = agent.invoke(TASK)
    second = agent.invoke({"messages": [*first["messages"], *TASK["messages"]]})
    assert len(model.heard) == 6
    assert EnvelopeMiddleware().outcome(second["messages"]).accepted


def test_a_deadline_is_refused_as_messages_bear_no_time() -> None:
    with pytest.raises(PolicyError, match="deadline"):
        EnvelopeMiddleware(policy=RetryPolicy(deadline=5))


# Fields of the message
def counted(text: str, tokens: int | None, **more: Any) -> AIMessage:  # noqa: ANN401
    used = (
        {"input_tokens": tokens - 5, "output_tokens": 5, "total_tokens": tokens}
        if tokens is not None
        else None
    )
    return AIMessage(text, usage_metadata=used, **more)


LOOK_UP = {"name": "look_up", "args": {"name": "form"}, "id": "1"}


def test_attempts_are_counted_though_the_messages_are_summarized() -> None:
    outcomes: list[Outcome] = []
    model, summaries = scripted(*ALWAYS_ANOTHER_ERROR), scripted("They talked about a login form.")
    summarizing = SummarizationMiddleware(summaries, trigger=("messages", 2), keep=("messages", 1))
    check = EnvelopeMiddleware(hand_on_unaccepted=True, on_stop=outcomes.append)
    result = create_agent(model, tools=[], middleware=[summarizing, check]).invoke(TASK)
    assert summaries.heard
    assert len(model.heard) == 3
    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [("attempts", 3)]
    assert [each.reply for each in check.outcome(result).attempts] == list(ALWAYS_ANOTHER_ERROR)


def test_each_reply_is_judged_once_by_what_was_known_then() -> None:
    asked: list[int] = []

    def evidence() -> Evidence:
        asked.append(len(model.heard))
        return Evidence(activity=AgentActivity(host="test", complete=True))

    model = scripted(*ALWAYS_ANOTHER_ERROR[:2], GOOD)
    check = EnvelopeMiddleware(evidence=evidence, hand_on_unaccepted=True)
    result = create_agent(model, tools=[], middleware=[check]).invoke(TASK)
    assert asked == [1, 2, 3]
    replies = [*ALWAYS_ANOTHER_ERROR[:2], GOOD]
    outcome = check.outcome(result)
    assert [each.reply for each in outcome.attempts] == replies
    assert outcome.attempts[1].message == str(result["messages"][2].content)
    # From the messages alone only the last reply is judged, of which they do not say how it was.
    assert [each.reply for each in check.outcome(result["messages"]).attempts] == replies
    assert asked == [1, 2, 3, 3]


@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
def test_structured_output_is_judged_as_the_json_that_the_model_sent(
    strategy: Any,  # noqa: ANN401
) -> None:
    def sent(reply: str, number: int) -> AIMessage:
        if strategy is ProviderStrategy:
            return AIMessage(reply)
        call = {"name": "FactoryReply", "args": json.loads(reply), "id": f"call-{number}"}
        return AIMessage("", tool_calls=[call])

    replies = [factory_reply(status=None), factory_reply(deliverables=[]), factory_reply()]
    model = scripted(*[sent(reply, number) for number, reply in enumerate(replies)])
    check = EnvelopeMiddleware(protocol="factory")
    agent = create_agent(
        model, tools=[look_up], middleware=[check], response_format=strategy(FactoryReply)
    )
    result = agent.invoke(TASK)
    assert len(model.heard) == 3
    assert result["structured_response"].deliverables[0].path == "src/login.py"
    attempts = check.outcome(result).attempts
    assert [json.loads(each.reply or "").get("status") for each in attempts] == [
        None,
        "success",
        "success",
    ]


def test_usage_is_that_of_the_model_calls_of_tools_included() -> None:
    outcomes: list[Outcome] = []
    model = scripted(
        counted("", 20, tool_calls=[LOOK_UP]), counted(BAD_STATUS, 30), counted(GOOD, 40)
    )
    agent = create_agent(
        model, tools=[look_up], middleware=[EnvelopeMiddleware(on_stop=outcomes.append)]
    )
    agent.invoke(TASK)
    assert [each.usage and each.usage.tokens for each in outcomes[0].attempts] == [50, 40]


def test_usage_is_unknown_where_one_call_of_the_model_does_not_report_it() -> None:
    outcomes: list[Outcome] = []
    model = scripted(
        counted("", None, tool_calls=[LOOK_UP]), counted(BAD_STATUS, 30), counted(GOOD, 40)
    )
    agent = create_agent(
        model, tools=[look_up], middleware=[EnvelopeMiddleware(on_stop=outcomes.append)]
    )
    agent.invoke(TASK)
    assert [each.usage and each.usage.tokens for each in outcomes[0].attempts] == [None, 40]


@pytest.mark.parametrize("is_async", [False, True])
def test_on_stop_receives_the_outcome_of_a_run_whose_model_fails(is_async: bool) -> None:
    outcomes: list[Outcome] = []
    model = scripted(BAD_STATUS, ConnectionError("the model is gone"))
    agent = create_agent(model, tools=[], middleware=[EnvelopeMiddleware(on_stop=outcomes.append)])
    with pytest.raises(ConnectionError):
        asyncio.run(agent.ainvoke(TASK)) if is_async else agent.invoke(TASK)

    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [("agent_error", 2)]
    assert outcomes[0].text == BAD_STATUS


def test_on_stop_receives_the_outcome_of_a_run_that_is_cancelled() -> None:
    outcomes: list[Outcome] = []
    asked = asyncio.Event()

    class Hanging(ScriptedModel):
        async def _agenerate(self, *_: object, **__: object) -> ChatResult:
            asked.set()
            await asyncio.sleep(60)
            raise AssertionError

    agent = create_agent(
        Hanging(replies=[]), tools=[], middleware=[EnvelopeMiddleware(on_stop=outcomes.append)]
    )

    async def cancelled() -> None:
        run = asyncio.create_task(agent.ainvoke(TASK))
        await asked.wait()
        run.cancel()
        await run

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())

    assert [each.stopped_because for each in outcomes] == ["cancelled"]


def test_a_hundred_runs_at_once_of_one_agent_are_counted_each_by_itself() -> None:
    outcomes: list[Outcome] = []

    class Answering(ScriptedModel):
        def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
            is_repaired = any(OPENING in str(each.content) for each in messages)
            return ChatResult(
                generations=[
                    ChatGeneration(message=counted(GOOD if is_repaired else BAD_STATUS, 15))
                ]
            )

    check = EnvelopeMiddleware(on_stop=outcomes.append)
    agent = create_agent(Answering(replies=[]), tools=[], middleware=[check])

    async def together() -> None:
        await asyncio.gather(*[agent.ainvoke(TASK) for _ in range(100)])

    asyncio.run(together())
    assert [(len(each.attempts), each.usage.tokens) for each in outcomes] == [(2, 30)] * 100


def test_a_run_that_other_middleware_sends_back_after_an_accepted_report_goes_on() -> None:
    class Nicer(AgentMiddleware):
        asked = False

        @hook_config(can_jump_to=["model"])
        def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401, ARG002
            if self.asked:
                return None
            self.asked = True
            return {"messages": [{"role": "user", "content": "Name the file."}], "jump_to": "model"}

    outcomes: list[Outcome] = []
    check = EnvelopeMiddleware(on_stop=outcomes.append)
    # The last middleware is the first to see what the model sent.
    agent = create_agent(
        scripted(counted(GOOD, 30), counted(GOOD, 40)), tools=[], middleware=[Nicer(), check]
    )
    result = agent.invoke(TASK)
    assert result["messages"][-1].text == GOOD
    assert [(each.accepted, each.usage.tokens) for each in outcomes] == [(True, 30), (True, 40)]
    assert check.outcome(result).accepted


def test_a_run_that_waits_for_a_person_is_counted_across_the_interruption() -> None:
    outcomes: list[Outcome] = []
    model = scripted(
        counted(BAD_STATUS, 30), counted("", 20, tool_calls=[LOOK_UP]), counted(GOOD, 40)
    )
    waiting = HumanInTheLoopMiddleware(interrupt_on={"look_up": True})
    check = EnvelopeMiddleware(on_stop=outcomes.append)
    agent = create_agent(
        model, tools=[look_up], middleware=[check, waiting], checkpointer=InMemorySaver()
    )
    thread: Any = {"configurable": {"thread_id": "1"}}
    assert agent.invoke(TASK, thread)["__interrupt__"]
    assert outcomes == []
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
    assert [
        [each.usage and each.usage.tokens for each in outcome.attempts] for outcome in outcomes
    ] == [[30, 60]]


def test_middleware_that_interrupts_a_call_of_the_model_has_not_failed() -> None:
    class RetryLoop(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:  # noqa: ANN401
            interrupt("May I?")
            return handler(request)

    outcomes: list[Outcome] = []
    check = EnvelopeMiddleware(on_stop=outcomes.append)
    agent = create_agent(
        scripted(GOOD), tools=[], middleware=[check, RetryLoop()], checkpointer=InMemorySaver()
    )
    thread: Any = {"configurable": {"thread_id": "1"}}
    assert agent.invoke(TASK, thread)["__interrupt__"]
    assert outcomes == []
    agent.invoke(Command(resume=True), thread)
    assert [each.accepted for each in outcomes] == [True]


def test_on_stop_receives_the_outcome_of_a_run_that_other_middleware_ends() -> None:
    outcomes: list[Outcome] = []
    check = EnvelopeMiddleware(on_stop=outcomes.append)
    limit = ModelCallLimitMiddleware(run_limit=1, exit_behavior="end")
    create_agent(scripted(counted(BAD_STATUS, 30)), tools=[], middleware=[check, limit]).invoke(
        TASK
    )
    assert [(each.stopped_because, each.text) for each in outcomes] == [("attempts", BAD_STATUS)]


def test_usage_of_the_tools_before_a_call_of_the_model_that_fails_is_counted() -> None:
    outcomes: list[Outcome] = []
    model = scripted(counted("", 20, tool_calls=[LOOK_UP]), ConnectionError("the model is gone"))
    agent = create_agent(
        model, tools=[look_up], middleware=[EnvelopeMiddleware(on_stop=outcomes.append)]
    )
    with pytest.raises(ConnectionError):
        agent.invoke(TASK)

    assert outcomes[0].usage.tokens == 20


@pytest.mark.parametrize("is_async", [False, True])
def test_on_stop_receives_the_outcome_of_a_run_whose_tool_fails_once(is_async: bool) -> None:
    async def asking() -> None:
        await agent.ainvoke(TASK)

    def fail() -> str:
        """Fail."""
        raise ValueError("the disk is full")

    outcomes: list[Outcome] = []
    calls = [{"name": "fail", "args": {}, "id": name} for name in "ab"]
    model = scripted(counted(BAD_STATUS, 30), counted("", 20, tool_calls=calls))
    check = EnvelopeMiddleware(on_stop=outcomes.append)
    agent = create_agent(model, tools=[fail], middleware=[check]).with_config(
        callbacks=[check.callback]
    )
    with pytest.raises(ValueError, match="disk"):
        asyncio.run(asking()) if is_async else agent.invoke(TASK)

    assert [(each.stopped_because, each.text) for each in outcomes] == [("agent_error", BAD_STATUS)]
    assert [each.usage and each.usage.tokens for each in outcomes[0].attempts] == [30, 20]


@pytest.mark.parametrize(
    ("replies", "because"),
    [
        ([ConnectionError("gone")], "agent_error"),
        ([BAD_STATUS, BAD_STATUS], "no_progress"),
        ([BAD_STATUS, KeyboardInterrupt()], "cancelled"),
    ],
)
def test_with_the_callback_every_run_is_reported_once(replies: list[Any], because: str) -> None:
    outcomes: list[Outcome] = []
    check = EnvelopeMiddleware(on_stop=outcomes.append)
    agent = create_agent(scripted(*replies), tools=[], middleware=[check]).with_config(
        callbacks=[check.callback]
    )
    with pytest.raises((ConnectionError, NotAcceptedError, KeyboardInterrupt)):
        agent.invoke(TASK)

    assert [each.stopped_because for each in outcomes] == [because]


def test_with_the_callback_a_run_that_is_cancelled_in_a_tool_is_reported() -> None:
    outcomes: list[Outcome] = []
    called = asyncio.Event()

    async def wait() -> str:
        """Wait."""
        called.set()
        await asyncio.sleep(60)
        return ""

    call = {"name": "wait", "args": {}, "id": "1"}
    check = EnvelopeMiddleware(on_stop=outcomes.append)
    agent = create_agent(
        scripted(counted("", 20, tool_calls=[call])), tools=[wait], middleware=[check]
    ).with_config(callbacks=[check.callback])

    async def cancelled() -> None:
        run = asyncio.create_task(agent.ainvoke(TASK))
        await called.wait()
        run.cancel()
        await run

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())

    assert [(each.stopped_because, each.usage.tokens) for each in outcomes] == [("cancelled", 20)]


def test_with_the_callback_a_run_that_is_cancelled_while_the_model_is_asked_is_reported_once() -> (
    None
):
    outcomes: list[Outcome] = []
    asked = asyncio.Event()

    class Hanging(ScriptedModel):
        async def _agenerate(self, *_: object, **__: object) -> ChatResult:
            asked.set()
            await asyncio.sleep(60)
            raise AssertionError

    check = EnvelopeMiddleware(on_stop=outcomes.append)
    agent = create_agent(Hanging(replies=[]), tools=[], middleware=[check]).with_config(
        callbacks=[check.callback]
    )

    async def cancelled() -> None:
        run = asyncio.create_task(agent.ainvoke(TASK))
        await asked.wait()
        run.cancel()
        await run

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())

    assert [each.stopped_because for each in outcomes] == ["cancelled"]


def test_a_model_whose_reply_was_cut_is_asked_for_a_shorter_one() -> None:
    cut = AIMessage(BAD_STATUS, response_metadata={"finish_reason": "length"})
    model = ScriptedModel(replies=[cut, GOOD])
    middleware = EnvelopeMiddleware()
    finished = create_agent(model, middleware=[middleware]).invoke(TASK)
    assert "cut at the token limit: send it shorter" in str(model.heard[1][-1].content)
    outcome = middleware.outcome(finished)
    assert [each.stop_reason for each in outcome.attempts] == ["token_limit", None]

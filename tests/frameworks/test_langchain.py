import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain", reason="langchain is not installed here; make frameworks tests it")

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from goop_mcp import NotAcceptedError, RetryPolicy
from goop_mcp.errors import PolicyError
from goop_mcp.hosts.frameworks.langchain import EnvelopeMiddleware
from tests.frameworks.recipes import ALWAYS_ANOTHER_FAULT, BAD_STATUS, GOOD, OPENING, names_of

TASK: dict[str, Any] = {"messages": [{"role": "user", "content": "Implement the login form."}]}


class ScriptedModel(BaseChatModel):
    """Sends each of `replies` in turn, then the last one for ever."""

    replies: list[str | AIMessage]
    heard: list[list[BaseMessage]] = []  # noqa: RUF012 - a field of the model, copied for each

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        self.heard.append(messages)
        reply = self.replies[min(len(self.heard), len(self.replies)) - 1]
        message = AIMessage(reply) if isinstance(reply, str) else reply.model_copy(update={"id": None})
        return ChatResult(generations=[ChatGeneration(message=message)])

    def bind_tools(self, *_: object, **__: object) -> "ScriptedModel":
        return self

    @property
    def _llm_type(self) -> str:
        return "scripted"


def scripted(*replies: str | AIMessage) -> ScriptedModel:
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
    model, outcomes = scripted(*ALWAYS_ANOTHER_FAULT), list[object]()
    middleware = EnvelopeMiddleware(
        policy=RetryPolicy(max_attempts=2), hand_on_unaccepted=True, on_stop=outcomes.append
    )
    result = create_agent(model, tools=[], middleware=[middleware]).invoke(TASK)
    assert result["messages"][-1].text == ALWAYS_ANOTHER_FAULT[1]
    outcome = middleware.outcome(result["messages"])
    assert (outcome.stopped_because, len(outcome.attempts)) == ("attempts", 2)
    assert len(outcomes) == 1


def test_calls_of_tools_are_no_reports_and_each_task_of_a_conversation_is_counted_by_itself() -> None:
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

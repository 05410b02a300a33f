import pytest

pytest.importorskip("smolagents", reason="smolagents is not installed here; make frameworks tests it")

from smolagents import ChatMessage, Model, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole
from smolagents.utils import AgentError

from goop_mcp import RetryPolicy
from goop_mcp.hosts.frameworks.smolagents import envelope_check
from tests.frameworks.recipes import ALWAYS_ANOTHER_FAULT, BAD_STATUS, GOOD, OPENING, names_of

TASK = "Implement the login form."


class ScriptedModel(Model):
    """Gives each of `replies` as the final answer in turn, then the last one for ever."""

    def __init__(self, *replies: str) -> None:
        super().__init__()
        self.replies, self.heard = replies, list[str]()

    def generate(self, messages: list[ChatMessage], **_: object) -> ChatMessage:
        self.heard.append(str(messages[-1].content))
        answer = self.replies[min(len(self.heard), len(self.replies)) - 1]
        function = ChatMessageToolCallFunction(name="final_answer", arguments={"answer": answer})
        call = ChatMessageToolCall(id="1", type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


def test_the_recipe_sends_a_bad_report_back_and_returns_the_good_one() -> None:
    model = ScriptedModel(BAD_STATUS, GOOD)
    defined = names_of("smolagents", model=model)
    assert defined["work"]() == GOOD
    assert OPENING in model.heard[1]
    assert [(outcome.accepted, len(outcome.attempts)) for outcome in defined["outcomes"]] == [(True, 2)]


def test_a_good_report_is_not_asked_for_again() -> None:
    model = ScriptedModel(GOOD)
    assert names_of("smolagents", model=model)["work"]() == GOOD
    assert len(model.heard) == 1


def test_the_same_report_again_interrupts_the_run_and_keeps_every_attempt() -> None:
    model = ScriptedModel(BAD_STATUS)
    defined = names_of("smolagents", model=model)
    with pytest.raises(AgentError, match="interrupted"):
        defined["work"]()
    [outcome] = defined["outcomes"]
    assert outcome.stopped_because == "no_progress"
    assert [attempt.reply for attempt in outcome.attempts] == [BAD_STATUS] * 2
    assert len(model.heard) == 2


def test_the_run_is_interrupted_after_the_attempts_of_the_policy() -> None:
    model = ScriptedModel(*ALWAYS_ANOTHER_FAULT)
    with pytest.raises(AgentError, match="interrupted"):
        names_of("smolagents", model=model)["work"]()
    assert len(model.heard) == 3


def test_the_last_answer_is_handed_on_only_when_asked_for() -> None:
    check = envelope_check(policy=RetryPolicy(max_attempts=1), hand_on_unaccepted=True)
    agent = ToolCallingAgent(tools=[], model=ScriptedModel(BAD_STATUS), final_answer_checks=[check])
    assert agent.run(TASK) == BAD_STATUS


def test_a_run_that_broke_off_does_not_count_for_the_next() -> None:
    model = ScriptedModel(BAD_STATUS, "made up", BAD_STATUS, GOOD)
    agent = ToolCallingAgent(tools=[], model=model, max_steps=1, final_answer_checks=[envelope_check()])
    agent.run(TASK)
    agent.max_steps = 3
    assert agent.run(TASK) == GOOD

import pytest

pytest.importorskip("langgraph", reason="langgraph is not installed here; make frameworks tests it")

from langchain_core.messages import AIMessage, BaseMessage

from goop_mcp import NotAcceptedError, RetryPolicy
from goop_mcp.hosts.frameworks.langgraph import EnvelopeCheck
from tests.frameworks.recipes import ALWAYS_ANOTHER_FAULT, BAD_STATUS, GOOD, OPENING, names_of


class ScriptedModel:
    """Sends each of `replies` in turn, then the last one for ever."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.heard = replies, list[list[BaseMessage]]()

    def invoke(self, messages: list[BaseMessage]) -> AIMessage:
        self.heard.append(messages)
        return AIMessage(self.replies[min(len(self.heard), len(self.replies)) - 1])


def test_the_recipe_goes_back_to_the_agent_until_the_report_is_accepted() -> None:
    model = ScriptedModel(BAD_STATUS, GOOD)
    outcome = names_of("langgraph", model=model)["work"]()
    assert outcome.accepted
    assert outcome.text == GOOD
    assert OPENING in str(model.heard[1][-1].content)


def test_a_good_report_goes_to_the_end_at_once() -> None:
    model = ScriptedModel(GOOD)
    assert names_of("langgraph", model=model)["work"]().accepted
    assert len(model.heard) == 1


def test_the_same_report_again_goes_to_the_end_unaccepted() -> None:
    model = ScriptedModel(BAD_STATUS)
    outcome = names_of("langgraph", model=model)["work"]()
    assert (outcome.stopped_because, len(outcome.attempts), len(model.heard)) == (
        "no_progress",
        2,
        2,
    )


def test_always_another_fault_goes_to_the_end_after_three_attempts() -> None:
    model = ScriptedModel(*ALWAYS_ANOTHER_FAULT)
    outcome = names_of("langgraph", model=model)["work"]()
    assert (outcome.stopped_because, len(model.heard)) == ("attempts", 3)


def test_the_node_raises_where_the_policy_says_so() -> None:
    check = EnvelopeCheck(policy=RetryPolicy(max_attempts=1, when_exhausted="raise"))
    with pytest.raises(NotAcceptedError):
        check({"messages": [AIMessage(BAD_STATUS)]})

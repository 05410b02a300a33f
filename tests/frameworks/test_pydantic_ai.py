import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed here; make frameworks tests it")

from pydantic_ai import Agent, messages
from pydantic_ai.models.function import AgentInfo, FunctionModel

from goop_mcp import NotAcceptedError, RetryPolicy
from goop_mcp.hosts.frameworks.pydantic_ai import check_output
from goop_mcp.retry import Outcome
from tests.frameworks.recipes import ALWAYS_ANOTHER_FAULT, BAD_STATUS, GOOD, OPENING, names_of


class ScriptedModel:
    """Sends each of `replies` in turn, then the last one for ever."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.heard = replies, list[str]()
        self.model = FunctionModel(self.answer)

    def answer(self, said: list[messages.ModelMessage], _info: AgentInfo) -> messages.ModelResponse:
        self.heard.append(str(said[-1]))
        return messages.ModelResponse(
            parts=[messages.TextPart(self.replies[min(len(self.heard), len(self.replies)) - 1])]
        )


async def test_the_recipe_sends_a_bad_report_back_and_returns_the_good_one() -> None:
    scripted = ScriptedModel(BAD_STATUS, GOOD)
    assert await names_of("pydantic-ai", model=scripted.model)["work"]() == GOOD
    assert len(scripted.heard) == 2
    assert OPENING in scripted.heard[1]


async def test_a_good_report_is_not_asked_for_again() -> None:
    scripted = ScriptedModel(GOOD)
    assert await names_of("pydantic-ai", model=scripted.model)["work"]() == GOOD
    assert len(scripted.heard) == 1


async def test_the_same_report_again_ends_the_run_with_every_attempt() -> None:
    scripted = ScriptedModel(BAD_STATUS)
    with pytest.raises(NotAcceptedError) as caught:
        await names_of("pydantic-ai", model=scripted.model)["work"]()
    assert caught.value.outcome.stopped_because == "no_progress"
    assert [attempt.reply for attempt in caught.value.outcome.attempts] == [BAD_STATUS] * 2


async def test_the_run_ends_after_the_attempts_of_the_policy() -> None:
    scripted = ScriptedModel(*ALWAYS_ANOTHER_FAULT)
    agent = check_output(Agent(scripted.model, retries={"output": 9}), policy=RetryPolicy(max_attempts=3))
    with pytest.raises(NotAcceptedError) as caught:
        await agent.run("Implement the login form.")
    assert caught.value.outcome.stopped_because == "attempts"
    assert len(scripted.heard) == 3


async def test_a_smaller_limit_of_the_framework_ends_the_run_without_losing_an_attempt() -> None:
    scripted = ScriptedModel(*ALWAYS_ANOTHER_FAULT)
    with pytest.raises(NotAcceptedError) as caught:
        await check_output(Agent(scripted.model)).run("Implement the login form.")
    assert caught.value.outcome.stopped_because == "attempts"
    assert len(caught.value.outcome.attempts) == len(scripted.heard) == 2


async def test_the_last_reply_is_handed_on_only_when_asked_for() -> None:
    outcomes: list[Outcome] = []
    agent = Agent(ScriptedModel(BAD_STATUS).model, retries={"output": 2})
    result = await check_output(agent, hand_on_unaccepted=True, on_stop=outcomes.append).run("Implement it.")
    assert result.output == BAD_STATUS
    assert [outcome.accepted for outcome in outcomes] == [False]


async def test_each_run_is_counted_by_itself() -> None:
    agent = check_output(Agent(ScriptedModel(BAD_STATUS, GOOD, BAD_STATUS, GOOD).model, retries={"output": 2}))
    assert [(await agent.run("Implement it.")).output for _ in range(2)] == [GOOD] * 2

import asyncio
import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest

pytest.importorskip(
    "pydantic_ai", reason="pydantic-ai is not installed here; make frameworks tests it"
)

from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput, messages
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from goop_mcp import NotAcceptedError, RetryPolicy
from goop_mcp.hosts.frameworks.pydantic_ai import EnvelopeCheck, check_output
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


class ScriptedModel:
    """Sends each of `replies` in turn, then the last one for ever."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.heard = replies, list[str]()
        self.model = FunctionModel(self.answer)

    def answer(
        self, history: list[messages.ModelMessage], _info: AgentInfo
    ) -> messages.ModelResponse:
        self.heard.append(str(history[-1]))
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
    scripted = ScriptedModel(*ALWAYS_ANOTHER_ERROR)
    agent = check_output(
        Agent(scripted.model, retries={"output": 9}), policy=RetryPolicy(max_attempts=3)
    )
    with pytest.raises(NotAcceptedError) as caught:
        await agent.run("Implement the login form.")

    assert caught.value.outcome.stopped_because == "attempts"
    assert len(scripted.heard) == 3


async def test_a_smaller_limit_of_the_framework_ends_the_run_without_losing_an_attempt() -> None:
    scripted = ScriptedModel(*ALWAYS_ANOTHER_ERROR)
    with pytest.raises(NotAcceptedError) as caught:
        await check_output(Agent(scripted.model)).run("Implement the login form.")
    assert caught.value.outcome.stopped_because == "attempts"
    assert len(caught.value.outcome.attempts) == len(scripted.heard) == 2


async def test_the_last_reply_is_handed_on_only_when_asked_for() -> None:
    outcomes: list[Outcome] = []
    agent = Agent(ScriptedModel(BAD_STATUS).model, retries={"output": 2})
    result = await check_output(agent, hand_on_unaccepted=True, on_stop=outcomes.append).run(
        "Implement it."
    )
    assert result.output == BAD_STATUS
    assert [outcome.accepted for outcome in outcomes] == [False]


async def test_each_run_is_counted_by_itself() -> None:
    agent = check_output(
        Agent(ScriptedModel(BAD_STATUS, GOOD, BAD_STATUS, GOOD).model, retries={"output": 2})
    )
    assert [(await agent.run("Implement it.")).output for _ in range(2)] == [GOOD] * 2


Checked = Callable[..., Agent[Any, Any]]


def by_capability(
    model: FunctionModel,
    *,
    output_type: Any = str,  # noqa: ANN401
    tools: Any = (),  # noqa: ANN401
    **terms: Any,  # noqa: ANN401
) -> Agent[Any, Any]:
    check = EnvelopeCheck(**terms)
    return Agent(
        model, output_type=output_type, tools=tools, capabilities=[check], retries={"output": 4}
    )


def by_function(
    model: FunctionModel,
    *,
    output_type: Any = str,  # noqa: ANN401
    tools: Any = (),  # noqa: ANN401
    **terms: Any,  # noqa: ANN401
) -> Agent[Any, Any]:
    return check_output(
        Agent(model, output_type=output_type, tools=tools, retries={"output": 4}), **terms
    )


both = pytest.mark.parametrize("checked", [by_capability, by_function])


def answering(*replies: messages.ModelResponsePart | Exception, tokens: int = 15) -> FunctionModel:
    """Return a model that sends each of `replies` and repeats the last; each takes `tokens`."""
    heard: list[int] = []

    def answer(history: list[messages.ModelMessage], _info: AgentInfo) -> messages.ModelResponse:
        heard.append(len(history))
        reply = replies[min(len(heard), len(replies)) - 1]
        if isinstance(reply, Exception):
            raise reply

        usage = RequestUsage(input_tokens=tokens - 5, output_tokens=5) if tokens else RequestUsage()
        return messages.ModelResponse(parts=[reply], usage=usage)

    return FunctionModel(answer)


@both
@pytest.mark.parametrize("way", [ToolOutput, NativeOutput, PromptedOutput])
async def test_structured_output_is_judged_as_the_json_that_the_model_sent(
    checked: Checked,
    way: Any,  # noqa: ANN401
) -> None:
    replies = [factory_reply(status=None), factory_reply(deliverables=[]), factory_reply()]
    parts = [
        (
            messages.ToolCallPart("final_result", reply)
            if way is ToolOutput
            else messages.TextPart(reply)
        )
        for reply in replies
    ]
    outcomes: list[Outcome] = []
    agent = checked(
        answering(*parts),
        output_type=way(FactoryReply),
        protocol="factory",
        on_stop=outcomes.append,
    )
    result = await agent.run("Implement it.")
    assert result.output.deliverables[0].path == "src/login.py"
    # The default of the class is not what the agent reported.
    assert [json.loads(each.reply or "") for each in outcomes[0].attempts] == [
        json.loads(each) for each in replies
    ]


@both
async def test_usage_is_that_of_the_model_calls_of_tools_included(checked: Checked) -> None:
    def look_up() -> str:
        return "there"

    outcomes: list[Outcome] = []
    replies = [
        messages.ToolCallPart("look_up", "{}"),
        messages.TextPart(BAD_STATUS),
        messages.TextPart(GOOD),
    ]
    agent = checked(answering(*replies), tools=[look_up], on_stop=outcomes.append)
    before = await Agent(answering(messages.TextPart("Yes."))).run("Are you there?")
    await agent.run("Implement it.", message_history=before.all_messages())
    assert [each.usage and each.usage.tokens for each in outcomes[0].attempts] == [30, 15]


@both
async def test_a_hundred_runs_at_once_are_counted_each_by_itself(checked: Checked) -> None:
    outcomes: list[Outcome] = []

    def answer(history: list[messages.ModelMessage], _info: AgentInfo) -> messages.ModelResponse:
        text = GOOD if len(history) > 1 else BAD_STATUS
        usage = RequestUsage(input_tokens=10, output_tokens=5)
        return messages.ModelResponse(parts=[messages.TextPart(text)], usage=usage)

    agent = checked(FunctionModel(answer), on_stop=outcomes.append)
    await asyncio.gather(*[agent.run("Implement it.") for _ in range(100)])
    assert [(len(each.attempts), each.usage.tokens) for each in outcomes] == [(2, 30)] * 100


@pytest.mark.parametrize("before", [[], [messages.TextPart(BAD_STATUS)]])
async def test_on_stop_receives_the_outcome_of_a_run_whose_model_fails(
    before: list[messages.TextPart],
) -> None:
    outcomes: list[Outcome] = []
    agent = by_capability(
        answering(*before, ValueError("the model is gone")), on_stop=outcomes.append
    )
    with pytest.raises(ValueError, match="gone"):
        await agent.run("Implement it.")

    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [
        ("agent_error", 1 + len(before))
    ]


async def hang(_history: list[messages.ModelMessage], _info: AgentInfo) -> messages.ModelResponse:
    await asyncio.sleep(60)
    raise AssertionError


async def test_on_stop_receives_the_outcome_of_a_run_that_is_cancelled() -> None:
    outcomes: list[Outcome] = []
    agent = by_capability(FunctionModel(hang), on_stop=outcomes.append)
    with anyio.move_on_after(0.2):
        await agent.run("Implement it.")
    assert [each.stopped_because for each in outcomes] == ["cancelled"]


async def test_the_deadline_bounds_a_call_of_the_model() -> None:
    outcomes: list[Outcome] = []
    policy = RetryPolicy(deadline=0.2)
    agent = by_capability(FunctionModel(hang), policy=policy, on_stop=outcomes.append)
    with anyio.fail_after(20), pytest.raises(TimeoutError, match="deadline passed"):
        await agent.run("Implement it.")

    assert [each.stopped_because for each in outcomes] == ["deadline"]


async def test_the_same_report_again_ends_the_run_of_the_capability_with_every_attempt() -> None:
    outcomes: list[Outcome] = []
    agent = by_capability(answering(messages.TextPart(BAD_STATUS)), on_stop=outcomes.append)
    with pytest.raises(NotAcceptedError) as caught:
        await agent.run("Implement it.")

    assert caught.value.outcome.stopped_because == outcomes[0].stopped_because == "no_progress"
    assert len(outcomes) == 1


async def test_a_smaller_limit_of_the_framework_ends_the_run_of_the_capability_as_well() -> None:
    check = EnvelopeCheck()
    agent = Agent(ScriptedModel(*ALWAYS_ANOTHER_ERROR).model, capabilities=[check])
    with pytest.raises(NotAcceptedError) as caught:
        await agent.run("Implement it.")
    assert len(caught.value.outcome.attempts) == 2


@pytest.mark.parametrize("replies", [(), (BAD_STATUS,)])
async def test_usage_of_a_run_that_fails_is_that_of_its_tools_or_unknown(
    replies: tuple[str, ...],
) -> None:
    def look_up() -> str:
        return "there"

    outcomes: list[Outcome] = []
    parts = [
        *map(messages.TextPart, replies),
        messages.ToolCallPart("look_up", "{}"),
        ValueError("the model is gone"),
    ]
    agent = by_capability(answering(*parts), tools=[look_up], on_stop=outcomes.append)
    with pytest.raises(ValueError, match="gone"):
        await agent.run("Implement it.")

    used = [each.usage and each.usage.tokens for each in outcomes[0].attempts]
    assert used == [15] * (1 + len(replies))


async def test_an_output_function_never_acts_upon_a_report_that_is_rejected() -> None:
    acted: list[str] = []

    def deploy(reply: FactoryReply) -> str:
        acted.append(reply.summary)
        return "deployed"

    replies = [factory_reply(deliverables=[]), factory_reply()]
    parts = [messages.ToolCallPart("final_result", reply) for reply in replies]
    agent = by_capability(answering(*parts), output_type=deploy, protocol="factory")
    assert (await agent.run("Implement it.")).output == "deployed"
    assert len(acted) == 1


async def test_a_run_that_goes_on_after_an_accepted_report_is_judged_further_and_paid_once() -> (
    None
):
    def answer(_history: list[messages.ModelMessage], _info: AgentInfo) -> messages.ModelResponse:
        parts = [
            messages.ToolCallPart("final_result", factory_reply(), tool_call_id=name)
            for name in "ab"
        ]
        return messages.ModelResponse(
            parts=parts, usage=RequestUsage(input_tokens=10, output_tokens=5)
        )

    outcomes: list[Outcome] = []
    agent = Agent(
        FunctionModel(answer),
        output_type=ToolOutput(FactoryReply),
        end_strategy="exhaustive",
        capabilities=[EnvelopeCheck(protocol="factory", on_stop=outcomes.append)],
    )
    assert isinstance((await agent.run("Implement it.")).output, FactoryReply)
    assert [(each.accepted, each.usage.tokens) for each in outcomes] == [(True, 15), (True, 0)]


@both
async def test_the_counts_of_1200_open_conversations_are_kept(checked: Checked) -> None:
    outcomes: list[Outcome] = []
    heard: list[int] = []
    all_rejected = asyncio.Event()

    async def answer(
        history: list[messages.ModelMessage], _info: AgentInfo
    ) -> messages.ModelResponse:
        heard.append(len(history))
        if len(heard) == 2400:
            all_rejected.set()
        if len(history) > 1:
            await all_rejected.wait()
        return messages.ModelResponse(
            parts=[messages.TextPart(GOOD if len(history) > 1 else BAD_STATUS)]
        )

    agent = checked(FunctionModel(answer), on_stop=outcomes.append)
    await asyncio.gather(*[agent.run("Implement it.") for _ in range(1200)])
    assert [(each.accepted, len(each.attempts)) for each in outcomes] == [(True, 2)] * 1200


@pytest.mark.parametrize("checked", [True, False])
async def test_a_model_whose_reply_was_cut_is_asked_for_a_shorter_one(*, checked: bool) -> None:
    heard: list[str] = []

    def reply(history: list[messages.ModelMessage], _info: AgentInfo) -> messages.ModelResponse:
        heard.append(str(history[-1]))
        text, reason = (BAD_STATUS, "length") if len(heard) == 1 else (GOOD, "stop")
        return messages.ModelResponse(parts=[messages.TextPart(text)], finish_reason=reason)

    outcomes: list[Outcome] = []
    model = FunctionModel(reply)
    agent = (
        check_output(Agent(model, retries=3), on_stop=outcomes.append)
        if checked
        else Agent(model, retries=3, capabilities=[EnvelopeCheck(on_stop=outcomes.append)])
    )
    await agent.run("Implement it.")
    assert "cut at the token limit: send it shorter" in heard[1]
    assert [each.stop_reason for each in outcomes[0].attempts] == ["token_limit", None]

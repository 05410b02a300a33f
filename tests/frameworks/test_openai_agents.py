from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("agents", reason="openai-agents is not installed here; make frameworks tests it")

from agents import Agent, Model, ModelResponse, Runner, SQLiteSession, Usage, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from goop_mcp import RetryPolicy
from goop_mcp.hosts.frameworks.openai_agents import checked_output, run_checked
from tests.frameworks.recipes import ALWAYS_ANOTHER_FAULT, BAD_STATUS, GOOD, OPENING, PROSE, names_of

set_tracing_disabled(True)

TASK = "Implement the login form."
CALL_WORKER = ResponseFunctionToolCall(
    arguments='{"input": "Implement the login form."}', call_id="1", name="worker", type="function_call"
)


class ScriptedModel(Model):
    """Sends each of `replies` in turn, then the last one for ever; each answer takes 15 tokens."""

    def __init__(self, *replies: str | ResponseFunctionToolCall) -> None:
        self.replies, self.heard = replies, list[Any]()

    async def get_response(self, *, input: Any, **_: object) -> ModelResponse:  # noqa: A002, ANN401 - the framework's
        self.heard.append(input)
        reply = self.replies[min(len(self.heard), len(self.replies)) - 1]
        output = message(reply) if isinstance(reply, str) else reply
        return ModelResponse(output=[output], usage=Usage(total_tokens=15), response_id=None)

    def stream_response(self, *_: object, **__: object) -> AsyncIterator[Any]:
        raise NotImplementedError


def message(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(annotations=[], text=text, type="output_text")
    return ResponseOutputMessage(id="m", content=[part], role="assistant", status="completed", type="message")


async def test_the_recipe_runs_the_agent_again_in_the_same_conversation() -> None:
    model = ScriptedModel(BAD_STATUS, GOOD)
    outcome = await names_of("openai-agents", model=model)["work"]()
    assert outcome.accepted
    assert outcome.text == GOOD
    assert outcome.usage.tokens == 30
    assert [len(items) for items in model.heard] == [1, 3]
    assert OPENING in model.heard[1][-1]["content"]


async def test_a_good_report_is_not_asked_for_again() -> None:
    model = ScriptedModel(GOOD)
    checked = await run_checked(Agent(name="worker", model=model), TASK)
    assert checked.outcome.accepted
    assert checked.result is not None
    assert checked.result.final_output == GOOD
    assert len(model.heard) == 1


async def test_the_same_report_again_changes_the_way_of_asking_and_then_ends() -> None:
    model = ScriptedModel(BAD_STATUS)
    checked = await run_checked(Agent(name="worker", model=model), TASK, policy=RetryPolicy(max_attempts=5))
    assert checked.outcome.stopped_because == "no_progress"
    assert [attempt.way for attempt in checked.outcome.attempts] == ["first", "same_conversation", "minimal"]
    # To begin anew is to forget what was said before.
    assert [len(items) for items in model.heard] == [1, 3, 1]


async def test_a_session_is_sent_only_what_is_new() -> None:
    model = ScriptedModel(BAD_STATUS, GOOD)
    options = {"session": SQLiteSession("s")}
    assert (await run_checked(Agent(name="worker", model=model), TASK, run_options=options)).outcome.accepted
    assert [len(items) for items in model.heard] == [1, 3]


async def test_a_run_that_fails_is_an_attempt_without_reply() -> None:
    class FailingModel(ScriptedModel):
        async def get_response(self, **_: object) -> ModelResponse:
            raise ValueError("the model is gone")

    checked = await run_checked(Agent(name="worker", model=FailingModel()), TASK)
    assert checked.outcome.stopped_because == "agent_error"
    assert checked.result is None


async def test_a_subagent_used_as_a_tool_works_on_until_its_report_is_accepted() -> None:
    model = ScriptedModel(BAD_STATUS, GOOD)
    caller = Agent(
        name="caller", model=ScriptedModel(CALL_WORKER, "done"), tools=[names_of("openai-agents", model=model)["tool"]]
    )
    result = await Runner.run(caller, "Delegate.")
    assert result.final_output == "done"
    assert [item.output for item in result.new_items if item.type == "tool_call_output_item"] == [GOOD]
    assert [len(items) for items in model.heard] == [1, 3]


async def test_the_calling_agent_is_told_of_a_report_that_was_never_accepted() -> None:
    model = ScriptedModel(*ALWAYS_ANOTHER_FAULT)
    caller = Agent(
        name="caller", model=ScriptedModel(CALL_WORKER, "done"), tools=[names_of("openai-agents", model=model)["tool"]]
    )
    result = await Runner.run(caller, "Delegate.")
    [told] = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert told.startswith("worker was asked 3 times and sent no report")
    assert PROSE not in told
    assert len(model.heard) == 3


async def test_the_calling_agent_is_handed_the_last_reply_only_when_asked_for() -> None:
    worker = Agent(name="worker", model=ScriptedModel(BAD_STATUS))
    extract = checked_output(worker, hand_on_unaccepted=True)
    assert await extract(await Runner.run(worker, TASK)) == BAD_STATUS

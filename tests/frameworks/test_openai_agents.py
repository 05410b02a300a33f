import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

pytest.importorskip(
    "agents", reason="openai-agents is not installed here; make frameworks tests it"
)

from agents import (
    Agent,
    Model,
    ModelResponse,
    Runner,
    SQLiteSession,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from goop_mcp import NotAcceptedError, RetryPolicy, shared_budget
from goop_mcp.hosts.frameworks.openai_agents import checked_output, run_checked
from goop_mcp.retry import Hooks, Outcome
from tests.frameworks.recipes import (
    ALWAYS_ANOTHER_ERROR,
    BAD_STATUS,
    GOOD,
    OPENING,
    PROSE,
    FactoryReply,
    RateLimitedError,
    factory_reply,
    names_of,
)

set_tracing_disabled(True)

TASK = "Implement the login form."
FAST = RetryPolicy(backoff=lambda _: 0.0)
CALL_WORKER = ResponseFunctionToolCall(
    arguments='{"input": "Implement the login form."}',
    call_id="1",
    name="worker",
    type="function_call",
)


class ScriptedModel(Model):
    """Sends each of `replies` in turn and repeats the last one; raises exceptions.

    Each answer takes 15 tokens.
    """

    def __init__(self, *replies: str | ResponseFunctionToolCall | Exception) -> None:
        self.replies, self.heard = replies, list[Any]()

    # The framework's
    async def get_response(self, *, input: Any, **_: object) -> ModelResponse:  # noqa: ANN401
        self.heard.append(input)
        reply = self.replies[min(len(self.heard), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply

        output = message(reply) if isinstance(reply, str) else reply
        return ModelResponse(output=[output], usage=Usage(total_tokens=15), response_id=None)

    def stream_response(self, *_: object, **__: object) -> AsyncIterator[Any]:
        raise NotImplementedError


def message(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(annotations=[], text=text, type="output_text")
    return ResponseOutputMessage(
        id="m", content=[part], role="assistant", status="completed", type="message"
    )


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


async def test_the_same_report_again_changes_the_strategy_and_then_ends() -> None:
    model = ScriptedModel(BAD_STATUS)
    checked = await run_checked(
        Agent(name="worker", model=model), TASK, policy=RetryPolicy(max_attempts=5)
    )
    assert checked.outcome.stopped_because == "no_progress"
    assert [attempt.way for attempt in checked.outcome.attempts] == [
        "first",
        "same_conversation",
        "minimal",
    ]
    # A fresh start has no history.
    assert [len(items) for items in model.heard] == [1, 3, 1]


async def test_a_session_is_sent_only_what_is_new() -> None:
    model = ScriptedModel(BAD_STATUS, GOOD)
    options = {"session": SQLiteSession("s")}
    assert (
        await run_checked(Agent(name="worker", model=model), TASK, run_options=options)
    ).outcome.accepted
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
        name="caller",
        model=ScriptedModel(CALL_WORKER, "done"),
        tools=[names_of("openai-agents", model=model)["tool"]],
    )
    result = await Runner.run(caller, "Delegate.")
    assert result.final_output == "done"
    assert [item.output for item in result.new_items if item.type == "tool_call_output_item"] == [
        GOOD
    ]
    assert [len(items) for items in model.heard] == [1, 3]


async def test_the_calling_agent_learns_of_a_report_that_was_never_accepted() -> None:
    model = ScriptedModel(*ALWAYS_ANOTHER_ERROR)
    caller = Agent(
        name="caller",
        model=ScriptedModel(CALL_WORKER, "done"),
        tools=[names_of("openai-agents", model=model)["tool"]],
    )
    result = await Runner.run(caller, "Delegate.")
    [received] = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert received.startswith("worker was asked 3 times and sent no report")
    assert PROSE not in received
    assert len(model.heard) == 3


async def test_the_calling_agent_is_handed_the_last_reply_only_when_asked_for() -> None:
    worker = Agent(name="worker", model=ScriptedModel(BAD_STATUS))
    extract = checked_output(worker, hand_on_unaccepted=True)
    assert await extract(await Runner.run(worker, TASK)) == BAD_STATUS


def call_of(tool: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        arguments="{}", call_id=f"call-{tool}", name=tool, type="function_call"
    )


def kinds(items: Any) -> list[str]:  # noqa: ANN401 - the framework's
    return [each.get("role") or each["type"] for each in items]


class Payments:
    """A tool with a side effect that is counted."""

    def __init__(self, *, needs_approval: bool = False) -> None:
        self.made = 0

        @function_tool(needs_approval=needs_approval)
        def pay() -> str:
            self.made += 1
            return "paid"

        self.tool = pay


async def test_a_run_that_waits_for_an_approval_ends_the_call_and_goes_on_from_its_state() -> None:
    payments = Payments(needs_approval=True)
    model = ScriptedModel(call_of("pay"), BAD_STATUS, GOOD)
    worker = Agent(name="worker", model=model, tools=[payments.tool])
    policy = RetryPolicy(when_exhausted="fallback", fallback=lambda _: GOOD)
    waiting = await run_checked(worker, TASK, policy=policy)

    # Neither judged, nor asked again, nor handed to the fallback: a person has to decide.
    assert waiting.outcome.stopped_because == "interrupted"
    assert [each.name for each in waiting.interruptions] == ["pay"]
    assert "approve pay" in str(waiting.outcome.attempts[0].error)
    assert (len(model.heard), payments.made) == (1, 0)
    assert waiting.outcome.usage.tokens == 15

    assert waiting.result is not None
    state = waiting.result.to_state()
    state.approve(waiting.interruptions[0])
    done = await run_checked(worker, state, policy=policy)
    assert done.outcome.accepted
    assert not done.interruptions
    assert payments.made == 1
    assert kinds(model.heard[2]) == [
        "user",
        "function_call",
        "function_call_output",
        "assistant",
        "user",
    ]
    assert done.outcome.usage.tokens == 30


async def test_after_a_rejected_approval_the_agent_reports_and_a_fresh_start_repeats_the_task() -> (
    None
):
    payments = Payments(needs_approval=True)
    model = ScriptedModel(call_of("pay"), BAD_STATUS, BAD_STATUS, BAD_STATUS)
    worker = Agent(name="worker", model=model, tools=[payments.tool])
    waiting = await run_checked(worker, TASK)
    assert waiting.result is not None
    state = waiting.result.to_state()
    state.reject(waiting.interruptions[0])
    done = await run_checked(
        worker, state, policy=RetryPolicy(strategies=("fresh",), max_attempts=2)
    )
    assert payments.made == 0
    assert done.outcome.attempts[0].message == TASK
    assert model.heard[-1][0]["content"].startswith(TASK)


async def test_a_subagent_that_has_to_wait_for_an_approval_is_not_taken_for_done() -> None:
    payments = Payments(needs_approval=True)
    worker = Agent(
        name="worker", model=ScriptedModel(BAD_STATUS, call_of("pay")), tools=[payments.tool]
    )
    received = await checked_output(worker)(await Runner.run(worker, TASK))
    assert received.startswith("worker did not finish: the run waits for a person to approve pay")
    assert payments.made == 0


async def test_after_a_handoff_the_agent_that_answered_is_asked_again() -> None:
    second = Agent(name="second", model=ScriptedModel(BAD_STATUS, GOOD))
    first = Agent(
        name="first", handoffs=[second], model=ScriptedModel(call_of("transfer_to_second"))
    )
    assert (await run_checked(first, TASK)).outcome.accepted
    assert isinstance(first.model, ScriptedModel)
    assert isinstance(second.model, ScriptedModel)
    assert [len(each.heard) for each in (first.model, second.model)] == [1, 2]
    assert OPENING in second.model.heard[1][-1]["content"]


@pytest.mark.parametrize("has_session", [False, True])
async def test_a_failed_call_of_the_model_is_repeated_where_the_run_stood(
    has_session: bool,
) -> None:
    payments = Payments()
    busy = RateLimitedError(retry_after=0)
    model = ScriptedModel(call_of("pay"), busy, busy, BAD_STATUS, busy, GOOD)
    options = {"session": SQLiteSession("s")} if has_session else {}
    worker = Agent(name="worker", model=model, tools=[payments.tool])
    checked = await run_checked(worker, TASK, run_options=options, policy=FAST)
    assert checked.outcome.accepted
    assert payments.made == 1
    before = ["user", "function_call", "function_call_output"]
    assert [kinds(each) for each in model.heard[1:4]] == [before] * 3
    assert [kinds(each) for each in model.heard[4:]] == [[*before, "assistant", "user"]] * 2
    # Three calls of the model were answered, one of them in a run that failed after it.
    assert checked.outcome.usage.tokens == 45
    if has_session:
        assert kinds(await options["session"].get_items()) == [
            *before,
            "assistant",
            "user",
            "assistant",
        ]


async def test_a_rate_limit_is_waited_for_as_long_as_the_provider_says() -> None:
    model = ScriptedModel(RateLimitedError(retry_after=0.3), GOOD)
    began = time.monotonic()
    assert (
        await run_checked(Agent(name="worker", model=model), TASK, policy=FAST)
    ).outcome.accepted
    assert time.monotonic() - began >= 0.3


async def test_an_agent_that_is_a_tool_does_not_confuse_where_the_run_stood() -> None:
    payments = Payments()
    helper = Agent(
        name="helper", model=ScriptedModel(call_of("pay"), "paid it"), tools=[payments.tool]
    )
    model = ScriptedModel(CALL_WORKER, RateLimitedError(retry_after=0), GOOD)
    tool = helper.as_tool("worker", "Pays.")
    checked = await run_checked(Agent(name="first", model=model, tools=[tool]), TASK, policy=FAST)
    assert checked.outcome.accepted
    assert payments.made == 1
    assert kinds(model.heard[-1]) == ["user", "function_call", "function_call_output"]


async def test_a_session_keeps_every_turn_though_a_fresh_start_does_not_see_it() -> None:
    session = SQLiteSession("s")
    await session.add_items(
        [{"role": "user", "content": "Before."}, {"role": "assistant", "content": "Yes."}]
    )
    model = ScriptedModel(BAD_STATUS, GOOD, "Bye.")
    worker = Agent(name="worker", model=model)
    checked = await run_checked(
        worker, TASK, run_options={"session": session}, policy=RetryPolicy(strategies=("fresh",))
    )
    assert checked.outcome.accepted
    # The rejected reply teaches the error, so the second run sees the session as it was before the
    # task.
    assert kinds(model.heard[1]) == ["user", "assistant", "user"]
    assert kinds(await session.get_items()) == ["user", "assistant"] + ["user", "assistant"] * 2
    assert [each.conversation_id for each in checked.outcome.attempts] == ["s", "s"]
    await Runner.run(worker, "Thanks.", session=session)
    assert GOOD in json.dumps(model.heard[-1], ensure_ascii=False).encode().decode("unicode_escape")


async def test_a_subagent_is_charged_with_its_own_tokens_only() -> None:
    outcomes: list[Outcome] = []
    worker = Agent(name="worker", model=ScriptedModel(BAD_STATUS, GOOD))
    tool = worker.as_tool(
        "worker",
        "Works.",
        custom_output_extractor=checked_output(worker, hooks=Hooks(on_stop=outcomes.append)),
    )
    caller = Agent(name="caller", model=ScriptedModel(CALL_WORKER, "done"), tools=[tool])
    await Runner.run(caller, "Delegate.")
    assert [outcome.usage.tokens for outcome in outcomes] == [30]


async def test_usage_that_nobody_reports_is_unknown_and_not_nothing() -> None:
    class Silent(ScriptedModel):
        # As above
        async def get_response(self, **given: Any) -> ModelResponse:  # noqa: ANN401
            response = await super().get_response(**given)
            response.usage = Usage()
            return response

    checked = await run_checked(Agent(name="worker", model=Silent(GOOD)), TASK)
    assert checked.outcome.attempts[0].usage is None


async def test_structured_output_is_judged_as_its_json() -> None:
    model = ScriptedModel(
        factory_reply(status=None), factory_reply(deliverables=[]), factory_reply()
    )
    worker = Agent(name="worker", model=model, output_type=FactoryReply)
    checked = await run_checked(worker, TASK, protocol="factory")
    assert checked.outcome.accepted
    # The default of the class is not what the agent reported.
    assert [json.loads(each.reply or "").get("status") for each in checked.outcome.attempts] == [
        None,
        "success",
        "success",
    ]


@pytest.mark.parametrize("has_session", [False, True])
@pytest.mark.parametrize("before", [[], [factory_reply(deliverables=[])]])
@pytest.mark.parametrize(
    "invalid", ["Done, the form is there.", '{"status": "success", "summ', '{"status": 5}']
)
async def test_structured_output_that_is_no_json_is_judged_and_answered_with_feedback(
    invalid: str, before: list[str], has_session: bool
) -> None:
    payments = Payments()
    model = ScriptedModel(call_of("pay"), *before, invalid, factory_reply())
    worker = Agent(name="worker", model=model, tools=[payments.tool], output_type=FactoryReply)
    options = {"session": SQLiteSession("s")} if has_session else {}
    policy = RetryPolicy(max_attempts=4)
    checked = await run_checked(
        worker, TASK, run_options=options, protocol="factory", policy=policy
    )
    assert checked.outcome.accepted
    assert [each.reply for each in checked.outcome.attempts[-2:-1]] == [invalid]
    assert [each.usage and each.usage.tokens for each in checked.outcome.attempts] == [30] + [
        15
    ] * (1 + len(before))
    assert payments.made == 1
    whole = ["user", "function_call", "function_call_output"] + ["assistant", "user"] * (
        1 + len(before)
    )
    assert kinds(model.heard[-1]) == whole
    assert model.heard[-1][-2]["content"][0]["text"] == invalid
    if has_session:
        assert kinds(await options["session"].get_items()) == [*whole, "assistant"]


async def test_structured_output_that_never_becomes_json_ends_with_the_text_kept() -> None:
    model = ScriptedModel("Done.")
    worker = Agent(name="worker", model=model, output_type=FactoryReply)
    checked = await run_checked(worker, TASK, protocol="factory")
    assert checked.outcome.stopped_because == "no_progress"
    assert checked.outcome.text == "Done."
    assert checked.result is None


async def test_the_callers_own_handler_of_invalid_output_comes_first() -> None:
    given: list[str] = []

    def handle(raised: Any) -> Any:  # noqa: ANN401 - the framework's
        given.append(type(raised.error).__name__)
        return FactoryReply.model_validate_json(factory_reply())

    model = ScriptedModel("Done.")
    worker = Agent(name="worker", model=model, output_type=FactoryReply)
    options = {"error_handlers": {"invalid_final_output": handle}}
    checked = await run_checked(worker, TASK, run_options=options, protocol="factory")
    assert checked.outcome.accepted
    assert given == ["ModelBehaviorError"]


async def test_on_stop_receives_the_outcome_of_a_run_that_fails() -> None:
    outcomes: list[Outcome] = []
    worker = Agent(name="worker", model=ScriptedModel(ValueError("the model is gone")))
    await run_checked(worker, TASK, on_stop=outcomes.append)
    assert [outcome.stopped_because for outcome in outcomes] == ["agent_error"]


async def test_on_stop_receives_the_outcome_of_a_run_that_is_cancelled() -> None:
    outcomes: list[Outcome] = []
    asked = asyncio.Event()

    class Hanging(ScriptedModel):
        async def get_response(self, **_: object) -> ModelResponse:
            asked.set()
            await asyncio.sleep(60)
            raise AssertionError

    task = asyncio.create_task(
        run_checked(Agent(name="worker", model=Hanging()), TASK, on_stop=outcomes.append)
    )
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert [outcome.stopped_because for outcome in outcomes] == ["cancelled"]


async def test_the_deadline_bounds_a_call_of_the_model() -> None:
    class Hanging(ScriptedModel):
        async def get_response(self, **_: object) -> ModelResponse:
            await asyncio.sleep(60)
            raise AssertionError

    with anyio.fail_after(20):
        checked = await run_checked(
            Agent(name="worker", model=Hanging()), TASK, policy=RetryPolicy(deadline=0.2)
        )

    assert checked.outcome.stopped_because == "deadline"


async def test_a_hundred_runs_at_once_are_counted_each_by_itself() -> None:
    workers = [
        Agent(name=f"worker-{number}", model=ScriptedModel(BAD_STATUS, GOOD))
        for number in range(100)
    ]
    all_checked = await asyncio.gather(*[run_checked(worker, TASK) for worker in workers])
    assert [(len(each.outcome.attempts), each.outcome.usage.tokens) for each in all_checked] == [
        (2, 30)
    ] * 100


async def test_a_session_keeps_every_turn_also_where_the_policy_raises() -> None:
    session = SQLiteSession("s")
    worker = Agent(name="worker", model=ScriptedModel(BAD_STATUS))
    policy = RetryPolicy(when_exhausted="raise", strategies=("fresh",))
    with pytest.raises(NotAcceptedError):
        await run_checked(worker, TASK, run_options={"session": session}, policy=policy)

    assert kinds(await session.get_items()) == ["user", "assistant"] * 2


@pytest.mark.parametrize("at_once", [False, True])
async def test_twenty_runs_against_a_dead_provider_make_few_calls(at_once: bool) -> None:
    model = ScriptedModel(RateLimitedError(retry_after=0))
    worker = Agent(name="worker", model=model)
    if at_once:
        await asyncio.gather(*[run_checked(worker, TASK, policy=FAST) for _ in range(20)])
    else:
        for _ in range(20):
            await run_checked(worker, TASK, policy=FAST)

    # Those under way when the fifth fails cannot be called back.
    assert len(model.heard) <= (20 if at_once else 5)


async def test_runs_of_one_agent_share_a_budget_at_once_when_their_usage_is_known() -> None:
    class Slow(ScriptedModel):
        running = most = 0

        # As above
        async def get_response(self, **given: Any) -> ModelResponse:  # noqa: ANN401
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0.01)
            self.running -= 1
            return await super().get_response(**given)

    model = Slow(GOOD)
    worker = Agent(name="worker", model=model)
    with shared_budget(max_tokens=100):
        all_checked = await asyncio.gather(*[run_checked(worker, TASK) for _ in range(20)])

    assert sum(each.outcome.accepted for each in all_checked) == 7
    assert model.most > 1


async def test_a_subagent_takes_on_stop_next_to_other_hooks() -> None:
    outcomes: list[Outcome] = []
    worker = Agent(name="worker", model=ScriptedModel(BAD_STATUS, GOOD))
    extract = checked_output(worker, on_stop=outcomes.append, hooks=Hooks(on_stop=outcomes.append))
    assert await extract(await Runner.run(worker, TASK)) == GOOD
    assert [each.usage.tokens for each in outcomes] == [30, 30]


async def test_usage_until_the_deadline_is_counted() -> None:
    class Hanging(ScriptedModel):
        # As above
        async def get_response(self, **given: Any) -> ModelResponse:  # noqa: ANN401
            if self.heard:
                await asyncio.sleep(60)
            return await super().get_response(**given)

    worker = Agent(name="worker", model=Hanging(call_of("pay")), tools=[Payments().tool])
    checked = await run_checked(worker, TASK, policy=RetryPolicy(deadline=0.5))
    assert (checked.outcome.stopped_because, checked.outcome.usage.tokens) == ("deadline", 15)


async def test_a_fresh_start_after_an_approval_leaves_no_call_of_a_tool_unanswered() -> None:
    session, payments = SQLiteSession("s"), Payments(needs_approval=True)
    await session.add_items(
        [{"role": "user", "content": "Before."}, {"role": "assistant", "content": "Yes."}]
    )
    model = ScriptedModel(call_of("pay"), BAD_STATUS, GOOD)
    worker = Agent(name="worker", model=model, tools=[payments.tool])
    options, policy = {"session": session}, RetryPolicy(strategies=("fresh",))
    waiting = await run_checked(worker, TASK, run_options=options, policy=policy)
    assert waiting.result is not None
    state = waiting.result.to_state()
    state.approve(waiting.interruptions[0])
    assert (await run_checked(worker, state, run_options=options, policy=policy)).outcome.accepted
    assert payments.made == 1
    assert kinds(model.heard[-1]) == ["user", "assistant", "user"]
    whole = [
        "user",
        "assistant",
        "user",
        "function_call",
        "function_call_output",
        "assistant",
        "user",
        "assistant",
    ]
    assert kinds(await session.get_items()) == whole

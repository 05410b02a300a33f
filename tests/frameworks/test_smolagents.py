from contextlib import nullcontext
from typing import Any

import pytest

pytest.importorskip(
    "smolagents", reason="smolagents is not installed here; make frameworks tests it"
)

from smolagents import ChatMessage, CodeAgent, Model, ToolCallingAgent, tool
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole
from smolagents.monitoring import TokenUsage
from smolagents.utils import AgentError

from goop_mcp import RetryPolicy
from goop_mcp.evidence import AgentActivity, ObservedCommand
from goop_mcp.hosts.frameworks.smolagents import EnvelopeCheck, envelope_check
from goop_mcp.retry import Outcome
from tests.evidence.corrections import report
from tests.frameworks.recipes import ALWAYS_ANOTHER_ERROR, BAD_STATUS, GOOD, OPENING, names_of

TASK = "Implement the login form."


class ScriptedModel(Model):
    """Gives each of `replies` as the final answer in turn, then the last one for ever.

    Raises those that are exceptions, and calls the tool `look_up` for None. Each answer takes
    `tokens`.
    """

    def __init__(self, *replies: object, tokens: int | None = 15) -> None:
        super().__init__()
        self.replies, self.tokens, self.heard = replies, tokens, list[str]()

    def generate(self, messages: list[ChatMessage], **_: object) -> ChatMessage:
        self.heard.append(str(messages[-1].content))
        answer = self.replies[min(len(self.heard), len(self.replies)) - 1]
        if isinstance(answer, BaseException):
            raise answer

        function = ChatMessageToolCallFunction(name="final_answer", arguments={"answer": answer})
        if answer is None:
            function = ChatMessageToolCallFunction(name="look_up", arguments={})

        call = ChatMessageToolCall(id="1", type="function", function=function)
        used = (
            None
            if self.tokens is None
            else TokenUsage(input_tokens=self.tokens - 5, output_tokens=5)
        )

        return ChatMessage(
            role=MessageRole.ASSISTANT, content="", tool_calls=[call], token_usage=used
        )


def test_the_recipe_sends_a_bad_report_back_and_returns_the_good_one() -> None:
    model = ScriptedModel(BAD_STATUS, GOOD)
    defined = names_of("smolagents", model=model)
    assert defined["work"]() == GOOD
    assert OPENING in model.heard[1]
    assert [(outcome.accepted, len(outcome.attempts)) for outcome in defined["outcomes"]] == [
        (True, 2)
    ]


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
    model = ScriptedModel(*ALWAYS_ANOTHER_ERROR)
    with pytest.raises(AgentError, match="interrupted"):
        names_of("smolagents", model=model)["work"]()
    assert len(model.heard) == 3


def test_the_last_answer_is_handed_on_only_when_asked_for() -> None:
    check = envelope_check(policy=RetryPolicy(max_attempts=1), hand_on_unaccepted=True)
    agent = ToolCallingAgent(tools=[], model=ScriptedModel(BAD_STATUS), final_answer_checks=[check])
    assert agent.run(TASK) == BAD_STATUS


def test_a_run_that_broke_off_does_not_count_for_the_next() -> None:
    model = ScriptedModel(BAD_STATUS, "made up", BAD_STATUS, GOOD)
    agent = ToolCallingAgent(
        tools=[], model=model, max_steps=1, final_answer_checks=[envelope_check()]
    )
    agent.run(TASK)
    agent.max_steps = 3
    assert agent.run(TASK) == GOOD


@tool
def look_up() -> str:
    """Look something up."""
    return "there"


# Smolagents'
def agent_of(model: Model, check: EnvelopeCheck, **options: Any) -> ToolCallingAgent:  # noqa: ANN401
    return ToolCallingAgent(tools=[look_up], model=model, final_answer_checks=[check], **options)


@pytest.mark.parametrize("has_callbacks", [False, True])
def test_usage_is_that_of_the_steps_calls_of_tools_included(has_callbacks: bool) -> None:
    outcomes: list[Outcome] = []
    check = envelope_check(on_stop=outcomes.append)
    options = {"step_callbacks": check.step_callbacks} if has_callbacks else {}
    agent = agent_of(ScriptedModel(BAD_STATUS, None, GOOD, GOOD), check, **options)
    for _ in range(2):
        assert agent.run(TASK) == GOOD

    assert [
        [each.usage and each.usage.tokens for each in outcome.attempts] for outcome in outcomes
    ] == [[15, 30], [15]]


def test_usage_that_the_model_does_not_report_is_unknown() -> None:
    outcomes: list[Outcome] = []
    agent_of(ScriptedModel(GOOD, tokens=None), envelope_check(on_stop=outcomes.append)).run(TASK)
    assert [each.usage for each in outcomes[0].attempts] == [None]


@pytest.mark.parametrize("before", [[], [BAD_STATUS]])
def test_on_stop_receives_the_outcome_of_a_run_whose_model_fails(before: list[str]) -> None:
    outcomes: list[Outcome] = []
    check = envelope_check(on_stop=outcomes.append)
    model = ScriptedModel(*before, ConnectionError("the model is gone"))
    with pytest.raises(AgentError, match="gone"):
        agent_of(model, check, step_callbacks=check.step_callbacks).run(TASK)

    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [
        ("agent_error", 1 + len(before))
    ]


def test_on_stop_receives_the_outcome_of_a_run_that_is_interrupted_from_the_keyboard() -> None:
    outcomes: list[Outcome] = []
    check = envelope_check(on_stop=outcomes.append)
    agent = agent_of(
        ScriptedModel(BAD_STATUS, KeyboardInterrupt()), check, step_callbacks=check.step_callbacks
    )
    with pytest.raises(KeyboardInterrupt):
        agent.run(TASK)

    assert [each.stopped_because for each in outcomes] == ["cancelled"]


def test_on_stop_receives_the_outcome_of_a_run_that_ends_without_another_answer() -> None:
    outcomes: list[Outcome] = []
    check = envelope_check(on_stop=outcomes.append)
    agent_of(ScriptedModel(BAD_STATUS, "made up"), check, max_steps=1).run(TASK)
    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [("attempts", 1)]


def test_a_run_within_the_handling_of_another_error_has_not_failed() -> None:
    outcomes: list[Outcome] = []
    check = envelope_check(on_stop=outcomes.append)
    try:
        raise ValueError("something else")
    except ValueError:
        agent_of(
            ScriptedModel(None, BAD_STATUS, GOOD), check, step_callbacks=check.step_callbacks
        ).run(TASK)

    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [("accepted", 2)]


@pytest.mark.parametrize("has_callbacks", [False, True])
def test_usage_counts_tools_before_the_first_answer_and_planning(has_callbacks: bool) -> None:
    class Planning(ScriptedModel):
        def generate(self, messages: list[ChatMessage], **given: object) -> ChatMessage:
            if given.get("tools_to_call_from"):
                return super().generate(messages, **given)
            used = TokenUsage(input_tokens=60, output_tokens=40)
            return ChatMessage(role=MessageRole.ASSISTANT, content="A plan.", token_usage=used)

    outcomes: list[Outcome] = []
    check = envelope_check(on_stop=outcomes.append)
    options = {"step_callbacks": check.step_callbacks} if has_callbacks else {}
    model = Planning(None, None, BAD_STATUS, GOOD)
    assert agent_of(model, check, planning_interval=4, **options).run(TASK) == GOOD
    assert [each.usage and each.usage.tokens for each in outcomes[0].attempts] == [145, 15]


def test_an_answer_that_another_check_refuses_is_given_again() -> None:
    refused: list[object] = []

    # Smolagents'
    def other(answer: object, memory: object, agent: object) -> bool:  # noqa: ARG001
        if not refused:
            refused.append(answer)
            raise ValueError("Name the file.")
        return True

    outcomes: list[Outcome] = []
    check = envelope_check(on_stop=outcomes.append)
    model = ScriptedModel(GOOD)
    agent = ToolCallingAgent(tools=[], model=model, max_steps=4, final_answer_checks=[check, other])
    assert agent.run(TASK) == GOOD
    assert len(model.heard) == 2
    assert [(each.accepted, each.usage.tokens) for each in outcomes] == [(True, 15)] * 2


def test_an_agent_that_writes_code_and_the_agents_it_manages_are_judged_each_by_itself() -> None:
    class Coding(Model):
        steps = iter(
            [
                "x = worker(task='Do it.')",
                f"final_answer({BAD_STATUS!r})",
                f"final_answer({GOOD!r})",
            ]
        )

        def generate(self, *_: object, **__: object) -> ChatMessage:
            used = TokenUsage(input_tokens=10, output_tokens=5)
            code = f"Thought: Go on.\n<code>\n{next(self.steps)}\n</code>"
            return ChatMessage(role=MessageRole.ASSISTANT, content=code, token_usage=used)

    outcomes: list[Outcome] = []
    check = envelope_check(on_stop=outcomes.append)
    options: dict[str, Any] = {
        "final_answer_checks": [check],
        "step_callbacks": check.step_callbacks,
    }
    worker = ToolCallingAgent(
        tools=[],
        model=ScriptedModel(BAD_STATUS, GOOD),
        name="worker",
        description="Works.",
        **options,
    )
    assert CodeAgent(tools=[], model=Coding(), managed_agents=[worker], **options).run(TASK) == GOOD
    tokens = [
        [each.usage and each.usage.tokens for each in outcome.attempts] for outcome in outcomes
    ]
    assert tokens == [[15, 15], [30, 15]]


@pytest.mark.parametrize("works", [False, True])
def test_an_answer_is_compared_with_the_one_that_it_corrects(*, works: bool) -> None:
    ran: list[ObservedCommand] = []

    @tool
    def look_up() -> str:
        """Run the check."""
        ran.append(ObservedCommand(position=len(ran), line="make check", status=0))
        return "ok"

    outcomes: list[Outcome] = []
    check = envelope_check(
        protocol="goop_report",
        policy=RetryPolicy(max_attempts=2),
        evidence=lambda: AgentActivity(host="smolagents", complete=True, commands=tuple(ran)),
        on_stop=outcomes.append,
    )
    failed = report(phase="coding", status="PARTIAL", ready="false")
    model = ScriptedModel(failed, *([None] if works else []), report())
    agent = ToolCallingAgent(
        tools=[look_up],
        model=model,
        final_answer_checks=[check],
        step_callbacks=check.step_callbacks,
        max_steps=4,
    )
    with nullcontext() if works else pytest.raises(AgentError, match="interrupted"):
        agent.run(TASK)
    verdict = outcomes[0].attempts[1].verdict
    assert verdict is not None
    rules = {each.rule for each in verdict.findings}
    assert ("correction/claim-changed" in rules) == (not works)
    assert outcomes[0].accepted == works

"""Spans and counters, seen by the SDK's exporters in memory."""

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan

from goop_mcp import Expectations, Job, RoutingContext, ask_many, ask_until_accepted_sync, follow
from goop_mcp.retry import Agent, Message, Reply, Usage
from goop_mcp.routing import Policy
from tests.retry.agents import BAD_STATUS, GOOD, Counting, Scripted, both_backends, run
from tests.telemetry import EXPORTER, set_up, sums
from tests.validation.replies import read_case

ATTEMPTS, OUTCOMES = "goop.ask.attempts", "goop.ask.outcomes"


@pytest.fixture(autouse=True)
def empty_exporter() -> Iterator[None]:
    set_up()
    EXPORTER.clear()
    yield
    EXPORTER.clear()


def spans(name: str) -> list[ReadableSpan]:
    return [span for span in EXPORTER.get_finished_spans() if span.name == name]


def parents(span: ReadableSpan) -> list[str]:
    """Return the names of the spans around `span`, the nearest first."""
    by_id = {
        each.context.span_id: each
        for each in EXPORTER.get_finished_spans()
        if each.context is not None
    }
    names = []
    while span.parent is not None:
        span = by_id[span.parent.span_id]
        names.append(span.name)

    return names


def traces() -> int:
    return len(
        {
            span.context.trace_id
            for span in EXPORTER.get_finished_spans()
            if span.context is not None
        }
    )


def test_every_attempt_is_a_span_without_a_word_of_the_agent() -> None:
    ask_until_accepted_sync(Scripted(BAD_STATUS, ConnectionError("secret words"), GOOD), "Do it.")
    found = spans("goop.ask.attempt")
    facts = [dict(span.attributes or {}) for span in found]
    assert [each["goop.attempt.number"] for each in facts] == [1, 2, 3]
    assert [each["goop.attempt.result"] for each in facts] == ["rejected", "failed", "accepted"]
    assert facts[0]["goop.attempt.rules"] == ("goop_report/unknown-status",)
    assert found[1].status.status_code is trace.StatusCode.ERROR
    assert found[1].status.description == facts[1]["error.type"] == "ConnectionError"
    exported = " ".join(span.to_json() for span in EXPORTER.get_finished_spans())
    assert "secret words" not in exported
    assert "DONE-ISH" not in exported


def test_one_call_is_one_tree_by_the_conventions_for_generative_ai() -> None:
    class Session:
        def __init__(self) -> None:
            self.replies = [BAD_STATUS, GOOD]

        async def ask(self, _message: Message) -> Reply:
            usage = Usage(input_tokens=100, output_tokens=20, cost=0.5)
            return Reply(text=self.replies.pop(0), usage=usage, conversation_id="thread-7")

    ask_until_accepted_sync(Session(), "Do it.", agent_name="goop-executor")
    (call,) = spans("invoke_agent goop-executor")
    attempts = spans("goop.ask.attempt")
    assert traces() == 1
    assert [parents(each) for each in attempts] == [["invoke_agent goop-executor"]] * 2
    assert call.parent is None
    assert call.kind is trace.SpanKind.INTERNAL
    assert dict(call.attributes or {}) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "goop_mcp",
        "gen_ai.agent.name": "goop-executor",
        "gen_ai.conversation.id": "thread-7",
        "gen_ai.usage.input_tokens": 200,
        "gen_ai.usage.output_tokens": 40,
        "goop.usage.tokens": 240,
        "goop.usage.cost": 1.0,
        "goop.outcome": "accepted",
        "goop.attempts": 2,
    }
    facts = dict(attempts[0].attributes or {})
    assert facts["gen_ai.agent.name"] == "goop-executor"
    assert facts["gen_ai.conversation.id"] == "thread-7"
    assert facts["gen_ai.usage.input_tokens"] == 100


def test_what_is_unknown_is_no_attribute() -> None:
    ask_until_accepted_sync(lambda _message: GOOD, "Do it.")
    (call,) = spans("invoke_agent")
    assert not [
        name
        for name in call.attributes or {}
        if "usage" in name or "conversation" in name or "agent.name" in name
    ]


def test_a_call_that_is_not_accepted_says_why() -> None:
    ask_until_accepted_sync(Scripted(BAD_STATUS), "Do it.", agent_name="a")
    ask_until_accepted_sync(Scripted(ValueError("secret words")), "Do it.", agent_name="a")
    kinds = [(span.attributes or {})["error.type"] for span in spans("invoke_agent a")]
    assert kinds == ["no_progress", "ValueError"]
    assert all(
        span.status.status_code is trace.StatusCode.ERROR for span in spans("invoke_agent a")
    )


@pytest.mark.parametrize(
    ("agent", "expected", "name"),
    [
        (
            named_agent := type("NamedAgent", (Scripted,), {"name": "planner"})(GOOD),
            None,
            "planner",
        ),
        (named_agent, Expectations(agent="goop-executor"), "goop-executor"),
        (Counting(GOOD, usage=None), None, "Counting"),
    ],
    ids=["its own name", "the expected agent", "its class"],
)
def test_an_agent_without_a_given_name_is_called_by_what_is_known(
    agent: Agent, expected: Expectations | None, name: str
) -> None:
    ask_until_accepted_sync(agent, "Do it.", expected=expected)
    assert len(spans(f"invoke_agent {name}")) == 1


async def test_a_journey_is_one_tree() -> None:
    agents = {
        name: Scripted(read_case(f"speckit/concrete_{name}.json"))
        for name in ("implement", "test", "review")
    }
    context = RoutingContext(policy=Policy(checkpoint_before_implement=False))
    await follow(agents, "implement", "Build it.", context=context)
    assert traces() == 1
    found = [parents(each) for each in spans("goop.ask.attempt")]
    assert found == [[f"invoke_agent {name}", "invoke_workflow follow"] for name in agents]


@both_backends
def test_many_jobs_are_one_tree(backend: str) -> None:
    jobs = [
        Job(Scripted(BAD_STATUS, GOOD), "Do it.", agent_name=f"agent-{number}")
        for number in range(5)
    ]
    run(backend, lambda: ask_many(jobs, limit=2))
    assert traces() == 1
    found = sorted(parents(each) for each in spans("goop.ask.attempt"))
    assert found == [
        [f"invoke_agent agent-{number}", "invoke_workflow ask_many"]
        for number in range(5)
        for _ in "ab"
    ]


def test_calls_within_calls_stand_in_the_attempt_that_makes_them() -> None:
    def outer(_message: str) -> str:
        return ask_until_accepted_sync(Scripted(GOOD), "Inner.", agent_name="inner").text

    ask_until_accepted_sync(outer, "Outer.")
    (inner,) = spans("invoke_agent inner")
    assert parents(inner) == ["goop.ask.attempt", "invoke_agent outer"]


def test_attempts_and_endings_are_counted() -> None:
    before = sums(ATTEMPTS, OUTCOMES)
    ask_until_accepted_sync(Scripted(BAD_STATUS, GOOD), "Do it.")
    after = sums(ATTEMPTS, OUTCOMES)
    assert {name: after[name] - before[name] for name in after} == {ATTEMPTS: 2, OUTCOMES: 1}

import asyncio
from typing import Any

import pytest

pytest.importorskip("langgraph", reason="langgraph is not installed here; make frameworks tests it")

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from langgraph.types import RetryPolicy as NodeRetryPolicy

from goop_mcp import NotAcceptedError, RetryPolicy
from goop_mcp.hosts.frameworks.langgraph import EnvelopeCheck
from goop_mcp.retry import Outcome
from tests.frameworks.recipes import ALWAYS_ANOTHER_ERROR, BAD_STATUS, GOOD, OPENING, names_of


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


def test_always_another_error_goes_to_the_end_after_three_attempts() -> None:
    model = ScriptedModel(*ALWAYS_ANOTHER_ERROR)
    outcome = names_of("langgraph", model=model)["work"]()
    assert (outcome.stopped_because, len(model.heard)) == ("attempts", 3)


def test_the_node_raises_where_the_policy_says_so() -> None:
    check = EnvelopeCheck(policy=RetryPolicy(max_attempts=1, when_exhausted="raise"))
    with pytest.raises(NotAcceptedError):
        check({"messages": [AIMessage(BAD_STATUS)]})


TASK: dict[str, Any] = {"messages": [{"role": "user", "content": "Implement the login form."}]}


# The framework's
def graph_of(check: EnvelopeCheck, agent: Any, *, then: Any = None, **options: Any) -> Any:  # noqa: ANN401
    """Return a graph of `agent` and the check, with a node after them for `then`."""
    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent, **options)
    builder.add_node("check", check)
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "check")
    if then is not None:
        builder.add_node("then", then)
        builder.add_edge("then", END)
    builder.add_conditional_edges(
        "check", check.edge("agent", otherwise=END if then is None else "then")
    )
    return builder.compile(checkpointer=InMemorySaver()).with_config(callbacks=[check.callback])


def thread(number: int = 1) -> Any:  # noqa: ANN401 - the framework's
    return {"configurable": {"thread_id": str(number)}}


def replying(*replies: str | BaseException) -> Any:  # noqa: ANN401 - as above
    """Return a node that gives each of `replies` in turn, and raises those that are exceptions."""
    left = iter(replies)

    def agent(_state: MessagesState) -> dict[str, Any]:
        reply = next(left)
        if isinstance(reply, BaseException):
            raise reply
        return {"messages": [AIMessage(reply)]}

    return agent


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("before", [[], [BAD_STATUS]])
def test_on_stop_receives_the_outcome_of_a_run_whose_node_fails(
    before: list[str], is_async: bool
) -> None:
    outcomes: list[Outcome] = []
    check = EnvelopeCheck(on_stop=outcomes.append)
    graph = graph_of(check, replying(*before, ConnectionError("the model is gone")))
    with pytest.raises(ConnectionError):
        asyncio.run(graph.ainvoke(TASK, thread())) if is_async else graph.invoke(TASK, thread())

    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [
        ("agent_error", 1 + len(before))
    ]
    assert "gone" in str(outcomes[0].failure)


@pytest.mark.parametrize("before", [[], [BAD_STATUS]])
def test_on_stop_receives_the_outcome_of_a_run_that_is_cancelled(before: list[str]) -> None:
    outcomes: list[Outcome] = []
    asked = asyncio.Event()
    left = iter(before)

    async def agent(_state: MessagesState) -> dict[str, Any]:
        reply = next(left, None)
        if reply is None:
            asked.set()
            await asyncio.sleep(60)
        return {"messages": [AIMessage(reply or "")]}

    async def cancelled() -> None:
        graph = graph_of(EnvelopeCheck(on_stop=outcomes.append), agent)
        run = asyncio.create_task(graph.ainvoke(TASK, thread()))
        await asked.wait()
        run.cancel()
        await run

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())

    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [
        ("cancelled", 1 + len(before))
    ]


def test_a_node_that_the_graph_tries_again_has_not_failed_the_run() -> None:
    outcomes: list[Outcome] = []
    check = EnvelopeCheck(on_stop=outcomes.append)
    patient = NodeRetryPolicy(initial_interval=0.01, jitter=False, retry_on=ConnectionError)
    graph = graph_of(
        check, replying(BAD_STATUS, ConnectionError("busy"), GOOD), retry_policy=patient
    )
    graph.invoke(TASK, thread())
    assert [(each.accepted, len(each.attempts)) for each in outcomes] == [(True, 2)]


def test_a_node_that_fails_after_the_accepted_report_adds_no_outcome() -> None:
    outcomes: list[Outcome] = []
    check = EnvelopeCheck(on_stop=outcomes.append)
    with pytest.raises(ValueError, match="disk"):
        graph_of(check, replying(GOOD), then=replying(ValueError("disk full"))).invoke(
            TASK, thread()
        )

    assert [each.accepted for each in outcomes] == [True]


def test_a_report_that_was_never_accepted_is_reported_once_where_the_policy_raises() -> None:
    outcomes: list[Outcome] = []
    policy = RetryPolicy(max_attempts=1, when_exhausted="raise")
    check = EnvelopeCheck(policy=policy, on_stop=outcomes.append)
    with pytest.raises(NotAcceptedError):
        graph_of(check, replying(BAD_STATUS)).invoke(TASK, thread())

    assert [each.stopped_because for each in outcomes] == ["attempts"]


def test_a_run_that_waits_for_a_person_has_not_failed_and_counts_across_the_interruption() -> None:
    outcomes: list[Outcome] = []
    check = EnvelopeCheck(on_stop=outcomes.append)
    paid: list[str] = []

    def agent(state: MessagesState) -> dict[str, Any]:
        if len(state["messages"]) == 1:
            return {"messages": [AIMessage(BAD_STATUS)]}
        paid.append(interrupt("May I pay?"))
        return {"messages": [AIMessage(GOOD)]}

    graph = graph_of(check, agent)
    assert graph.invoke(TASK, thread())["__interrupt__"]
    assert outcomes == []
    graph.invoke(Command(resume="yes"), thread())
    assert paid == ["yes"]
    assert [(each.accepted, len(each.attempts)) for each in outcomes] == [(True, 2)]


def test_a_graph_that_a_node_runs_with_messages_of_its_own_does_not_stand_for_the_run() -> None:
    outcomes: list[Outcome] = []
    check = EnvelopeCheck(on_stop=outcomes.append)
    inner = StateGraph(MessagesState)
    inner.add_node("one", replying("Yes.", ValueError("the inner one failed")))
    inner.add_edge(START, "one")
    helper = inner.compile()
    replies = iter([BAD_STATUS, GOOD])

    def agent(state: MessagesState) -> dict[str, Any]:
        try:
            helper.invoke({"messages": [{"role": "user", "content": "Are you there?"}]})
        except ValueError:
            if len(state["messages"]) > 5:
                raise
        return {"messages": [AIMessage(next(replies))]}

    graph_of(check, agent).invoke(TASK, thread())
    assert [[each.reply for each in outcome.attempts] for outcome in outcomes] == [
        [BAD_STATUS, GOOD]
    ]
    assert not check.callback._graph_runs
    assert not check.callback._states


@pytest.mark.parametrize(
    "metadata",
    [{"finish_reason": "length"}, {"stop_reason": "max_tokens"}, {"stopReason": "max_tokens"}],
)
def test_a_model_whose_reply_was_cut_is_asked_for_a_shorter_one(metadata: dict[str, str]) -> None:
    check = EnvelopeCheck()
    cut = AIMessage(BAD_STATUS, response_metadata=metadata)
    [feedback] = check({"messages": [cut]})["messages"]
    assert "cut at the token limit: send it shorter" in feedback.content
    assert check.outcome([cut]).stop_reason == "token_limit"

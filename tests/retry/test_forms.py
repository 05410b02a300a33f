"""The forms of asking: the synchronous twin, the decorator, the wrapper."""

import pickle
import threading
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import anyio
import pytest

import goop_mcp
from goop_mcp import RetryPolicy, ask_until_accepted_sync, enveloped
from goop_mcp.protocols.goop_report import Report
from goop_mcp.retry import EnvelopedAgent, NotAcceptedError, Outcome, ReplyTypeError
from tests.retry.agents import BAD_STATUS, GOOD, Scripted, both_backends, results, run


def test_the_public_names_are_at_the_top_of_the_package() -> None:
    for name in (
        "ask_until_accepted",
        "ask_until_accepted_sync",
        "RetryPolicy",
        "enveloped",
        "ask_many",
        "follow",
    ):
        assert name in goop_mcp.__all__
        assert getattr(goop_mcp, name)


def test_the_synchronous_twin_does_the_same() -> None:
    outcome = ask_until_accepted_sync(Scripted(BAD_STATUS, GOOD), "Do it.", protocol="goop_report")
    assert results(outcome) == ["rejected", "accepted"]


def test_the_synchronous_twin_raises_the_same() -> None:
    with pytest.raises(NotAcceptedError):
        ask_until_accepted_sync(
            Scripted(BAD_STATUS), "Do it.", policy=RetryPolicy(when_exhausted="raise")
        )


@both_backends
def test_the_synchronous_twin_works_inside_a_running_loop(backend: str) -> None:
    threads: list[int] = []

    def agent(_message: str) -> str:
        threads.append(threading.get_ident())
        return GOOD

    async def call() -> Outcome:
        return ask_until_accepted_sync(agent, "Do it.", protocol="goop_report")

    assert run(backend, call).accepted
    assert threads != [threading.get_ident()]


@both_backends
def test_the_synchronous_twin_works_on_a_thread_of_a_running_loop(backend: str) -> None:
    async def call() -> Outcome:
        return await anyio.to_thread.run_sync(
            lambda: ask_until_accepted_sync(Scripted(GOOD), "Do it.")
        )

    assert run(backend, call).accepted


@enveloped(protocol="goop_report", policy=RetryPolicy(max_attempts=2))
async def executor(message: str) -> str:
    """Answer as an executor."""
    return GOOD if "not accepted" in message else BAD_STATUS


class Team:
    """Agents of a class, each with a memory of its own."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    @enveloped(protocol="goop_report")
    async def plan(self, message: str) -> str:
        self.heard.append(message)
        return GOOD if len(self.heard) > 1 else BAD_STATUS

    @enveloped(protocol="goop_report")
    def verify(self, message: str) -> str:
        self.heard.append(message)
        return GOOD


@both_backends
def test_a_decorated_function_returns_outcomes(backend: str) -> None:
    async def call() -> Outcome:
        return await executor("Do it.")

    assert results(run(backend, call)) == ["rejected", "accepted"]
    assert results(executor.sync("Do it.")) == ["rejected", "accepted"]
    assert (executor.__name__, executor.__doc__) == ("executor", "Answer as an executor.")  # type: ignore[attr-defined]  # taken over


@both_backends
def test_a_decorated_method_belongs_to_its_object(backend: str) -> None:
    team, other = Team(), Team()

    async def call() -> tuple[Outcome, Outcome]:
        return await team.plan("Plan it."), await other.verify("Verify it.")

    planned, verified = run(backend, call)
    assert results(planned) == ["rejected", "accepted"]
    assert results(verified) == ["accepted"]
    assert (len(team.heard), other.heard) == (2, ["Verify it."])
    assert isinstance(Team.plan, EnvelopedAgent)


def test_an_agent_that_is_there_already_is_wrapped_by_a_call() -> None:
    agent = enveloped(protocol="goop_report")(Scripted(BAD_STATUS, GOOD))
    assert agent.sync("Do it.").accepted


def test_a_class_of_agents_is_not_taken_for_an_agent() -> None:
    with pytest.raises(TypeError, match="the class Team"):
        enveloped()(Team)  # type: ignore[arg-type]  # wrong on purpose


def test_nothing_of_what_the_caller_passed_is_changed() -> None:
    terms = {"protocol": "goop_report", "policy": RetryPolicy()}
    kept = dict(terms)
    # Of two kinds.
    agent = EnvelopedAgent(Scripted(BAD_STATUS, GOOD), **terms)  # type: ignore[arg-type]
    agent.sync("Do it.")
    assert terms == kept


def test_the_decorator_needs_no_brackets_and_wraps_at_once() -> None:
    @enveloped
    def agent(_message: str) -> str:
        return GOOD

    assert agent.sync("Do it.").accepted
    assert (
        enveloped(Scripted(BAD_STATUS), policy=RetryPolicy(max_attempts=1)).sync("Do it.").text
        == BAD_STATUS
    )


class Office:
    """A class whose agents belong to none of its objects."""

    desk = enveloped(protocol="goop_report")(Scripted(GOOD))

    @enveloped(protocol="goop_report")
    @staticmethod
    def answer(_message: str) -> str:
        return GOOD

    @enveloped(protocol="goop_report")
    @classmethod
    def report(cls, _message: str) -> str:
        return GOOD


def test_an_agent_in_a_class_that_is_no_method_is_given_the_message_only() -> None:
    for agent in (
        Office.desk,
        Office().desk,
        Office.answer,
        Office().answer,
        Office.report,
        Office().report,
    ):
        assert agent.sync("Do it.").accepted


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"max_attempts": 3}, r"no term 'max_attempts'; expected policy=RetryPolicy\(max_attempts"),
        (
            {"protcol": "goop_report"},
            "no term 'protcol'; expected one of protocol, expected, policy",
        ),
        ({"protocol": "goop-report"}, "did you mean 'goop_report'"),
        ({"policy": 3}, "policy is int"),
    ],
    ids=str,
)
def test_terms_of_no_use_are_refused_where_the_decorator_stands(
    terms: dict[str, Any], words: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        enveloped(**terms)(Scripted(GOOD))


@pytest.mark.parametrize(
    "copy",
    [deepcopy, lambda value: pickle.loads(pickle.dumps(value))],  # noqa: S301
    ids=["copy", "pickle"],
)
def test_outcomes_and_errors_come_whole_out_of_another_process(copy: Callable[[Any], Any]) -> None:
    policy = RetryPolicy(max_attempts=1, when_exhausted="raise")
    with pytest.raises(NotAcceptedError) as caught:
        ask_until_accepted_sync(Scripted(BAD_STATUS), "Do it.", policy=policy)

    again = copy(caught.value)
    assert (str(again), again.outcome) == (str(caught.value), caught.value.outcome)
    unknown = copy(goop_mcp.UnknownNameError("protocol", "x", ["auto"]))
    assert (str(unknown), unknown.known) == ("there is no protocol 'x'; known are auto.", ("auto",))
    assert copy(ReplyTypeError(b"x")).answer == b"x"


def test_the_envelope_is_at_hand_when_it_was_accepted_and_then_only() -> None:
    envelope = ask_until_accepted_sync(Scripted(GOOD), "Do it.").envelope
    assert isinstance(envelope, Report)
    assert envelope.agent == "goop-executor"
    rejected = ask_until_accepted_sync(
        Scripted(BAD_STATUS), "Do it.", policy=RetryPolicy(max_attempts=1)
    )
    assert rejected.verdict is not None
    assert (rejected.envelope, rejected.verdict.envelope is None) == (None, False)

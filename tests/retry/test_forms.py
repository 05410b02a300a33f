"""The forms in which users ask: the synchronous twin, the decorator on functions and methods, the wrapper."""

import threading

import anyio
import pytest

import goop_mcp
from goop_mcp import RetryPolicy, ask_until_accepted_sync, enveloped
from goop_mcp.retry import EnvelopedAgent, NotAcceptedError, Outcome
from tests.retry.agents import BAD_STATUS, GOOD, Scripted, both_backends, results, run


def test_the_public_names_are_at_the_top_of_the_package() -> None:
    for name in ("ask_until_accepted", "ask_until_accepted_sync", "RetryPolicy", "enveloped", "ask_many", "follow"):
        assert name in goop_mcp.__all__
        assert getattr(goop_mcp, name)


def test_the_synchronous_twin_does_the_same() -> None:
    outcome = ask_until_accepted_sync(Scripted(BAD_STATUS, GOOD), "Do it.", protocol="goop_report")
    assert results(outcome) == ["rejected", "accepted"]


def test_the_synchronous_twin_raises_the_same() -> None:
    with pytest.raises(NotAcceptedError):
        ask_until_accepted_sync(Scripted(BAD_STATUS), "Do it.", policy=RetryPolicy(when_exhausted="raise"))


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
        return await anyio.to_thread.run_sync(lambda: ask_until_accepted_sync(Scripted(GOOD), "Do it."))

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
    agent = EnvelopedAgent(Scripted(BAD_STATUS, GOOD), **terms)  # type: ignore[arg-type]  # of two kinds
    agent.sync("Do it.")
    assert terms == kept

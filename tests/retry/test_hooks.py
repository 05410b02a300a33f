"""Hooks look on; whatever they do, the call goes on."""

import logging

import pytest

from goop_mcp import ask_until_accepted
from goop_mcp.retry import Attempt, Hooks, Message, Outcome
from tests.retry.agents import BAD_STATUS, GOOD, Scripted, both_backends, run


def ask(backend: str, *hooks: Hooks) -> Outcome:
    async def call() -> Outcome:
        return await ask_until_accepted(
            Scripted(BAD_STATUS, GOOD), "Do it.", protocol="goop_report", hooks=hooks
        )

    outcome: Outcome = run(backend, call)
    return outcome


@both_backends
def test_hooks_hear_of_every_ask_attempt_and_the_stop(backend: str) -> None:
    heard: list[object] = []

    async def listen(value: object) -> None:
        heard.append(value)

    outcome = ask(backend, Hooks(before_ask=listen, after_attempt=heard.append, on_stop=listen))
    kinds = [type(each) for each in heard]
    assert kinds == [Message, Attempt, Message, Attempt, Outcome]
    assert heard[1::2][:2] == list(outcome.attempts)
    assert heard[-1] is outcome


@pytest.mark.parametrize("place", ["before_ask", "after_attempt", "on_stop"])
@both_backends
def test_a_hook_that_fails_is_logged_and_changes_nothing(
    place: str, backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_value: object) -> None:
        raise RuntimeError("a slip of the hook")

    def broken_at_once(_value: object) -> None:
        raise KeyError("another")

    heard: list[object] = []
    hooks = [Hooks(**{place: hook}) for hook in (broken, broken_at_once, heard.append)]
    with caplog.at_level(logging.ERROR):
        outcome = ask(backend, *hooks)

    assert outcome.accepted
    assert len(outcome.attempts) == 2
    assert len(heard) == (1 if place == "on_stop" else 2), (
        "the hooks after it are called all the same"
    )
    assert caplog.text.count("RuntimeError: a slip of the hook") == len(heard)

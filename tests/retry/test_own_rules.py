"""Findings of custom rules go back to the agent; a rule that fails ends the call."""

import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from goop_mcp import (
    Hooks,
    Job,
    NotAcceptedError,
    Outcome,
    RetryPolicy,
    Rule,
    ask_many,
    ask_until_accepted,
    ask_until_accepted_sync,
    enveloped,
    follow,
)
from goop_mcp.errors import RuleFailedError, RuleRefusedError
from goop_mcp.hosts.frameworks.crewai import envelope_guardrail
from goop_mcp.retry import Review
from goop_mcp.retry.attempts import LONG_REPLY
from tests.retry.agents import BAD_STATUS, Scripted, both_backends, results, run
from tests.validation.shop import BROKEN, FIX, MESSAGE, TICKET, WITH_TICKET, WITHOUT_TICKET


# Any terms
def asked(backend: str, agent: Scripted, rules: list[Rule], **terms: Any) -> Outcome:  # noqa: ANN401
    outcome = run(
        backend, lambda: ask_until_accepted(agent, "Build the login.", rules=rules, **terms)
    )
    assert isinstance(outcome, Outcome)
    return outcome


@both_backends
def test_an_agent_fixes_what_the_custom_rule_found(backend: str) -> None:
    agent = Scripted(WITHOUT_TICKET, WITH_TICKET)
    outcome = asked(backend, agent, [TICKET])

    assert outcome.accepted
    assert results(outcome) == ["rejected", "accepted"]
    assert f"{MESSAGE} ({TICKET.id}). {FIX}" in agent.heard[1]


def test_without_the_rule_the_first_reply_is_accepted() -> None:
    assert results(ask_until_accepted_sync(Scripted(WITHOUT_TICKET), "Build it.")) == ["accepted"]


def test_the_errors_of_both_kinds_of_rules_are_sent_at_once() -> None:
    agent = Scripted(BAD_STATUS, WITH_TICKET)
    assert ask_until_accepted_sync(agent, "Build it.", rules=[TICKET]).accepted
    assert "goop_report/unknown-status" in agent.heard[1]
    assert TICKET.id in agent.heard[1]


def test_a_rule_that_is_never_kept_ends_the_call_as_any_other() -> None:
    outcome = ask_until_accepted_sync(Scripted(WITHOUT_TICKET), "Build it.", rules=[TICKET])
    assert outcome.stopped_because == "no_progress"
    assert {rule for rule, _ in outcome.attempts[-1].findings_key} == {TICKET.id}


def test_agents_that_are_wrapped_jobs_and_journeys_are_held_to_the_rules_too() -> None:
    async def each() -> list[Outcome]:
        wrapped = await enveloped(Scripted(WITHOUT_TICKET, WITH_TICKET), rules=[TICKET])(
            "Build it."
        )
        many = await ask_many(
            [Job(Scripted(WITHOUT_TICKET, WITH_TICKET), "Build it.", rules=[TICKET])]
        )
        agents = {"goop-executor": Scripted(WITHOUT_TICKET, WITH_TICKET)}
        workflow = await follow(agents, "goop-executor", "Build it.", rules=[TICKET])

        return [wrapped, *many, workflow.steps[0].outcome]

    outcomes: list[Outcome] = run("asyncio", each)
    assert [results(outcome) for outcome in outcomes] == [["rejected", "accepted"]] * 3


def test_a_conversation_that_a_framework_drives_is_held_to_them_too() -> None:
    review = Review(rules=[TICKET])
    assert MESSAGE in (review.hear(WITHOUT_TICKET) or "")
    assert review.hear(WITH_TICKET) is None
    assert review.outcome.accepted

    guardrail = envelope_guardrail(rules=[TICKET])
    passed, feedback = guardrail(SimpleNamespace(raw=WITHOUT_TICKET))
    assert not passed
    assert MESSAGE in feedback


@both_backends
@pytest.mark.parametrize("prose", ["", "x" * LONG_REPLY])
def test_a_rule_that_fails_ends_the_call_and_the_reply_is_kept(
    backend: str, prose: str, caplog: pytest.LogCaptureFixture
) -> None:
    agent, heard = Scripted(prose + WITH_TICKET), list[Outcome]()
    with caplog.at_level(logging.ERROR, logger="goop_mcp"):
        outcome = asked(backend, agent, [BROKEN], hooks=Hooks(on_stop=heard.append))

    assert (outcome.accepted, outcome.stopped_because, len(agent.heard)) == (
        False,
        "agent_error",
        1,
    )
    assert outcome.envelope is None
    assert outcome.text == prose + WITH_TICKET
    assert isinstance(outcome.failure, RuleFailedError)
    assert outcome.failure.rule == BROKEN.id
    assert "LookupError: no tracker" in (outcome.attempts[0].error or "")
    assert heard == [outcome]
    assert "LookupError" in caplog.text


def test_a_rule_that_fails_at_a_later_reply_ends_the_call_there() -> None:
    agent = Scripted("No envelope yet.", WITH_TICKET)
    outcome = ask_until_accepted_sync(agent, "Build it.", rules=[BROKEN])
    assert results(outcome) == ["rejected", "failed"]
    assert outcome.stopped_because == "agent_error"


def test_a_rule_that_fails_leaves_other_jobs_alone() -> None:
    jobs = [
        Job(Scripted(WITH_TICKET), "Build it.", rules=rules)
        for rules in ([TICKET], [BROKEN], [TICKET])
    ]
    outcomes: list[Outcome] = run("asyncio", lambda: ask_many(jobs))
    assert [outcome.accepted for outcome in outcomes] == [True, False, True]


@pytest.mark.parametrize(
    "ask",
    [
        lambda policy: ask_until_accepted_sync(
            Scripted(WITH_TICKET), "Build it.", rules=[BROKEN], policy=policy
        ),
        lambda policy: Review(rules=[BROKEN], policy=policy).hear(WITH_TICKET),
    ],
)
def test_who_wants_an_error_gets_one_with_the_failure_as_its_cause(
    ask: Callable[[RetryPolicy], object],
) -> None:
    with pytest.raises(
        NotAcceptedError, match="the last reply could not be judged: rule shop/ticket-missing"
    ) as caught:
        ask(RetryPolicy(when_exhausted="raise"))

    assert isinstance(caught.value.__cause__, RuleFailedError)
    assert caught.value.outcome.text == WITH_TICKET


def test_a_review_ends_with_a_rule_that_fails_and_reports_it() -> None:
    heard: list[Outcome] = []
    review = Review(rules=[BROKEN], on_stop=heard.append)
    assert review.hear(WITH_TICKET) is None
    assert review.stopped
    assert [outcome.stopped_because for outcome in heard] == ["agent_error"]


def test_a_rule_of_no_use_is_refused_before_anybody_is_asked() -> None:
    agent = Scripted(WITH_TICKET)
    for ask in (
        lambda: ask_until_accepted_sync(agent, "Build it.", rules=[TICKET, TICKET]),
        lambda: enveloped(agent, rules=[TICKET, TICKET]),
        lambda: Review(rules=[TICKET, TICKET]),
    ):
        with pytest.raises(RuleRefusedError):
            ask()

    assert agent.heard == []


def test_a_list_of_rules_that_changes_later_changes_no_job() -> None:
    rules = [TICKET]
    job = Job(Scripted(WITHOUT_TICKET), "Build it.", rules=rules)
    rules.clear()
    assert not job.judge(WITHOUT_TICKET).accepted

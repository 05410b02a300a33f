"""RetryLoop until accepted: what is sent, what is kept, and when it ends."""

import threading
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from goop_mcp import Expectations, GoopError, RetryPolicy, UnknownNameError, ask_until_accepted
from goop_mcp.retry import (
    AgentInterruptedError,
    Hooks,
    Message,
    NotAcceptedError,
    Outcome,
    Reply,
    ReplyTypeError,
    Usage,
)
from goop_mcp.validation.feedback import OPENING
from tests.retry.agents import (
    BAD_AGENT,
    BAD_STATUS,
    CUT_OFF,
    GOOD,
    PROSE,
    Counting,
    Scripted,
    both_backends,
    results,
    run,
)
from tests.validation.replies import EXECUTOR, read_case

PROMPT = "Move the check into the middleware."


def ask(agent: object, *, backend: str = "asyncio", **terms: object) -> Outcome:
    call = partial(ask_until_accepted, agent, PROMPT, **{"protocol": "goop_report", **terms})  # type: ignore[arg-type]  # tests give wrong values too
    outcome: Outcome = run(backend, call)
    return outcome


@both_backends
def test_a_valid_reply_is_accepted_at_once(backend: str) -> None:
    agent = Scripted(GOOD)
    outcome = ask(agent, backend=backend)
    assert outcome.accepted
    assert outcome.stopped_because == "accepted"
    assert agent.heard == [PROMPT]
    assert outcome.text == GOOD
    assert not outcome.accepted_at_last_attempt
    assert outcome.warnings == ()


@both_backends
def test_a_faulty_reply_is_sent_back_with_what_is_wrong(backend: str) -> None:
    agent = Scripted(BAD_STATUS, GOOD)
    outcome = ask(agent, backend=backend)
    assert results(outcome) == ["rejected", "accepted"]
    assert agent.heard[1].startswith(OPENING)
    assert "DONE-ISH" in agent.heard[1]
    assert [each.message for each in outcome.attempts] == agent.heard
    assert [each.reply for each in outcome.attempts] == [BAD_STATUS, GOOD]


def test_three_attempts_are_made_by_default_and_the_last_text_is_kept() -> None:
    agent = Scripted(BAD_STATUS, BAD_AGENT, CUT_OFF, GOOD)
    outcome = ask(agent)
    assert results(outcome) == ["rejected"] * 3
    assert outcome.stopped_because == "attempts"
    assert not outcome.accepted
    assert outcome.text == CUT_OFF
    assert outcome.verdict is outcome.attempts[-1].verdict


def test_what_is_accepted_at_the_last_attempt_only_is_marked() -> None:
    outcome = ask(Scripted(BAD_STATUS, BAD_AGENT, GOOD))
    assert outcome.accepted_at_last_attempt
    assert any("last attempt" in warning for warning in outcome.warnings)


def test_the_only_attempt_that_is_allowed_is_no_last_try() -> None:
    assert not ask(Scripted(GOOD), policy=RetryPolicy(max_attempts=1)).accepted_at_last_attempt


def test_a_much_shorter_envelope_than_before_is_accepted_with_a_warning() -> None:
    long = BAD_STATUS.replace("<summary>", "<summary>" + "All of it was done with care. " * 400)
    outcome = ask(Scripted(long, GOOD))
    assert outcome.accepted
    assert any("shorter" in warning for warning in outcome.warnings)


def test_exhaustion_raises_an_error_with_every_attempt_if_wanted() -> None:
    with pytest.raises(NotAcceptedError, match="after 3 attempts") as caught:
        ask(Scripted(BAD_STATUS, BAD_AGENT, CUT_OFF), policy=RetryPolicy(when_exhausted="raise"))
    assert results(caught.value.outcome) == ["rejected"] * 3
    assert caught.value.outcome.text == CUT_OFF
    assert isinstance(caught.value, GoopError)


def test_the_fallback_is_asked_for_the_task_itself_and_judged_too() -> None:
    fallback = Scripted(GOOD)
    policy = RetryPolicy(max_attempts=2, when_exhausted="fallback", fallback=fallback)
    outcome = ask(Scripted(BAD_STATUS), policy=policy)
    assert fallback.heard == [PROMPT]
    assert outcome.accepted
    assert [each.fallback for each in outcome.attempts] == [False, False, True]
    assert not outcome.accepted_at_last_attempt
    assert any("fallback" in warning for warning in outcome.warnings)


def test_a_fallback_that_fails_as_well_leaves_the_call_exhausted() -> None:
    policy = RetryPolicy(when_exhausted="fallback", fallback=Scripted(CUT_OFF))
    outcome = ask(Scripted(ValueError("gone")), policy=policy)
    assert outcome.stopped_because == "agent_error"
    assert results(outcome) == ["failed", "rejected"]
    assert outcome.text == CUT_OFF


def test_a_fallback_that_waits_for_a_person_ends_the_call_and_no_other_is_asked() -> None:
    waiting, strong = Scripted(AgentInterruptedError("approve the payment")), Scripted(GOOD)
    policy = RetryPolicy(max_attempts=1, when_exhausted="fallback", fallback=[waiting, strong])
    outcome = ask(Scripted(BAD_STATUS), policy=policy)
    assert outcome.stopped_because == "interrupted"
    assert strong.heard == []


def test_a_fallback_that_cannot_be_asked_is_refused_before_anybody_is_asked() -> None:
    agent = Scripted(BAD_STATUS)
    # Wrong on purpose.
    policy = RetryPolicy(when_exhausted="fallback", fallback="planner")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the fallback is str"):
        ask(agent, policy=policy)
    assert agent.heard == []


def test_fallbacks_are_asked_one_after_the_other_until_one_is_accepted() -> None:
    cheap, broken, strong, spare = (
        Scripted(CUT_OFF),
        Scripted(ValueError()),
        Scripted(GOOD),
        Scripted(GOOD),
    )
    policy = RetryPolicy(
        max_attempts=1, when_exhausted="fallback", fallback=[cheap, broken, strong, spare]
    )
    outcome = ask(Scripted(BAD_STATUS), policy=policy)
    assert outcome.accepted
    assert results(outcome) == ["rejected", "rejected", "failed", "accepted"]
    assert [each.fallback for each in outcome.attempts] == [False, True, True, True]
    assert len(strong.heard) == 1
    assert spare.heard == []
    assert "the answer is the fallback's" in outcome.warnings


def test_no_fallback_is_asked_once_the_budget_is_spent() -> None:
    fallback = Scripted(GOOD)
    policy = RetryPolicy(
        max_attempts=1, max_tokens=10, when_exhausted="fallback", fallback=fallback
    )
    outcome = ask(Counting(BAD_STATUS, usage=Usage(tokens=10)), policy=policy)
    assert fallback.heard == []
    assert not outcome.accepted


def test_the_same_reply_twice_changes_the_strategy_and_then_stops() -> None:
    agent = Counting(BAD_STATUS, usage=None)
    outcome = ask(agent, policy=RetryPolicy(max_attempts=10))
    assert agent.ways == ["first", "same_conversation", "minimal"]
    assert outcome.stopped_because == "no_progress"


def test_the_same_findings_in_other_words_are_no_progress_either() -> None:
    replies = [BAD_STATUS.replace("The work is done.", f"Try {number}.") for number in range(9)]
    outcome = ask(Scripted(*replies), policy=RetryPolicy(max_attempts=9))
    assert outcome.stopped_because == "no_progress"
    assert len(outcome.attempts) == 3


def test_a_repeated_error_is_named_with_the_line_to_write() -> None:
    agent = Scripted(BAD_STATUS, BAD_STATUS, GOOD)
    ask(agent)
    assert agent.heard[1] not in agent.heard[2]
    assert "stands again" in agent.heard[2]
    assert "Write exactly one of: COMPLETE, PARTIAL, BLOCKED, CHECKPOINT" in agent.heard[2]
    assert "<status>DONE-ISH</status>" in agent.heard[2], (
        "asked in the minimal way, so the envelope is repeated"
    )


def test_a_reply_that_is_cut_off_again_is_still_asked_to_be_shorter() -> None:
    agent = Scripted(CUT_OFF, CUT_OFF.replace("The work is done.", "Here it is."), GOOD)
    ask(agent)
    again = agent.heard[2].partition(OPENING)[2]
    assert "envelope/truncated stands again" in again
    assert again.endswith("shorter: a brief summary, no long lists.")


def test_a_fresh_ask_repeats_the_task_and_nothing_of_the_failed_reply() -> None:
    agent = Scripted(BAD_STATUS, GOOD)
    ask(agent, policy=RetryPolicy(strategies=("fresh",)))
    assert agent.heard[1].startswith(PROMPT)
    assert "DONE-ISH" not in agent.heard[1]
    assert "/goop_report/status: Choose the one" in agent.heard[1]
    assert "One of: COMPLETE, PARTIAL, BLOCKED, CHECKPOINT." in agent.heard[1]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (PROSE, "in this form and filled in:\n<goop_report"),
        (CUT_OFF, "- Keep the reply short"),
    ],
    ids=["no envelope", "cut off"],
)
def test_a_fresh_ask_names_no_reply_that_the_agent_does_not_know(reply: str, expected: str) -> None:
    agent = Scripted(reply, GOOD)
    assert ask(agent, policy=RetryPolicy(strategies=("fresh",))).accepted
    assert expected in agent.heard[1]
    assert not any(
        words in agent.heard[1] for words in ("is kept", "again", "was cut off", OPENING)
    )


def test_a_fresh_ask_where_any_protocol_will_do_shows_no_form() -> None:
    agent = Scripted(PROSE, GOOD)
    ask(agent, protocol="auto", policy=RetryPolicy(strategies=("fresh",)))
    assert agent.heard[1].startswith(f"{PROMPT}\n\nEnd your reply with the report")


def test_a_minimal_ask_after_a_reply_without_envelope_repeats_what_the_agent_did() -> None:
    agent = Scripted(PROSE, GOOD)
    ask(agent, policy=RetryPolicy(strategies=("minimal",)))
    assert PROSE in agent.heard[1]


def test_a_cut_off_reply_is_asked_to_be_shorter() -> None:
    agent = Scripted(CUT_OFF, GOOD)
    outcome = ask(agent)
    assert outcome.accepted
    assert "cut off" in agent.heard[1]
    assert "shorter" in agent.heard[1]


def test_an_envelope_sent_later_is_joined_with_the_prose_before() -> None:
    agent = Scripted(PROSE, EXECUTOR)
    outcome = ask(agent)
    assert "Send only the envelope" in agent.heard[1]
    assert outcome.text == EXECUTOR
    assert outcome.joined_text == f"{PROSE}\n\n{EXECUTOR}"


@pytest.mark.parametrize(
    ("replies", "policy"),
    [
        pytest.param((PROSE, f"{PROSE}\n\n{EXECUTOR}"), RetryPolicy(), id="it repeats the prose"),
        pytest.param(
            (PROSE, GOOD), RetryPolicy(strategies=("fresh",)), id="it answers the task again"
        ),
        pytest.param((BAD_STATUS, GOOD), RetryPolicy(), id="the first had an envelope"),
        pytest.param((GOOD,), RetryPolicy(), id="there is only one"),
    ],
)
def test_a_reply_that_is_whole_is_joined_with_nothing(
    replies: tuple[str, ...], policy: RetryPolicy
) -> None:
    outcome = ask(Scripted(*replies), policy=policy)
    assert outcome.joined_text == replies[-1]


@pytest.mark.parametrize(
    "answer",
    [None, b"bytes", bytearray(b"x"), object(), 7, ["text"]],
    ids=lambda answer: type(answer).__name__,
)
@both_backends
def test_an_agent_that_answers_with_no_text_has_failed(answer: object, backend: str) -> None:
    async def agent(_message: str) -> object:
        return answer

    outcome = ask(agent, backend=backend)
    assert outcome.stopped_because == "agent_error"
    assert isinstance(outcome.failure, ReplyTypeError)
    assert outcome.failure.answer is answer
    assert type(answer).__name__ in str(outcome.failure)
    assert ("decode it first" in str(outcome.failure)) == isinstance(answer, bytes | bytearray)


def test_an_agent_that_streams_is_asked_to_join_the_parts() -> None:
    async def agent(_message: str) -> AsyncIterator[str]:
        yield GOOD

    assert "async_generator; expected a text; join its parts first" in str(ask(agent).failure)


def test_a_conversation_that_returns_no_reply_has_failed() -> None:
    class Careless:
        async def ask(self, _message: object) -> str:
            return GOOD

    outcome = ask(Careless())
    assert outcome.attempts[0].error == "the agent answered with str; expected a Reply"


@pytest.mark.parametrize("failure", [ValueError("no"), KeyError("x"), AssertionError()], ids=repr)
def test_a_failure_that_is_no_passing_one_ends_the_call_with_its_words(failure: Exception) -> None:
    agent = Scripted(BAD_STATUS, failure)
    outcome = ask(agent)
    assert outcome.stopped_because == "agent_error"
    assert results(outcome) == ["rejected", "failed"]
    assert outcome.failure is failure
    assert (outcome.attempts[1].error or "").startswith(type(failure).__name__)
    assert outcome.text == BAD_STATUS


@both_backends
def test_a_function_that_is_not_async_is_asked_on_a_thread(backend: str) -> None:
    replies = iter([BAD_STATUS, GOOD])
    assert ask(lambda _message: next(replies), backend=backend).accepted


@both_backends
def test_a_function_that_runs_out_of_replies_has_failed(backend: str) -> None:
    replies = iter([BAD_STATUS])
    outcome = ask(lambda _message: next(replies), backend=backend)
    assert outcome.stopped_because == "agent_error"
    assert results(outcome) == ["rejected", "failed"]


@both_backends
def test_ten_megabytes_are_refused_and_kept(backend: str) -> None:
    huge = "a " * 5_000_000
    outcome = ask(Scripted(huge), backend=backend)
    assert not outcome.accepted
    assert outcome.text is huge
    assert outcome.stopped_because == "no_progress"


@pytest.mark.parametrize("protocol", ["goop_report", "speckit", "factory"])
def test_an_agent_that_sends_the_feedback_back_is_never_accepted(protocol: str) -> None:
    heard: list[str] = []

    async def echo(message: str) -> str:
        heard.append(message)
        return message

    outcome = ask(echo, protocol=protocol, policy=RetryPolicy(max_attempts=20))
    assert not outcome.accepted
    assert outcome.stopped_because == "no_progress"


def test_a_reply_in_another_protocol_is_not_accepted() -> None:
    outcome = ask(Scripted(read_case("speckit/concrete_specify.json"), GOOD))
    assert results(outcome) == ["rejected", "accepted"]


def test_a_protocol_that_does_not_exist_is_refused_before_anybody_is_asked() -> None:
    agent = Scripted(GOOD)
    with pytest.raises(UnknownNameError):
        ask(agent, protocol="goop_raport")

    with pytest.raises(UnknownNameError):
        ask(agent, expected=Expectations(phase="exekute"))

    assert agent.heard == []


@pytest.mark.parametrize("agent", [None, 7, "text", Scripted], ids=repr)
def test_what_cannot_be_asked_is_refused(agent: object) -> None:
    with pytest.raises(TypeError, match="the agent is"):
        ask(agent)


def test_expectations_are_asked_for() -> None:
    agent = Scripted(GOOD)
    outcome = ask(agent, expected=Expectations(phase="accept"), policy=RetryPolicy(max_attempts=1))
    assert outcome.verdict is not None
    assert "goop_report/phase-mismatch" in {each.rule for each in outcome.verdict.findings}


def test_form_is_repaired_unless_the_policy_wants_it_otherwise() -> None:
    to_repair = GOOD.replace("login/logout", "login & logout")
    rules = frozenset({"xml/unescaped"})
    repaired = ask(Scripted(to_repair))
    assert [repair.rule for repair in repaired.attempts[0].repairs] == list(rules)
    for policy in (RetryPolicy(allow_repairs=False), RetryPolicy(rejected_repairs=rules)):
        agent = Scripted(to_repair, GOOD)
        assert results(ask(agent, policy=policy)) == ["rejected", "accepted"]
        assert "xml/unescaped" in agent.heard[1]


def test_what_answers_cost_is_summed_failed_ones_included() -> None:
    outcome = ask(Counting(BAD_STATUS, GOOD, usage=Usage(tokens=100, cost=0.5)))
    assert outcome.usage == Usage(tokens=200, cost=1.0)
    assert outcome.attempts[0].usage == Usage(tokens=100, cost=0.5)


def test_a_budget_that_is_spent_stops_before_the_next_ask() -> None:
    agent = Counting(BAD_STATUS, GOOD, usage=Usage(tokens=100, cost=0.5))
    assert ask(agent, policy=RetryPolicy(max_tokens=100)).stopped_because == "budget"
    assert ask(agent, policy=RetryPolicy(max_cost=0.4)).stopped_because == "accepted", (
        "one answer is always had"
    )
    assert len(agent.agent.heard) == 2


def test_a_budget_that_cannot_be_kept_is_reported() -> None:
    outcome = ask(Scripted(GOOD), policy=RetryPolicy(max_tokens=100))
    assert any("does not say what its answers cost" in warning for warning in outcome.warnings)


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"policy": 3}, "policy is int; expected RetryPolicy"),
        ({"policy": {"max_attempts": 3}}, "policy is dict; expected RetryPolicy"),
        ({"expected": "goop-executor"}, "expected is str; expected Expectations"),
        ({"limits": 5}, "limits is int; expected Limits"),
        ({"hooks": [print]}, "one of hooks is builtin_function_or_method; expected Hooks"),
    ],
    ids=str,
)
def test_terms_of_the_wrong_kind_are_refused_before_anybody_is_asked(
    terms: dict[str, Any], words: str
) -> None:
    agent = Scripted(GOOD)
    with pytest.raises(TypeError, match=words):
        ask(agent, **terms)

    assert agent.heard == []


@both_backends
def test_one_set_of_hooks_needs_no_list(backend: str) -> None:
    stopped: list[Outcome] = []
    outcome = ask(Scripted(GOOD), backend=backend, hooks=Hooks(on_stop=stopped.append))
    assert stopped == [outcome]


@both_backends
def test_a_conversation_that_is_not_async_is_asked_on_a_thread(backend: str) -> None:
    threads: list[int] = []

    class Session:
        def ask(self, message: Message) -> Reply:
            threads.append(threading.get_ident())
            return Reply(
                text=GOOD if message.way == "same_conversation" else BAD_STATUS,
                usage=Usage(tokens=5),
            )

    outcome = ask(Session(), backend=backend)
    assert results(outcome) == ["rejected", "accepted"]
    assert outcome.usage == Usage(tokens=10)
    assert threading.get_ident() not in threads


@pytest.mark.parametrize(
    "cost",
    [{"input_tokens": -1}, {"tokens": -5}, {"tokens": 2.5}, {"cost": float("nan")}, {"cost": -1.0}],
    ids=str,
)
def test_a_cost_that_no_budget_can_count_is_the_agents_failure(cost: dict[str, Any]) -> None:
    class Session:
        async def ask(self, _message: Message) -> Reply:
            return Reply(text=GOOD, usage=Usage(**cost))

    outcome = ask(Session(), policy=RetryPolicy(max_tokens=100))
    assert outcome.stopped_because == "agent_error"
    assert "expected a" in (outcome.attempts[0].error or "")

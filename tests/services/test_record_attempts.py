"""Recorded attempts: rule ids and numbers, texts only on request, and never a failed call."""

import logging
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from goop_mcp import RetryPolicy, ask_until_accepted
from goop_mcp.retry import Job, Message, Outcome, Reply, RetryLoop, Review, Usage
from goop_mcp.services.count_attempts import count_attempts
from goop_mcp.services.record_attempts import record_attempts, recording
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import StoredAttempt
from tests.retry.agents import BAD_STATUS, GOOD, PROSE, Counting, Scripted, both_backends, run

UNKNOWN_STATUS = "goop_report/unknown-status"
SECRET = "ghp_" + "a1B2" * 9
FIRST_WEEK, NEXT_WEEK = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 8, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(None, project=tmp_path)


def recorded(store: Store) -> list[StoredAttempt]:
    return store.read(lambda reading: reading.attempts())


def heard(*replies: str) -> Outcome:
    review = Review()
    for reply in replies:
        review.hear(reply)
    return review.outcome


@both_backends
def test_a_call_is_recorded_with_its_rules_and_numbers_and_without_its_text(
    backend: str, store: Store
) -> None:
    agent = Counting(BAD_STATUS, GOOD, usage=Usage(tokens=7))
    hooks = [recording(store, session_id="session-1")]
    run(backend, lambda: ask_until_accepted(agent, "Implement it.", hooks=hooks))
    bad, good = recorded(store)
    assert (bad.result, good.result) == ("rejected", "accepted")
    assert (bad.rules, good.rules) == ((UNKNOWN_STATUS,), ())
    assert (bad.number, bad.way, bad.tokens) == (1, "first", 7)
    assert (good.number, good.way, good.call_id) == (2, "same_conversation", bad.call_id)
    assert {(each.agent, each.session_id, each.protocol) for each in (bad, good)} == {
        ("goop-executor", "session-1", "goop_report")
    }
    assert {each.message for each in (bad, good)} | {each.reply for each in (bad, good)} == {None}


def test_texts_are_kept_when_asked_for_and_without_their_secrets(store: Store) -> None:
    outcome = run(
        "asyncio",
        lambda: ask_until_accepted(
            Scripted(f"{PROSE} token {SECRET} \0 \udc80", GOOD),
            f"Use {SECRET}.",
            hooks=[recording(store, texts=True)],
        ),
    )
    first, last = recorded(store)
    assert outcome.accepted
    assert first.message == "Use [REDACTED]."
    assert first.reply == f"{PROSE} token [REDACTED] \ufffd \ufffd"
    assert last.reply == GOOD


def test_repairs_failed_calls_and_the_callers_name_of_the_agent_are_recorded(store: Store) -> None:
    slip = GOOD.replace("login/logout endpoints", "login & logout")
    failing = Scripted(ConnectionError("gone"), slip)
    run(
        "asyncio",
        lambda: ask_until_accepted(failing, "Go on.", hooks=[recording(store, agent="worker")]),
    )
    failed, good = recorded(store)
    assert (failed.result, failed.rules) == ("failed", ())
    assert (good.result, good.repairs) == ("accepted", ("xml/unescaped",))
    assert {failed.agent, good.agent} == {"worker"}


@both_backends
def test_a_cancelled_call_is_recorded(backend: str, store: Store) -> None:
    asking: list[RetryLoop] = []

    class Hanging:
        async def ask(self, _message: Message) -> Reply:
            asking[0].cancel()
            await anyio.sleep_forever()
            raise AssertionError

    async def ask() -> None:
        job = Job(Hanging(), "Implement it.", hooks=[recording(store)])
        asking.append(RetryLoop(job))
        await asking[0].run()

    run(backend, ask)
    assert [attempt.result for attempt in recorded(store)] == ["cancelled"]


def test_a_database_that_cannot_be_written_does_not_break_the_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ".goopspec").write_text("a file in the way", encoding="utf-8")
    hooks = [recording(open_store(None, project=tmp_path))]
    with caplog.at_level(logging.ERROR):
        outcome = run(
            "asyncio", lambda: ask_until_accepted(Scripted(GOOD), "Implement it.", hooks=hooks)
        )

    assert outcome.accepted
    assert "a hook failed" in caplog.text


def test_a_call_without_attempts_writes_nothing(store: Store) -> None:
    assert record_attempts(store, Outcome(attempts=(), stopped_because="deadline")) == []
    assert not store.exists()


def test_a_review_of_a_framework_is_recorded_too(store: Store) -> None:
    assert [each.result for each in record_attempts(store, heard(BAD_STATUS, GOOD))] == [
        "rejected",
        "accepted",
    ]


def test_attempts_are_counted_by_rule_agent_and_week(store: Store) -> None:
    record_attempts(store, heard(BAD_STATUS, GOOD), clock=lambda: FIRST_WEEK)
    record_attempts(store, heard(GOOD), clock=lambda: NEXT_WEEK)
    record_attempts(store, heard(BAD_STATUS, BAD_STATUS), agent="other", clock=lambda: NEXT_WEEK)
    counted = count_attempts(store)
    assert (counted.total.calls, counted.total.attempts) == (3, 5)
    assert (counted.total.accepted, counted.total.accepted_at_once) == (2, 1)
    assert counted.by_rule == {UNKNOWN_STATUS: 3}
    assert {name: each.calls for name, each in counted.by_agent.items()} == {
        "goop-executor": 2,
        "other": 1,
    }
    assert {week: each.attempts for week, each in counted.by_week.items()} == {
        "2026-W01": 2,
        "2026-W02": 3,
    }
    assert count_attempts(store, since=NEXT_WEEK).total.calls == 2


def test_a_reply_without_an_envelope_of_an_agent_without_a_name_is_counted(store: Store) -> None:
    review = Review(policy=RetryPolicy(max_attempts=1))
    review.hear(PROSE)
    record_attempts(store, review.outcome)
    assert list(count_attempts(store).by_agent) == ["(not named)"]


def test_nothing_recorded_counts_as_nothing(store: Store) -> None:
    counted = count_attempts(store)
    assert (counted.total.calls, counted.by_rule, counted.by_week) == (0, {}, {})

"""Spans and counters, seen by the SDK's exporters in memory."""

from collections.abc import Iterator

import pytest
from opentelemetry import trace

from goop_mcp import ask_until_accepted_sync
from tests.retry.agents import BAD_STATUS, GOOD, Scripted
from tests.telemetry import EXPORTER, set_up, sums

ATTEMPTS, OUTCOMES = "goop.ask.attempts", "goop.ask.outcomes"


@pytest.fixture(autouse=True)
def empty_exporter() -> Iterator[None]:
    set_up()
    EXPORTER.clear()
    yield
    EXPORTER.clear()


def test_every_attempt_is_a_span_without_a_word_of_the_agent() -> None:
    ask_until_accepted_sync(Scripted(BAD_STATUS, ConnectionError("secret words"), GOOD), "Do it.")
    spans = EXPORTER.get_finished_spans()
    assert [span.name for span in spans] == ["goop.ask.attempt"] * 3
    facts = [dict(span.attributes or {}) for span in spans]
    assert [each["goop.attempt.number"] for each in facts] == [1, 2, 3]
    assert [each["goop.attempt.result"] for each in facts] == ["rejected", "failed", "accepted"]
    assert facts[0]["goop.attempt.rules"] == ("goop_report/unknown-status",)
    assert spans[1].status.status_code is trace.StatusCode.ERROR
    assert spans[1].status.description == "ConnectionError"
    said = " ".join(span.to_json() for span in spans)
    assert "secret words" not in said
    assert "DONE-ISH" not in said


def test_attempts_and_endings_are_counted() -> None:
    before = sums(ATTEMPTS, OUTCOMES)
    ask_until_accepted_sync(Scripted(BAD_STATUS, GOOD), "Do it.")
    after = sums(ATTEMPTS, OUTCOMES)
    assert {name: after[name] - before[name] for name in after} == {ATTEMPTS: 2, OUTCOMES: 1}

"""Statistics of what was recorded, the same on every engine."""

from dataclasses import replace

import pytest

from goop_mcp.errors import StoreError
from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.store.records import AttemptResult, NewAttempt, NewJudgement
from goop_mcp.store.statistics import (
    EndingCount,
    PromptCounts,
    ReplyCounts,
    Statistics,
    StatisticsFilter,
)
from tests.store.conftest import OpenStore
from tests.store.rows import ATTEMPT, JUDGEMENT, REPORT

FIRST_WEEK, NEXT_WEEK = "2025-12-31T23:59:59.999Z", "2026-01-05T00:00:00.000Z"
ALL = StatisticsFilter()
PROMPT = replace(JUDGEMENT, surface="gate", result="accepted", agent=None, rules=())


def statistics(store: Store, wanted: StatisticsFilter = ALL) -> Statistics:
    return store.read(lambda reading: reading.statistics(wanted))


def call(
    name: str, *results: AttemptResult, ended: str, agent: str | None = "goop-executor"
) -> list[NewAttempt]:
    """Return the attempts of one call, each rejected one under its own rule."""
    return [
        replace(
            ATTEMPT,
            call_id=name,
            number=number,
            result=result,
            rules=("shared/rule", f"rule/{number}") if result == "rejected" else (),
            agent=agent,
            ended=ended if number == len(results) else None,
        )
        for number, result in enumerate(results, start=1)
    ]


def add(store: Store, *rows: NewAttempt | NewJudgement) -> None:
    def change(writing: WriteTransaction) -> None:
        for row in rows:
            if isinstance(row, NewAttempt):
                writing.add_attempts([row])
            else:
                writing.add_judgement(row)

    store.write(change)


def test_without_rows_all_statistics_are_zero(store: Store) -> None:
    empty = statistics(store)
    assert not store.exists()
    assert (empty.replies, empty.prompts) == (ReplyCounts(), PromptCounts())
    assert (empty.rules, empty.endings, empty.reports, empty.replies_by_week) == ({}, (), {}, {})


def test_replies_that_never_came_are_neither_accepted_nor_rejected(store: Store) -> None:
    add(
        store,
        *call("a", "failed", "cancelled", ended="cancelled"),
        *call("b", "failed", "accepted", ended="accepted"),
    )
    assert statistics(store).replies == ReplyCounts(
        accepted=1, rejected=0, unknown=3, calls=2, accepted_calls=1, accepted_at_once=0
    )


def test_calls_are_counted_by_the_attempt_and_the_reason_with_which_they_ended(
    store: Store,
) -> None:
    add(
        store,
        *call("a", "accepted", ended="accepted"),
        *call("b", "rejected", "accepted", ended="accepted"),
        *call("c", "rejected", "accepted", ended="accepted"),
        *call("d", "rejected", "rejected", "accepted", ended="accepted_at_last"),
        *call("e", "rejected", "rejected", ended="no_progress"),
    )
    found = statistics(store)
    assert found.endings == (
        EndingCount("accepted", 1, 1),
        EndingCount("accepted", 2, 2),
        EndingCount("accepted_at_last", 3, 1),
        EndingCount("no_progress", 2, 1),
    )
    assert (found.replies.calls, found.replies.accepted_calls, found.replies.accepted_at_once) == (
        5,
        4,
        1,
    )


def test_a_rule_counts_the_replies_that_broke_it_wherever_they_were_judged(store: Store) -> None:
    add(
        store,
        *call("a", "rejected", "rejected", ended="attempts"),
        replace(JUDGEMENT, rules=("shared/rule",)),
    )
    assert list(statistics(store).rules.items()) == [
        ("shared/rule", 3),
        ("rule/1", 1),
        ("rule/2", 1),
    ]


def test_statistics_are_grouped_by_agent_and_by_the_week_of_iso_8601(store: Store) -> None:
    early = [
        replace(row, created_at=FIRST_WEEK)
        for row in call("a", "rejected", "accepted", ended="accepted")
    ]
    late = replace(JUDGEMENT, agent=None, created_at=NEXT_WEEK)
    add(store, *early, late)
    found = statistics(store)
    assert list(found.replies_by_agent.items()) == [
        ("goop-executor", ReplyCounts(1, 1, 0, 1, 1, 0)),
        (None, ReplyCounts(rejected=1)),
    ]
    assert list(found.replies_by_week.items()) == [
        ("2026-W01", ReplyCounts(1, 1, 0, 1, 1, 0)),
        ("2026-W02", ReplyCounts(rejected=1)),
    ]


def test_prompts_of_the_gate_are_counted_by_themselves(store: Store) -> None:
    add(
        store,
        PROMPT,
        replace(PROMPT, has_envelope=False),
        replace(
            PROMPT,
            result="rejected",
            agent="goop-executor",
            created_at=NEXT_WEEK,
            rules=("agent_request/x",),
        ),
    )
    found = statistics(store)
    assert found.prompts == PromptCounts(prompts=3, with_request=2, refused=1)
    assert found.prompts_by_agent == {
        None: PromptCounts(2, 1, 0),
        "goop-executor": PromptCounts(1, 1, 1),
    }
    assert list(found.prompts_by_week) == ["2026-W02", "2026-W03"]
    assert (found.replies, found.rules) == (ReplyCounts(), {})


def test_only_what_is_wanted_counts(store: Store) -> None:
    add(
        store,
        *call("a", "accepted", ended="accepted"),
        *call("b", "accepted", ended="accepted", agent="goop-planner"),
        replace(JUDGEMENT, created_at=FIRST_WEEK),
        replace(PROMPT, created_at=FIRST_WEEK),
    )
    store.write(lambda writing: writing.add_report(REPORT))
    assert statistics(store, StatisticsFilter(agent="goop-planner")).replies.accepted == 1
    assert statistics(store, StatisticsFilter(agent="goop-planner")).reports == {}
    since = statistics(store, StatisticsFilter(since=NEXT_WEEK))
    assert (since.replies.accepted, since.replies.rejected, since.prompts.prompts) == (2, 0, 0)
    assert since.reports == {"COMPLETE": 1}
    assert statistics(store).replies.rejected == 1


def test_a_judgement_is_seen_by_others_and_raises_no_revision(
    store: Store, open_again: OpenStore
) -> None:
    add(store, JUDGEMENT)
    assert statistics(open_again()).replies == ReplyCounts(rejected=1)
    assert store.read(lambda reading: reading.revision()) == 0
    assert store.check() == []


def test_a_judgement_with_text_that_no_database_keeps_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="agent holds the character NUL"):
        add(store, replace(JUDGEMENT, agent="a\0b"))
    assert statistics(store).replies == ReplyCounts()

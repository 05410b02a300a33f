"""How agents do, from what reports, hooks, the gate and attempts left in the database."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from goop_mcp.messages import check_message
from goop_mcp.retry import RetryPolicy, Review
from goop_mcp.services.gate import gate
from goop_mcp.services.judgements import count_gate
from goop_mcp.services.record_attempts import record_attempts
from goop_mcp.services.stats import ProjectStats, project_stats, start_of_week
from goop_mcp.services.stats_page import stats_page
from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import NewJudgement
from tests.protocols.agent_request.prompts import PROMPT
from tests.requirements import requirement
from tests.retry.agents import BAD_STATUS, GOOD, PROSE
from tests.services.reporting import record, report, working_in
from tests.store.rows import ATTEMPT, JUDGEMENT
from tests.workspace.projects import copied

WEEK_3 = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
REFUSED = PROMPT.replace("</agent_request>", "")
GATED = replace(JUDGEMENT, surface="gate", result="accepted", rules=())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(None, project=tmp_path)


def judged(store: Store, *judgements: NewJudgement) -> ProjectStats:
    def change(writing: WriteTransaction) -> None:
        for each in judgements:
            writing.add_judgement(each)

    store.write(change)
    return project_stats(store)


def heard(store: Store, *replies: str, policy: RetryPolicy | None = None) -> None:
    review = Review(policy=policy or RetryPolicy())
    for reply in replies:
        review.hear(reply)
    record_attempts(store, review.outcome, clock=lambda: WEEK_3)


@requirement("H-66")
def test_adoption_failure_rate_and_most_common_errors_are_computed_from_the_records(
    store: Store,
) -> None:
    for prompt in (PROMPT, "Please do it.", "Please do that."):
        count_gate(store, gate(prompt, "prompt.md"))

    heard(store, BAD_STATUS, GOOD)
    stats = project_stats(store)
    assert stats.adoption.line == "XML handoff adoption: 33.33% (1 / 3)"
    assert stats.to_dict()["replies"]["failure_rate"] == 0.5
    assert stats.to_dict()["errors"] == [{"rule": "goop_report/unknown-status", "replies": 1}]
    page = stats_page(stats)
    assert "XML handoff adoption: 33.33% (1 / 3)" in page
    assert "| Failure rate of replies | 50.0% (1 / 2) |" in page
    assert "| goop_report/unknown-status | 1 |" in page


def test_a_gate_that_is_not_in_use_is_not_spoken_of(store: Store) -> None:
    heard(store, BAD_STATUS, GOOD)
    page = stats_page(project_stats(store))
    assert page.startswith("## 🔮 GoopSpec · Statistics\n\n| Metric | Value |\n")
    assert page.splitlines()[4].startswith("| Failure rate of replies |")
    assert not any(word in page for word in ("adoption", "Adoption", "gate"))


@requirement("H-56")
@pytest.mark.parametrize(("refused", "flagged"), [(1, False), (2, True)])
def test_more_than_a_tenth_of_refused_prompts_is_flagged(
    store: Store, refused: int, flagged: bool
) -> None:
    stats = judged(store, *[replace(GATED, result="rejected")] * refused, *[GATED] * (10 - refused))
    assert stats.to_dict()["adoption"]["too_many_refused"] is flagged
    assert ("more than 10%" in stats_page(stats)) is flagged


def test_a_refused_prompt_counts_for_the_agent_that_it_is_for(store: Store) -> None:
    answer = gate(REFUSED, "prompt.md")
    count_gate(store, answer)
    assert not answer.proceed
    assert project_stats(store).statistics.prompts.refused == 1


def test_retries_are_counted_by_attempt_and_reason(store: Store) -> None:
    heard(store, GOOD)
    heard(store, BAD_STATUS, GOOD)
    heard(store, PROSE, BAD_STATUS, GOOD, policy=RetryPolicy(max_attempts=3))
    heard(store, BAD_STATUS, BAD_STATUS)
    retries = project_stats(store).retries
    assert (retries.calls, retries.attempts) == (4, 8)
    assert (retries.at_first, retries.at_second, retries.later, retries.at_last) == (1, 1, 1, 1)
    assert retries.stopped_because == {"accepted": 3, "no_progress": 1}
    page = stats_page(project_stats(store))
    assert "| all | 4, 2.00 attempts a call |" in page
    assert "| ended: the same reply or the same errors came again | 25.0% (1) |" in page


def test_an_unknown_result_is_never_counted_as_a_success(store: Store) -> None:
    unknown = [
        replace(ATTEMPT, number=1, result="failed", rules=(), ended=None),
        replace(ATTEMPT, number=2, result="cancelled", rules=(), ended="unknown"),
    ]
    store.write(lambda writing: writing.add_attempts(unknown))
    values = project_stats(store).to_dict()
    assert values["replies"] == {
        "judged": 0,
        "accepted": 0,
        "rejected": 0,
        "unknown": 2,
        "failure_rate": None,
    }
    assert values["retries"]["accepted_at_first_rate"] == 0.0
    page = stats_page(project_stats(store))
    assert "| Failure rate of replies | – (0 / 0) |" in page
    assert "| goop-executor | 0 | – | 2 | 1 | 0.0% |" in page


def test_agents_and_weeks_have_rows_of_their_own(store: Store) -> None:
    stats = judged(
        store,
        JUDGEMENT,
        replace(
            JUDGEMENT,
            agent=None,
            result="accepted",
            rules=(),
            created_at="2026-01-20T08:00:00.000Z",
        ),
        replace(GATED, created_at="2026-01-20T08:00:00.000Z"),
    )
    assert [(row.name, row.replies.rejected, row.prompts.prompts) for row in stats.agents] == [
        ("goop-executor", 1, 1),
        (None, 0, 0),
    ]
    assert [(row.name, row.replies.accepted) for row in stats.weeks] == [
        ("2026-W03", 0),
        ("2026-W04", 1),
    ]
    assert "| (not named) | – | 1 | 0.0% | 0 | 0 | – |" in stats_page(stats)


def test_the_last_weeks_begin_on_a_monday() -> None:
    assert start_of_week(weeks=1, clock=lambda: WEEK_3) == datetime(2026, 1, 12, tzinfo=UTC)
    assert start_of_week(weeks=3, clock=lambda: WEEK_3) == datetime(2025, 12, 29, tzinfo=UTC)


def test_a_project_without_records_explains_how_to_record(store: Store) -> None:
    stats = project_stats(store)
    page = stats_page(stats)
    assert stats.is_empty
    assert "Nothing is recorded yet." in page
    assert "goop-mcp gate --record" in page
    assert not store.exists()


def test_where_the_restriction_leaves_nothing_it_is_named(store: Store) -> None:
    judged(store, JUDGEMENT)
    page = stats_page(
        project_stats(store, since=datetime(2027, 1, 1, tzinfo=UTC), agent="goop-planner")
    )
    assert "Nothing is recorded since 2027-01-01T00:00:00.000Z of goop-planner." in page


def test_an_invented_agent_name_neither_breaks_the_table_nor_shows_a_secret(
    store: Store,
) -> None:
    secret = "ghp_" + "a1B2" * 9
    stats = judged(store, replace(JUDGEMENT, agent=f"x | y\n\x1b[31m# z {secret}"))
    page = stats_page(stats)
    assert secret not in page
    assert secret not in str(stats.to_dict())
    assert "| x \\| y [31m# z [REDACTED] |" in page


def test_every_message_follows_the_visual_style(store: Store) -> None:
    heard(store, BAD_STATUS, GOOD)
    judged(store, *[GATED] * 3, replace(GATED, result="rejected"))
    for page in (
        stats_page(project_stats(store)),
        stats_page(project_stats(store, agent="nobody")),
    ):
        for message in page.split("\n---\n")[:-1]:
            assert check_message(f"{message.strip()}\n\n---") == ()


def test_recorded_and_rejected_reports_are_counted_in_a_project(tmp_path: Path) -> None:
    copied("profile_0x", tmp_path)
    with working_in(tmp_path) as project_context:
        assert record(project_context, BAD_STATUS).status == "rejected"
        first = record(project_context, report(phase="execute"))
        assert first.status == "recorded"
        assert record(project_context, report(phase="execute")).status == "duplicate"
        assert (
            record(project_context, BAD_STATUS, expected_agent="goop-planner").status == "rejected"
        )
        values = project_stats(project_context.store).to_dict()

    assert (values["replies"]["accepted"], values["replies"]["rejected"]) == (1, 2)
    assert values["reports"] == {"COMPLETE": 1}
    assert "goop_report/unknown-status" in {error["rule"] for error in values["errors"]}

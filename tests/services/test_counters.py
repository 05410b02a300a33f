"""The server counts for each task what the router needs; callers carry nothing."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from goop_mcp.routing import RoutingContext
from goop_mcp.services.open_questions import open_questions
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.record_report import RecordedReport
from goop_mcp.services.route_reply import route_reply
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.validation.safe_json import JsonValue
from tests.repository import ROOT
from tests.requirements import requirement
from tests.services.reporting import NOW, record, report, working_in

SPECKIT = ROOT / "tests" / "cases" / "speckit"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ProjectContext]:
    """Return a GoopSpec project without reports."""
    (tmp_path / ".goopspec").mkdir()
    with working_in(tmp_path) as project_context:
        yield project_context


def rules(*recorded: RecordedReport) -> list[str]:
    return [each.decision.rule for each in recorded]


def partial(number: int, task: str = "W2.T1", **parts: str) -> str:
    return report(task, "PARTIAL", summary=f"Part {number} of {task}.", **parts)


def lie(number: int) -> str:
    """Return a report of a file that does not exist, another one each time."""
    file = f'<files><file path="src/ghost{number}.py" action="created">x</file></files>'
    return report().replace("<files/>", file)


@requirement("G-55", "P-11")
def test_six_partials_in_a_row_end_with_a_question_to_the_user(project: ProjectContext) -> None:
    recorded = [record(project, partial(number)) for number in range(6)]

    assert rules(*recorded) == ["G7"] * 3 + ["G7c"] * 3
    assert recorded[-1].decision.blockers == (
        "no progress on task W2.T1: PARTIAL 6 times in a row",
    )
    assert all(each.status == "recorded" for each in recorded)


def test_partials_are_counted_for_each_task_in_whatever_spelling(project: ProjectContext) -> None:
    tasks = ["W2.T1", "W2.T2", "Task 2.1", "2.1"]
    for number, task in enumerate(tasks):
        assert record(project, partial(number, task)).decision.rule == "G7"

    assert record(project, partial(5, "W2.T2")).decision.rule == "G7"
    assert record(project, partial(6, "w2.t1")).decision.rule == "G7c"


def test_a_report_of_progress_ends_the_count(project: ProjectContext) -> None:
    for number in range(3):
        record(project, partial(number))

    assert record(project, report()).decision.rule == "G6"
    assert rules(*(record(project, partial(number)) for number in (7, 8, 9))) == ["G7"] * 3


@requirement("F-15")
def test_a_second_false_claim_about_a_task_is_for_the_user(project: ProjectContext) -> None:
    assert rules(record(project, lie(1)), record(project, lie(1))) == ["R4", "R4b"]
    assert record(project, lie(2)).decision.rule == "R4b"

    assert record(project, report()).status == "recorded"
    assert record(project, lie(3)).decision.rule == "R4"


@requirement("G-36", "S-09")
def test_the_same_rejection_again_is_for_the_user(project: ProjectContext) -> None:
    wrong = report(status="FINISHED")
    first, second = record(project, wrong), record(project, wrong)

    assert rules(first, second) == ["R2", "R3"]
    assert first.decision.state_changes["counters"] == {"repair_rounds": 1}
    assert second.status == "rejected"


def test_another_error_is_progress_until_the_rounds_are_used_up(project: ProjectContext) -> None:
    replies = [report(status=word) for word in ("FINISHED", "DONE", "READY")]
    assert rules(*(record(project, each) for each in replies)) == ["R2", "R2", "R3"]


def test_a_reply_without_an_envelope_is_counted_for_its_agent(project: ProjectContext) -> None:
    def reply(text: str, agent: str) -> str:
        return record(project, text, expected_agent=agent).decision.rule

    assert reply("I did it.", "goop-executor") == "R2"
    assert reply("I did it.", "goop-mcp:goop-tester") == "R2"
    assert reply("I did it, really.", "goop-executor") == "R3"
    assert reply("Nothing.", "goop-tester") == "R3"

    assert reply(report(), "goop-executor") == "G6"
    assert reply("I did it.", "goop-executor") == "R2"
    assert reply("I did it.", "goop-tester") == "R3"


def test_a_caller_that_counts_more_is_believed_and_one_that_counts_less_is_not(
    project: ProjectContext,
) -> None:
    assert record(project, partial(1), counters={"partials": 3}).decision.rule == "G7c"
    assert record(project, partial(2), counters={"partials": 0}).decision.rule == "G7c"
    # What the caller counted for another task says nothing about this one.
    other = record(project, partial(3, "W2.T2"), counters={"partials": 3}, task_id="W2.T1")
    assert other.decision.rule == "G7"


def test_warnings_that_a_policy_refuses_stay_refused_when_they_come_again(
    project: ProjectContext,
) -> None:
    warned = report().replace("</goop_report>", "</goop_report>\n\nBye.")
    strict = {"fail_on_warning": True}
    found = [record(project, warned, policy=strict) for _ in range(2)]

    assert rules(*found) == ["R2", "R3"]
    assert [each.status for each in found] == ["rejected", "rejected"]


def test_a_duplicate_is_not_counted(project: ProjectContext) -> None:
    for _ in range(5):
        assert record(project, partial(1)).decision.rule == "G7"
    assert rules(record(project, partial(2)), record(project, partial(3))) == ["G7", "G7"]

    # The same report again is decided as before.
    again = [record(project, each) for each in (partial(3), partial(4), partial(4), partial(1))]
    assert rules(*again) == ["G7", "G7c", "G7c", "G7"]
    assert [each.status for each in again] == ["duplicate", "recorded", "duplicate", "duplicate"]


def test_feedback_iterations_are_counted_for_the_agent_that_gives_it(
    project: ProjectContext,
) -> None:
    error = json.loads((SPECKIT / "concrete_error_quality_gate.json").read_text(encoding="utf-8"))
    found = []
    for number in range(3):
        error["execution_time_ms"] = number
        found.append(record(project, json.dumps(error)).decision)

    assert [each.rule for each in found] == ["S4", "S4", "S4b"], found[0].reason
    assert found[1].state_changes == {"iteration": 2}


def test_the_next_round_begins_with_no_counters(project: ProjectContext) -> None:
    for number in range(3):
        record(project, partial(number))

    def next_round(writing: WriteTransaction) -> None:
        writing.close_round(outcome="accept", closed_at=NOW, plan_sha256="0" * 64)
        writing.open_round(name=None, opened_at=NOW)

    project.store.write(next_round)

    assert record(project, partial(9)).decision.rule == "G7"


def test_a_rejected_reply_is_judged_although_it_cannot_be_counted(
    project: ProjectContext,
) -> None:
    (project.files.root / ".goopspec" / "goop.db").write_text("no database", encoding="utf-8")
    recorded = [record(project, report(status="FINISHED")) for _ in range(2)]

    assert rules(*recorded) == ["R2", "R2"]
    assert recorded[0].verdict.feedback


def test_rejected_replies_create_no_database_where_there_is_no_project(tmp_path: Path) -> None:
    with working_in(tmp_path) as nothing:
        assert rules(*(record(nothing, "I did it.") for _ in range(2))) == ["R2", "R2"]

    assert list(tmp_path.iterdir()) == []


def test_one_small_row_is_kept_for_a_task_however_many_reports_there_are(
    project: ProjectContext,
) -> None:
    for number in range(20):
        record(project, partial(number))
        record(project, report(status=f"WORD{number}"))

    with sqlite3.connect(project.files.root / ".goopspec" / "goop.db") as database:
        rows = database.execute("SELECT task, json FROM counters").fetchall()

    # One of the round holds what was asked.
    assert [task for task, _ in sorted(rows)] == ["", "W2.T1"]
    assert all(len(values) < 1_000 for _, values in rows)


def test_values_that_somebody_changed_in_the_database_are_read_as_none(
    project: ProjectContext,
) -> None:
    record(project, partial(1))
    odd: dict[str, JsonValue] = {
        "counters": {"partials": "many", "repair_rounds": -1, "x": 1},
        "last": [],
        "attempt": {},
    }
    project.store.write(lambda writing: writing.set_counters(round=1, task="W2.T1", values=odd))

    assert record(project, partial(2)).decision.rule == "G7"


@requirement("F-15")
def test_secrets_in_names_are_not_stored(project: ProjectContext) -> None:
    secret = "sk-ant-" + "api03-" + "A1b2" * 12
    record(project, report(secret, "PARTIAL"))

    assert secret not in (project.files.root / ".goopspec" / "goop.db").read_bytes().decode(
        "latin-1"
    )


def test_the_command_counts_as_record_report_does_and_no_reply_twice(
    project: ProjectContext,
) -> None:
    root = project.files.root

    def routed(text: str) -> str:
        return route_reply(text, RoutingContext(), home=root, counters=project).rule

    assert routed(report(status="FINISHED")) == "R2"
    assert not project.store.exists()

    assert [routed(partial(1)), record(project, partial(1)).decision.rule] == ["G7", "G7"]
    assert [routed(partial(2)), record(project, partial(2)).decision.rule] == ["G7", "G7"]
    assert [record(project, partial(3)).decision.rule, routed(partial(3))] == ["G7", "G7"]
    assert [routed(partial(4)), record(project, partial(4)).decision.rule] == ["G7c", "G7c"]


def test_of_many_long_questions_the_newest_are_kept(project: ProjectContext) -> None:
    for number in range(1, 61):
        task = f"W9.T{number}"
        recorded = record(project, report(task, "BLOCKED", blockers="\u5b57" * 5_000))
        assert recorded.status == "recorded"

    kept = project.store.read(open_questions)
    assert 5 < len(kept) <= 50
    assert kept[-1].key == "W9.T60"
    assert all(len(each.text) <= 600 for each in kept)

"""Recorded reports are read again, and one that was recorded by mistake is withdrawn."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from goop_mcp.context import AppContext
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.project_snapshot import take_snapshot
from goop_mcp.services.recorded_reports import (
    MOST_LISTED,
    ReportArgumentError,
    ReportNotFoundError,
    Withdrawal,
    list_reports,
    require_present,
    show_report,
    withdraw_report,
)
from goop_mcp.services.report_pages import report_list_page, report_page
from goop_mcp.services.session_handoff import build_session_handoff, session_fields
from goop_mcp.settings import DatabaseUrl, Settings
from tests.postgres import Database
from tests.services.reporting import NOW, record, report, working_in
from tests.services.test_record_report import PLAN, with_state
from tests.workspace.projects import copied

TIGER = "tiger-4711-xyz-tiger-4711"
LATER = "2026-01-20T09:00:00.000Z"


@pytest.fixture(params=["sqlite", "postgresql"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ProjectContext]:
    """Work in a whole project, in both databases."""
    copied("profile_0x", tmp_path)
    settings = Settings(project=tmp_path)
    if request.param == "postgresql":
        database: Database = request.getfixturevalue("database")
        settings = replace(settings, database=DatabaseUrl(database.url()), project_id="shop")

    with AppContext(settings) as application:
        yield application.writing_context()


def withdraw(project: ProjectContext, id: int, reason: str = "It was another task.") -> Withdrawal:
    return withdraw_report(project, id, reason=reason, by="terminal ann", now=LATER)


def document(project: ProjectContext, name: str) -> str:
    text = project.store.read(
        lambda reading: take_snapshot(project).text_of_document(project, reading, name)
    )
    assert text is not None
    return text


def test_reports_are_listed_newest_first_in_bounded_pages(project: ProjectContext) -> None:
    empty = list_reports(project.store)
    assert (empty.reports, empty.round, empty.has_more) == ((), 1, False)
    for number in range(45):
        record(project, report(summary=f"Step {number} is done."))

    first = list_reports(project.store)
    assert [each.report for each in first.reports] == [*range(45, 25, -1)]
    assert first.has_more
    rest = list_reports(project.store, before=26, limit=MOST_LISTED)
    assert [each.report for each in rest.reports] == [*range(25, 0, -1)]
    assert not rest.has_more
    newest = first.reports[0]
    assert (newest.agent, newest.task, newest.status) == ("goop-executor", "W2.T1", "COMPLETE")
    assert newest.summary == "Step 44 is done."
    assert newest.counts


@pytest.mark.parametrize(
    "wanted", [{"limit": 0}, {"limit": MOST_LISTED + 1}, {"round": 2}, {"round": 0}, {"before": 0}]
)
def test_what_cannot_be_listed_is_refused(tmp_path: Path, wanted: dict[str, int]) -> None:
    with working_in(tmp_path) as project, pytest.raises(ReportArgumentError, match="expected"):
        list_reports(project.store, **wanted)


def test_a_report_is_shown_with_verdict_decision_and_the_documents_it_touched(
    project: ProjectContext,
) -> None:
    recorded = record(project, report("W2.T2", summary=f"Done. api_key={TIGER}"))
    record(project, report("W2.T3"))

    assert recorded.written.report is not None
    shown = show_report(project.store, recorded.written.report)
    assert shown.about.revision == recorded.written.revision
    assert shown.envelope["task_id"] == "W2.T2"
    assert shown.verdict["verdict"] == "accepted"
    assert shown.decision["rule"] == recorded.decision.rule
    assert shown.documents[0] == "CHRONICLE.md"
    pages = [json.dumps(shown.to_dict()), report_page(shown)]
    pages += [report_list_page(list_reports(project.store))]
    assert all(TIGER not in page for page in pages)
    assert "[REDACTED]" in pages[0]
    assert "[REDACTED]" in pages[1]


@pytest.mark.parametrize("id", [0, -1, 2, 2**63, 10**30])
def test_a_report_that_does_not_exist_is_named(project: ProjectContext, id: int) -> None:
    record(project, report())
    with pytest.raises(ReportNotFoundError, match=f"there is no report {id}; "):
        show_report(project.store, id)
    with pytest.raises(ReportNotFoundError):
        withdraw(project, id)


def test_texts_of_agents_end_no_section_of_a_page(project: ProjectContext) -> None:
    record(project, report(summary="```\n# FORGED\n| a | b |\n<!-- x -->"))
    page = report_page(show_report(project.store, 1)) + report_list_page(
        list_reports(project.store)
    )
    assert not [each for each in page.splitlines() if each.lstrip().startswith(("# F", "| a"))]


def test_after_a_withdrawal_tasks_gates_and_state_block_are_as_before(
    project: ProjectContext,
) -> None:
    record(project, report("W2.T2"))
    before, block = take_snapshot(project), document(project, "CHRONICLE.md")
    record(project, report("W2.T3", status="BLOCKED"))
    assert take_snapshot(project).records != before.records

    done = withdraw(project, 2)
    assert done.status == "withdrawn"
    after = take_snapshot(project)
    assert (after.records.standings, after.records.blockers) == (
        before.records.standings,
        before.records.blockers,
    )
    assert after.facts == before.facts
    assert [each.rule for each in after.drift] == [each.rule for each in before.drift]

    chronicle, log = document(project, "CHRONICLE.md"), document(project, "ADL.md")

    def shown_block(text: str) -> list[str]:
        lines = text.splitlines()
        begin = next(n for n, each in enumerate(lines) if each.startswith("<!-- goop:state "))
        end = next(n for n, each in enumerate(lines) if each.startswith("<!-- goop:end-state "))
        return lines[begin + 1 : end]

    assert shown_block(chronicle) == shown_block(block)
    assert "withdrew report 2 of goop-executor on W2.T3 (BLOCKED)" in chronicle
    assert "Withdrawn: report 2 of goop-executor on W2.T3 (BLOCKED). It was another task." in log
    assert "Done by terminal ann." in log

    listed = list_reports(project.store).reports
    assert [(each.report, each.retired, each.counts) for each in listed] == [
        (2, "withdrawn", False),
        (1, None, True),
    ]
    shown = report_page(show_report(project.store, 2))
    assert "no: it was withdrawn" in shown
    assert f"{LATER} by terminal ann: It was another task." in shown
    assert "Withdrawn" not in report_page(show_report(project.store, 1))


def test_a_second_withdrawal_changes_nothing(project: ProjectContext) -> None:
    record(project, report())
    withdraw(project, 1)
    revision = project.store.read(lambda reading: reading.revision())

    again = withdraw(project, 1)
    assert (again.status, again.revision, again.files) == ("unchanged", None, ())
    assert "it was withdrawn" in again.message
    assert project.store.read(lambda reading: reading.revision()) == revision


def test_a_withdrawn_reply_can_be_recorded_again(project: ProjectContext) -> None:
    record(project, report())
    withdraw(project, 1)
    again = record(project, report())
    assert (again.status, again.written.report) == ("recorded", 2)
    assert [each.counts for each in list_reports(project.store).reports] == [True, False]


def test_only_what_counts_in_this_round_is_recorded_by_its_number(project: ProjectContext) -> None:
    record(project, report())
    record(project, report("W2.T3"))
    require_present(project.store, 1)

    withdraw(project, 2)
    with pytest.raises(ReportArgumentError, match=r"report 2 does not count: it was withdrawn;"):
        require_present(project.store, 2)

    project.store.write(
        lambda writing: writing.close_round(outcome="accept", closed_at=NOW, plan_sha256=None)
    )
    require_present(project.store, 1)
    project.store.write(lambda writing: writing.open_round(name=None, opened_at=NOW))
    with pytest.raises(ReportArgumentError, match=r"report 1 belongs to round 1, and round 2 has"):
        require_present(project.store, 1)
    with pytest.raises(ReportNotFoundError):
        require_present(project.store, 9)


def test_reports_of_a_closed_round_are_kept_listed_and_not_withdrawn(
    project: ProjectContext,
) -> None:
    record(project, report())
    project.store.write(
        lambda writing: writing.close_round(outcome="accept", closed_at=NOW, plan_sha256=None)
    )
    record(project, report("W2.T3"))
    assert [each.late for each in list_reports(project.store).reports] == [True, False]
    assert "no: its round was closed before" in report_list_page(list_reports(project.store))

    refused = withdraw(project, 1)
    assert (refused.status, refused.command) == ("refused", "goop-mcp project round --reopen")
    assert "which is closed: open it again first" in refused.message

    project.store.write(lambda writing: writing.open_round(name=None, opened_at=NOW))
    assert list_reports(project.store).reports == ()
    assert len(list_reports(project.store, round=1).reports) == 2
    refused = withdraw(project, 1)
    assert (refused.status, refused.command) == ("refused", None)
    assert "record what is true now in round 2" in refused.message
    assert show_report(project.store, 1).about.counts


def test_a_phase_that_the_report_moved_stays_and_the_way_back_is_named(tmp_path: Path) -> None:
    with_state(tmp_path, phase="execute", totalWaves=1)
    (tmp_path / ".goopspec" / "BLUEPRINT.md").write_text(PLAN, encoding="utf-8")
    with working_in(tmp_path) as project:
        record(project, report("W1.T2", wave="1"))
        record(project, report("W1.T1", wave="1"))
        assert show_report(project.store, 2).moved == "execute → accept"
        done = withdraw(project, 2)

    assert "`goop-mcp project phase execute` goes back" in done.message


@pytest.mark.parametrize("reason", ["", " \n\t"])
def test_a_withdrawal_needs_a_reason(project: ProjectContext, reason: str) -> None:
    record(project, report())
    with pytest.raises(ReportArgumentError, match="the reason is empty"):
        withdraw(project, 1, reason)
    assert show_report(project.store, 1).about.counts


def test_a_reason_is_bounded_and_without_secrets(project: ProjectContext) -> None:
    record(project, report())
    withdraw(project, 1, f"api_key={TIGER}\n## FORGED " + "x" * 5000)
    log = document(project, "ADL.md")
    assert TIGER not in log + document(project, "CHRONICLE.md")
    assert "\n## FORGED" not in log
    assert "x" * 600 not in log


def test_a_withdrawn_report_is_not_counted_any_more(project: ProjectContext) -> None:
    def partial(number: int) -> str:
        return report("W2.T2", status="PARTIAL", summary=f"Step {number} of it is done.")

    def rule(number: int) -> str:
        return record(project, partial(number)).decision.rule

    assert [rule(1), rule(2), rule(3)] == ["G7", "G7", "G7"]
    withdraw(project, 3)
    assert [rule(3), rule(4)] == ["G7", "G7c"]

    # Later replies have changed the counters, so that they stay.
    withdraw(project, 1)
    assert rule(5) == "G7c"


def test_the_next_handoff_says_nothing_of_a_withdrawn_report(project: ProjectContext) -> None:
    def handoff(*, write: bool) -> str:
        fields = session_fields({})
        return build_session_handoff(fields, project, write=write, now=NOW).text

    record(project, report("W2.T2", summary="The table is sorted."))
    blocked = report("W2.T3", status="BLOCKED", blockers="Nobody chose a colour")
    record(project, blocked)
    written = handoff(write=True)
    assert "Nobody chose a colour" in written

    withdraw(project, 2)
    for text in (handoff(write=False), handoff(write=True)):
        assert "Nobody chose a colour" not in text
        assert "The table is sorted." in text

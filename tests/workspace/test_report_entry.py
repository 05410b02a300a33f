"""A report leaves an entry in the diary that says what it did and where."""

from goop_mcp import validate
from goop_mcp.protocols.goop_report.model import Report
from goop_mcp.workspace.documents.entries import chronicle_text
from goop_mcp.workspace.report_entry import entry_of_report
from tests.repository import ROOT
from tests.requirements import requirement
from tests.workspace.projects import NOW

CASES = ROOT / "tests" / "cases" / "goop_report"


@requirement("G-49")
def test_the_entry_of_a_report_holds_files_commits_phase_wave_and_task() -> None:
    report = validate((CASES / "016_executor_complete.xml").read_text(encoding="utf-8")).envelope
    assert isinstance(report, Report)

    lines = chronicle_text(entry_of_report(report, time=NOW)).split("\n")

    touched = ["`src/auth/service.ts`", "`src/auth/middleware.ts`", "`src/auth/types.ts`"]
    assert lines == [
        f"### {NOW} · goop-executor",
        "",
        "- **Position:** Phase execute · Wave 2/3 · Task 3/4",
        "- **Action:** W2.T3 Implement user authentication: COMPLETE",
        "- **Outcome:** Implemented JWT-based authentication with login/logout endpoints and middleware.",
        f"- **Files:** {', '.join(f'{path} (created)' for path in touched)}",
        "- **Commit:** `a1b2c3d` feat(auth): implement JWT authentication service",
    ]


def test_a_report_that_says_little_leaves_a_short_entry() -> None:
    entry = entry_of_report(Report(version=None, status=None, agent=None), time=NOW)

    assert chronicle_text(entry) == (
        f"### {NOW} · an agent\n\n- **Action:** a task: no status\n- **Outcome:** no summary"
    )

"""Projects that reports are recorded in, and the reports."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from goop_mcp.context import AppContext
from goop_mcp.routing import RoutingContext
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.record_report import RecordedReport, record_report
from goop_mcp.settings import Settings

NOW = "2026-01-20T08:00:00.000Z"

_REPORT = """\
<goop_report version="0.1.6">
  <status>{status}</status>
  <agent>goop-executor</agent>
  <task_id>{task}</task_id>
  <state><phase>{phase}</phase><wave current="{wave}" total="3"/>
    <task current="1" total="2"/></state>
  <summary>{summary}</summary>
  <artifacts><files/><commits/></artifacts>
  <memory/>
  <verification><check name="tests" passed="{passed}">{evidence}</check></verification>
  <handoff>
    <ready>true</ready>
    <next_action agent="goop-executor">{next}</next_action>
    <blockers>{blockers}</blockers>
    <suggest_new_session>{new_session}</suggest_new_session>
    <next_command>/goop-execute</next_command>
  </handoff>
</goop_report>
"""


def report(task: str = "W2.T1", status: str = "COMPLETE", **parts: str) -> str:
    """Return a report that claims no files, commits or memories."""
    usual = {
        "phase": "execute",
        "wave": "2",
        "summary": f"{task} went on.",
        "passed": "true",
        "evidence": "ran",
        "next": "Go on with the plan",
        "blockers": "Nobody decided" if status == "BLOCKED" else "None",
        "new_session": "false",
    }
    return _REPORT.format(**(usual | {"task": task, "status": status} | parts))


def untrue() -> str:
    """Return a report that claims a file which is not there; sent twice, a person is asked."""
    file = '<files><file path="gone.py" action="created">Written</file></files>'
    return report().replace("<files/>", file)


@contextmanager
def working_in(folder: Path) -> Iterator[ProjectContext]:
    """Work in the project in `folder`, with its own database."""
    with AppContext(Settings(project=folder)) as application:
        yield application.writing_context()


def record(
    project_context: ProjectContext, text: str, *, now: str = NOW, **context: object
) -> RecordedReport:
    """Record a report and verify its claims in the project."""
    return record_report(text, RoutingContext.from_dict(context), project_context, now=now)

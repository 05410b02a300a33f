"""A verdict as a task of A2A 1.0: state, artifacts, metadata. One direction only."""

from typing import Any

from goop_mcp.routing.adapters import ADAPTERS, protocol_of
from goop_mcp.routing.task_states import verdict_state
from goop_mcp.routing.views import ReportView
from goop_mcp.validation.verdict import Verdict

__all__ = ["EXTENSION_URI", "a2a_task"]

EXTENSION_URI = "urn:goop-mcp:envelope:1"
"""The key in the metadata under which everything stands that only our protocols know."""


def a2a_task(
    verdict: Verdict,
    *,
    repair_left: bool = True,
    needs_credentials: bool = False,
    cancelled: bool = False,
) -> dict[str, Any]:
    """Return `status`, `artifacts` and `metadata` of the A2A task that ended with `verdict`.

    The values are JSON values, the arguments those of verdict_state(). The caller adds ids and
    times. The metadata hold the whole envelope, so that nothing is lost, and `workflow_state` where
    the state of the whole work differs from that of the task.
    """
    state = verdict_state(
        verdict, repair_left=repair_left, needs_credentials=needs_credentials, cancelled=cancelled
    )
    adapter = ADAPTERS.get(protocol_of(verdict) or "")
    view = adapter.read(verdict) if adapter and verdict.accepted else None
    report = view if isinstance(view, ReportView) else None
    details = {
        **(_details(report) if report else {}),
        "workflow_state": state.workflow and state.workflow.value,
    }
    envelope = verdict.envelope.to_dict() if verdict.envelope else None
    ours = {name: value for name, value in {**details, "envelope": envelope}.items() if value}

    parts: list[dict[str, Any]] = [{"text": state.message}] if state.message else []
    parts += [{"data": dict(part)} for part in state.parts]
    message = {"message": {"role": "ROLE_AGENT", "parts": parts}} if parts else {}

    # A2A has no list of changed files: each file and each commit becomes an artifact.
    artifacts: list[dict[str, Any]] = []
    if report is not None:
        artifacts = [
            {
                "name": file.path,
                "description": file.note,
                "parts": [{"url": file.path}],
                "metadata": {"action": file.action},
            }
            for file in report.files
        ]
        artifacts += [
            {
                "name": f"commit {commit.sha or '?'}",
                "description": commit.message,
                "parts": [{"text": commit.message}],
                "metadata": {"sha": commit.sha},
            }
            for commit in report.commits
        ]

    return {
        "status": {"state": state.state.value, **message},
        "artifacts": artifacts,
        "metadata": {**state.metadata, **({EXTENSION_URI: ours} if ours else {})},
    }


def _details(report: ReportView) -> dict[str, Any]:
    """Return what A2A has no word for; what the reply does not say is empty."""
    step = report.next[0] if report.next else None
    return {
        "memory": [
            {"type": each.type, "importance": each.importance, "title": each.title}
            for each in report.memories
        ],
        "verification": [
            {"name": each.name, "passed": each.passed, "evidence": each.evidence}
            for each in report.checks
        ],
        "confidence": report.confidence,
        "next_action": {"agent": step.agent, "text": step.text} if step else None,
    }

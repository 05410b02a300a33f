"""`<goop_report>` in the common model."""

from collections.abc import Sequence

from goop_mcp.protocols.goop_report.model import Check, Counter, Report, State, Status
from goop_mcp.routing.adapters.adapter import Adapter, OutcomeRow, first_outcome
from goop_mcp.routing.views import (
    CheckView,
    CommitView,
    FileView,
    MemoryView,
    NextStep,
    OutcomeKind,
    PositionView,
    ReportView,
)
from goop_mcp.validation.check_texts import shows_no_result
from goop_mcp.validation.findings import Severity
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workflow.task_ids import normal_task_id

__all__ = ["ADAPTER"]

_CONTRADICTED = "goop_report/complete-with-failed-check"
"""The only error that is routed by content: the report is well formed, the work failed (D-26)."""

_NO_STATE = State(phase=None)


def _checks(report: Report) -> Sequence[Check]:
    return report.verification or ()


def _is_without_result(check: Check) -> bool:
    return check.passed is True and shows_no_result(check.evidence)


OUTCOMES = (
    OutcomeRow(
        "COMPLETE with a failed check",
        lambda report: (
            report.status is Status.COMPLETE
            and any(check.passed is False for check in _checks(report))
        ),
        OutcomeKind.GATE_FAILED,
    ),
    OutcomeRow(
        "COMPLETE with a passed check that shows no result",
        lambda report: (
            report.status is Status.COMPLETE and any(map(_is_without_result, _checks(report)))
        ),
        OutcomeKind.WITHOUT_RESULT,
    ),
    OutcomeRow("COMPLETE", lambda report: report.status is Status.COMPLETE, OutcomeKind.DONE),
    OutcomeRow("PARTIAL", lambda report: report.status is Status.PARTIAL, OutcomeKind.PARTIAL),
    OutcomeRow("BLOCKED", lambda report: report.status is Status.BLOCKED, OutcomeKind.BLOCKED),
    OutcomeRow(
        "CHECKPOINT", lambda report: report.status is Status.CHECKPOINT, OutcomeKind.CHECKPOINT
    ),
)


def _asks_for_repair(verdict: Verdict) -> bool:
    errors = {finding.rule for finding in verdict.findings if finding.severity is Severity.ERROR}
    # Next to another error, or where findings were left out, the envelope itself may be wrong: then
    # the agent sends it again.
    return errors != {_CONTRADICTED} or bool(verdict.omitted)


def _read(verdict: Verdict) -> ReportView:
    report = verdict.envelope
    if not isinstance(report, Report):
        return ReportView(outcome=OutcomeKind.INVALID)

    rejected = not verdict.accepted and _asks_for_repair(verdict)
    outcome = OutcomeKind.INVALID if rejected or report.partial else first_outcome(OUTCOMES, report)
    state, handoff, artifacts = report.state or _NO_STATE, report.handoff, report.artifacts
    action = handoff.next_action if handoff else None
    return ReportView(
        outcome=outcome,
        native_status=report.status.value if report.status else None,
        agent=report.agent,
        task_id=normal_task_id(report.task_id) if report.task_id else None,
        task_name=report.task_name,
        phase=state.phase.value if state.phase else None,
        wave=_position(state.wave),
        task=_position(state.task),
        spec_locked=state.spec_locked,
        summary=report.summary,
        files=(
            tuple(
                [
                    FileView(each.path, each.action, each.description)
                    for each in artifacts.files
                    if each.path
                ]
            )
            if artifacts
            else ()
        ),
        commits=(
            tuple([CommitView(each.sha, each.message) for each in artifacts.commits])
            if artifacts
            else ()
        ),
        checks=tuple(map(_check, _checks(report))),
        checks_without_result=tuple(
            [_check(each) for each in _checks(report) if _is_without_result(each)]
        ),
        memories=tuple(
            [MemoryView(each.type, each.importance, each.title) for each in report.memory or ()]
        ),
        next=(NextStep(action.agent, action.text),) if action else (),
        next_command=handoff.next_command if handoff else None,
        new_session=handoff.suggest_new_session if handoff else None,
        files_to_read=handoff.files_to_read if handoff else (),
        blockers=handoff.blockers if handoff else None,
        ready=handoff.ready if handoff else None,
        extensions={each.name: each.content for each in report.extensions},
    )


def _check(check: Check) -> CheckView:
    return CheckView(check.name or "?", check.passed, check.evidence)


def _position(counter: Counter | None) -> PositionView | None:
    return None if counter is None else PositionView(counter.current, counter.total)


ADAPTER = Adapter(
    protocol="goop_report",
    outcomes=OUTCOMES,
    read=_read,
    asks_for_repair=_asks_for_repair,
    routed_by_content=frozenset({_CONTRADICTED}),
)

"""Issues, paths and next steps in the results of the speckit agents."""

from collections.abc import Iterator, Mapping
from typing import Any

from goop_mcp.routing.severities import known_severity, worst_first
from goop_mcp.routing.views import ErrorView, Issue, ReportView

__all__ = ["issues_of_error", "issues_of_result", "next_names", "number_of", "paths_of"]

_PATH_ENDINGS = ("_file", "_report", "_dir")
_ISSUE_LISTS = ("issues_to_fix", "issues", "findings")


def number_of(value: object) -> float:
    """Return `value` where it is a number, else 0."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def next_names(report: ReportView) -> tuple[str, ...]:
    """Return the agents of next_steps, in order."""
    return tuple([step.agent for step in report.next if step.agent])


def paths_of(report: ReportView, *names: str) -> tuple[str, ...]:
    """Return the paths in the result: those of the fields `names`, or of every path field."""
    return tuple(
        value
        for name, value in report.result.items()
        if isinstance(value, str)
        and value
        and (name in names or (not names and name.endswith(_PATH_ENDINGS)))
    )


def issues_of_result(result: Mapping[str, Any], agent: str) -> tuple[Issue, ...]:
    """Return what to fix after a failed gate, worst first; never empty."""
    # The most precise source first; the counts always give an issue, because an agent cannot act on
    # feedback without any.
    found = [*_listed(result.get("findings"))] or [*_gates(result)]
    compliance = result.get("constitution_compliance")
    if not found and isinstance(compliance, Mapping) and compliance.get("status") == "FAIL":
        message = f"constitution compliance is FAIL, rules broken: {compliance.get('failed')}"
        found = [Issue(severity="CRITICAL", type="constitution", message=message)]

    return worst_first(found or [_from_counts(result, agent)])


def issues_of_error(error: ErrorView) -> tuple[Issue, ...]:
    """Return what to fix after an error, worst first: its details, else its message."""
    listed = [issue for name in _ISSUE_LISTS for issue in _listed(error.details.get(name))]
    # An error without a list of issues is an issue itself: a feedback loop always has one to fix.
    from_message = Issue(
        severity="HIGH",
        type=error.code or error.type or "error",
        message=error.message or error.type or "an error without a message",
        fix=error.suggested_reason,
    )
    return worst_first(listed or [from_message])


def _listed(findings: object) -> Iterator[Issue]:
    for each in findings if isinstance(findings, list | tuple) else ():
        if isinstance(each, Mapping):
            yield Issue(
                severity=known_severity(_text(each.get("severity"))),
                type=_text(each.get("type")) or "finding",
                message=_text(each.get("message")) or "no message",
                location=_text(each.get("location")) or None,
                fix=_text(each.get("recommendation")) or None,
            )


def _gates(result: Mapping[str, Any]) -> Iterator[Issue]:
    """Yield the failed quality gates and criteria of the test agent."""
    gates = result.get("quality_gates")
    for name, gate in gates.items() if isinstance(gates, Mapping) else ():
        if isinstance(gate, Mapping) and gate.get("status") == "FAILED":
            details = gate.get("details")
            pairs = details.items() if isinstance(details, Mapping) else ()
            words = ", ".join(f"{key} {value}" for key, value in pairs)
            message = f"quality gate {name} FAILED" + (f": {words}" if words else "")
            yield Issue(
                severity="HIGH", type=str(name), message=message, fix=f"Make the gate {name} pass."
            )

    criteria = result.get("success_criteria")

    for each in criteria if isinstance(criteria, list | tuple) else ():
        if isinstance(each, Mapping) and each.get("status") == "FAILED":
            words = f"{_text(each.get('id'))} {_text(each.get('description'))}".strip()
            yield Issue(
                severity="HIGH", type="success_criteria", message=f"criterion FAILED: {words}"
            )


def _from_counts(result: Mapping[str, Any], agent: str) -> Issue:
    counts = result.get("findings_by_severity")
    critical = counts.get("CRITICAL") if isinstance(counts, Mapping) else None
    if critical:
        place = _text(result.get("analysis_report")) or "the analysis report"
        return Issue(
            severity="CRITICAL", type="finding", message=f"{critical} CRITICAL findings in {place}"
        )

    return Issue(
        severity="HIGH",
        type="gate",
        message=f"{agent} says {_text(result.get('overall_status')) or 'no'}",
    )


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""

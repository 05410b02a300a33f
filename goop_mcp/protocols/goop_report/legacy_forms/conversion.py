"""What all conversions share: the finding that names the form, and the rules that apply."""

from collections.abc import Iterable

from msgspec.structs import replace

from goop_mcp.protocols.goop_report.blockers import real_blocker
from goop_mcp.protocols.goop_report.model import Phase, Report, State, Status
from goop_mcp.protocols.goop_report.rules import MODEL_RULES
from goop_mcp.protocols.goop_report.rules.status import UNKNOWN_STATUS
from goop_mcp.protocols.goop_report.rules.structure import WRITTEN_VERSION
from goop_mcp.protocols.goop_report.rules.values import PLACEHOLDER_LEFT, SLOT_IN_TEXT
from goop_mcp.protocols.goop_report.writing import write_report
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.families import ParseResult
from goop_mcp.validation.findings import Severity, excerpt
from goop_mcp.validation.rules import Problem, Rule, run_checks
from goop_mcp.validation.template_phrases import GOOP_REPORT_PROSE
from goop_mcp.validation.template_text import template_text, value_kind
from goop_mcp.workflow.agents import may_report_as, plain_agent_name

__all__ = [
    "converted",
    "expected_agent",
    "expected_state",
    "reason_to_block",
    "template_left",
    "unknown_status",
]

_JUDGED = frozenset(
    {
        "goop_report/agent-mismatch",
        "goop_report/phase-mismatch",
        "goop_report/complete-with-blocker",
        "goop_report/complete-with-failed-check",
        "goop_report/summary-contradicts-status",
        "goop_report/text-contradicts-status",
        "goop_report/blocked-without-blocker",
        "goop_report/check-contradicts-itself",
    }
)
_RULES = tuple(rule for rule in MODEL_RULES if rule.id in _JUDGED)


def converted(
    report: Report,
    problems: list[Problem],
    rule: Rule,
    form: str,
    *,
    start: int,
    expected: Expectations,
) -> ParseResult:
    """Return the reading of a converted report; its first finding names the `form` (D-21).

    `start` is the offset of the form in the text read, from which the offsets of `problems` count.
    """
    named = rule.problem(
        f"the report has an older form, {form}; expected a <goop_report> envelope",
        offset=0,
        before=form,
        after="<goop_report>",
    )
    return ParseResult(
        start=start,
        problems=[named, *problems, *run_checks(_RULES, report, expected)],
        envelope=report,
        repaired=write_report(replace(report, version=WRITTEN_VERSION)).rstrip("\n"),
    )


def expected_agent(expected: Expectations) -> str | None:
    """Return the agent the caller invoked, for forms that cannot name one; None if unknown."""
    agent = plain_agent_name(expected.agent) if expected.agent else ""
    return agent if may_report_as(agent, expected.agents) else None


def expected_state(expected: Expectations) -> State | None:
    """Return the state with the phase the caller knows, for forms that cannot name one, or None."""
    phase = (expected.phase or "").strip().lower()
    # In 0.x the discussion belongs to the plan phase: DISCUSS counts from v1 on (D-28).
    if phase == "discuss" and expected.profile == "0.x":
        phase = "plan"
    return State(phase=Phase(phase)) if phase in set(Phase) else None


def reason_to_block(status: Status | None, *reasons: str | None) -> str | None:
    """Return the first real reason among `reasons`; only a blocked report needs one."""
    if status is not Status.BLOCKED:
        return None
    return next((real for reason in reasons if reason and (real := real_blocker(reason))), None)


def template_left(values: Iterable[tuple[str, str]]) -> list[Problem]:
    """Return a finding for each of `values`, pairs of path and text, that holds template text."""
    problems = []
    for path, value in values:
        weight = template_text(value, value_kind(path.rpartition("/")[2]), GOOP_REPORT_PROSE)
        if weight is not None:
            rule = PLACEHOLDER_LEFT if weight is Severity.ERROR else SLOT_IN_TEXT
            message = (
                f"template text left in: {path.lstrip('/')} is {excerpt(value, 60)!r}; expected the"
                " real value"
            )
            problems.append(rule.problem(message, path=path, found=excerpt(value)))

    return problems


def unknown_status(found: str, known: tuple[str, ...], path: str | None) -> Problem:
    """Return the finding for a status unknown to the form, at `path` or at the form's start."""
    what = f"status is {excerpt(found, 60)!r}" if found.strip() else "there is no status"
    words = tuple(str(word) for word in known)

    return UNKNOWN_STATUS.problem(
        f"{what}; expected one of {', '.join(words)}",
        path=path,
        offset=None if path else 0,
        found=excerpt(found) or None,
        expected=words,
    )

"""Parts of messages that several rows share."""

from collections.abc import Sequence

from goop_mcp.messages import decision_required, notice
from goop_mcp.routing.decision import DecisionFields
from goop_mcp.routing.row import RoutingInput
from goop_mcp.routing.views import CheckView, Question
from goop_mcp.validation.findings import excerpt

__all__ = [
    "ask_for_results",
    "checks_without_result",
    "failed_checks",
    "named",
    "render_blockers",
    "render_fix",
    "render_notice",
    "render_question",
    "render_review",
    "render_without_result",
]


def named(agent: str | None) -> str:
    """Return an agent's name, or a placeholder for an unnamed agent."""
    return excerpt(agent, 60) if agent else "the agent"


def failed_checks(case: RoutingInput) -> str:
    """Return the failed checks of a report as text: `check "tests" failed`."""
    return f"{_checks(case.report.failed_checks)} failed"


def checks_without_result(case: RoutingInput) -> str:
    """Return the passed checks that show nothing as text: `check "tests" shows no result`."""
    checks = case.report.checks_without_result
    return f"{_checks(checks)} {'shows' if len(checks) == 1 else 'show'} no result"


def ask_for_results(case: RoutingInput, otherwise: str) -> str:
    """Return what the agent has to do about its checks without a result.

    `otherwise` is how its protocol reports a check that cannot be run.
    """
    report = case.report
    checks = [
        f"- {excerpt(check.name, 80)}: {excerpt(check.evidence, 300) or 'no text'}"
        for check in report.checks_without_result
    ]
    task = f" of {report.task_id}" if report.task_id else ""
    words = (
        f"These checks{task} are reported as passed, and their texts show no result. Run them and"
        f" report what they print; report what cannot be run as not run: {otherwise}."
    )
    return "\n".join([words, *checks])


def _checks(checks: Sequence[CheckView]) -> str:
    names = [f'"{excerpt(check.name, 40)}"' for check in checks]
    return f"check{'' if len(names) == 1 else 's'} {', '.join(names)}"


def render_blockers(case: RoutingInput, fields: DecisionFields) -> str:
    """Return a question to the user about the blockers."""
    blockers = fields.get("blockers") or ()
    questions = fields.get("questions") or ()
    topics = [*(question.text for question in questions), *blockers] or [
        case.report.summary or "no row fits"
    ]
    return decision_required("; ".join(topics[:3]), question="How should it continue?")


def render_review(text: str, fields: DecisionFields) -> str:
    """Return the request for a human review: the issues, or `text` where there are none."""
    issues = fields.get("issues") or ()
    lines = [f"⚠️ {issue.message}" for issue in issues[:5]] or [f"⚠️ {text}"]
    held = fields.get("next_agent")

    return notice(
        "Human Review",
        *lines,
        f"→ {held} waits for your approval" if held else "→ Look at the result first",
    )


def render_fix(text: str, case: RoutingInput) -> str:
    """Return that the same agent fixes what `text` describes and runs again."""
    used, limit = case.context.counters.fix_retries, case.context.policy.limits.fix_retries
    step = f"{named(case.same_agent)} fixes it and runs again (attempt {used + 2} of {limit + 1})"
    return render_notice("Fix and Retry", f"⚠️ {text}", step)


def render_without_result(case: RoutingInput, _fields: DecisionFields) -> str:
    """Return that the same agent runs the checks that show nothing."""
    text = f"⚠️ success, but {checks_without_result(case)}"
    step = f"{named(case.same_agent)} runs them, or reports them as not run"
    return render_notice("Checks Without Result", text, step)


def render_notice(title: str, text: str, step: str) -> str:
    """Return a short message: the situation and the next step."""
    return notice(title, text, f"→ {step}")


def render_question(_case: RoutingInput, fields: DecisionFields) -> str:
    """Return the first question of a decision, followed by its context in parentheses."""
    question = (fields.get("questions") or (Question(id="q1", text="?"),))[0]
    text = f"{question.text} ({question.context})" if question.context else question.text
    return decision_required(text, question="How should it continue?")

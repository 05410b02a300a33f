"""Words that several rows share."""

from goop_mcp.messages import decision_required, notice
from goop_mcp.routing.decision import Filling
from goop_mcp.routing.row import Case
from goop_mcp.routing.views import Question
from goop_mcp.validation.findings import excerpt

__all__ = [
    "counted_noun",
    "failed_checks",
    "named",
    "tell_blockers",
    "tell_mending",
    "tell_notice",
    "tell_question",
    "tell_review",
]


def named(agent: str | None) -> str:
    """Return an agent's name, or words for one that nobody named."""
    return excerpt(agent, 60) if agent else "the agent"


def counted_noun(number: int, noun: str) -> str:
    """Return `1 error`, `2 errors`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def failed_checks(case: Case) -> str:
    """Return the failed checks of a report in words: `check "tests" failed`."""
    names = [f'"{excerpt(check.name, 40)}"' for check in case.report.failed_checks]
    return f"check{'' if len(names) == 1 else 's'} {', '.join(names)} failed"


def tell_blockers(case: Case, filling: Filling) -> str:
    """Return a question to the user about what stands in the way."""
    blockers = filling.get("blockers") or ()
    questions = filling.get("questions") or ()
    words = [*(question.text for question in questions), *blockers] or [
        case.report.summary or "no row fits"
    ]
    return decision_required("; ".join(words[:3]), question="How should it go on?")


def tell_review(text: str, filling: Filling) -> str:
    """Return that a person has to look at the result before it goes on: the issues, or `text` where there are none."""
    issues = filling.get("issues") or ()
    lines = [f"⚠️ {issue.message}" for issue in issues[:5]] or [f"⚠️ {text}"]
    held = filling.get("next_agent")

    return notice(
        "Human Review",
        *lines,
        f"→ {held} waits for your word" if held else "→ Look at the result first",
    )


def tell_mending(text: str, case: Case) -> str:
    """Return that the same agent mends what `text` says and runs again."""
    used, limit = case.context.counters.fix_retries, case.context.policy.limits.fix_retries
    step = f"{named(case.same_agent)} mends it and runs again (attempt {used + 2} of {limit + 1})"
    return tell_notice("Fix and Retry", f"⚠️ {text}", step)


def tell_notice(title: str, text: str, step: str) -> str:
    """Return a short message: what is, and what is done about it."""
    return notice(title, text, f"→ {step}")


def tell_question(_case: Case, filling: Filling) -> str:
    """Return the one question of a filling, with its context behind it."""
    question = (filling.get("questions") or (Question(id="q1", text="?"),))[0]
    words = f"{question.text} ({question.context})" if question.context else question.text
    return decision_required(words, question="How should it go on?")

"""The rows for questions and failures of Factory."""

import re
from collections.abc import Callable

from goop_mcp.messages import Choice, decision_required, notice
from goop_mcp.routing.counting import another_try, counted
from goop_mcp.routing.decision import Action, DecisionFields
from goop_mcp.routing.messages import (
    named,
    render_blockers,
    render_fix,
    render_notice,
)
from goop_mcp.routing.row import RoutingInput, RowList
from goop_mcp.routing.views import OutcomeKind, Question
from goop_mcp.validation.findings import counted_noun, excerpt

__all__ = ["ROWS"]

PROTOCOL = "factory"
_ROLES = ("architect", "engineer", "critic")


# What the reply says


def _asks(case: RoutingInput) -> bool:
    return case.outcome is OutcomeKind.QUESTIONS


def _failed(case: RoutingInput) -> bool:
    return case.outcome is OutcomeKind.FAILED


def _fails_with(kind: str) -> Callable[[RoutingInput], bool]:
    return lambda case: (
        _failed(case) and case.report.error is not None and case.report.error.type == kind
    )


_misses_input = _fails_with("missing_input")
_config_is_wrong = _fails_with("invalid_config")
_had_technical_error = _fails_with("technical_error")


def _named_in_recommendation(case: RoutingInput) -> str | None:
    """Return the agent that the recommendation names, of those the caller knows."""
    words = set(re.findall(r"[\w-]+", (case.report.recommendation or "")[:4096].lower()))
    return next(
        (agent for agent in (*case.context.known_agents, *_ROLES) if agent.lower() in words), None
    )


# What the decision sets


def _failure_in_words(case: RoutingInput) -> DecisionFields:
    error = case.report.error
    words = [
        error.message if error else None,
        f"attempted: {error.attempted}" if error and error.attempted else None,
        f"recommendation: {case.report.recommendation}" if case.report.recommendation else None,
    ]
    return {"blockers": tuple(filter(None, words)) or ("a failure without a reason",)}


# What people read


def _message(case: RoutingInput) -> str:
    return (case.report.error.message if case.report.error else "") or "a failure without a message"


def _words(case: RoutingInput) -> str:
    return excerpt(_message(case), 160)


def _render_questions(_case: RoutingInput, fields: DecisionFields) -> str:
    questions = fields.get("questions") or ()
    if len(questions) != 1:
        texts = " · ".join(f"{each.id}: {each.text}" for each in questions[:5])
        return decision_required(texts or "The agent asks.", question="Please answer each of them.")

    first = questions[0]
    words = f"{first.text} ({first.context})" if first.context else first.text
    choices = [
        Choice(
            option.letter,
            f"{option.text} (default)" if option.text == first.default else option.text,
        )
        for option in first.options
    ]

    return decision_required(words, choices, question=None if choices else "What is your answer?")


def _render_retry(case: RoutingInput, fields: DecisionFields) -> str:
    retry = fields.get("retry")
    count = f" (attempt {retry.attempt} of {retry.max_attempts})" if retry else ""
    return render_notice(
        "Retry", f"⚠️ {_words(case)}", f"{named(case.same_agent)} tries again{count}"
    )


ROWS = RowList()


@ROWS.row(
    rule="F1",
    protocol=PROTOCOL,
    when="questions, each with a default, policy auto_default",
    requirements=("F-06", "F-12"),
    # One question without a default needs a person, who is then asked all of them.
    fits=lambda case: (
        _asks(case)
        and case.context.policy.auto_default
        and bool(case.report.questions)
        and all(each.default for each in case.report.questions)
    ),
    actions=(Action.RESUME_SAME,),
    sets=("questions", "instruction"),
    reason=lambda case: (
        f"{counted_noun(len(case.report.questions), 'question')}: the defaults are the answers"
    ),
    message=lambda case, _fields: notice(
        "Questions",
        *(f"✓ {each.id}: {each.default}" for each in case.report.questions[:5]),
        "→ The agent continues with its own defaults",
    ),
)
def _take_defaults(case: RoutingInput) -> DecisionFields:
    answers = [f"- {each.id}: {each.default}" for each in case.report.questions]
    return {
        "questions": case.report.questions,
        "instruction": "\n".join(
            ["The answers to your questions are your own defaults:", *answers]
        ),
    }


ROWS.add(
    rule="F1",
    protocol=PROTOCOL,
    when="questions",
    requirements=("F-06", "F-12"),
    fits=_asks,
    actions=(Action.ASK_USER, Action.RESUME_SAME),
    sets=("questions",),
    build=lambda case: {"questions": case.report.questions},
    reason=lambda case: (
        f"{counted_noun(len(case.report.questions), 'question')}: you answer, and the agent"
        " continues"
    ),
    message=_render_questions,
)


ROWS.add(
    rule="F2",
    protocol=PROTOCOL,
    when="failure, recoverable false",
    requirements=("F-07",),
    fits=lambda case: (
        _failed(case) and case.report.error is not None and case.report.error.recoverable is False
    ),
    actions=(Action.MANUAL_RESOLUTION,),
    sets=("blockers",),
    build=_failure_in_words,
    reason=lambda case: f"failure, not recoverable: {_words(case)}: resolve it by hand",
    message=lambda _case, fields: notice(
        "Manual Resolution",
        *(f"❌ {blocker}" for blocker in (fields.get("blockers") or ())[:5]),
        "→ Resolve this by hand, then run the agent again",
    ),
)


ROWS.add(
    rule="F2a",
    protocol=PROTOCOL,
    when="failure, missing_input, and the recommendation names an agent the caller knows",
    requirements=("F-08",),
    fits=lambda case: _misses_input(case) and _named_in_recommendation(case) is not None,
    actions=(Action.RUN_PREREQUISITE,),
    sets=("next_agent", "instruction"),
    build=lambda case: {
        "next_agent": _named_in_recommendation(case),
        "instruction": case.report.recommendation,
    },
    reason=lambda case: (
        f"missing_input: {_words(case)}: {_named_in_recommendation(case)} runs first"
    ),
    message=lambda case, fields: render_notice(
        "Prerequisite", f"⚠️ {_words(case)}", f"{named(fields.get('next_agent'))} runs first"
    ),
)


ROWS.add(
    rule="F2a",
    protocol=PROTOCOL,
    when="failure, missing_input",
    requirements=("F-08",),
    fits=_misses_input,
    actions=(Action.ASK_USER,),
    sets=("instruction",),
    build=lambda case: {"instruction": case.report.recommendation or _message(case)},
    reason=lambda case: f"missing_input: {_words(case)}: you decide",
    message=lambda case, fields: decision_required(
        _message(case), question=fields.get("instruction") or "How should it continue?"
    ),
)


ROWS.add(
    rule="F2b",
    protocol=PROTOCOL,
    when="failure, ambiguous_requirements",
    requirements=("F-08",),
    fits=_fails_with("ambiguous_requirements"),
    actions=(Action.ASK_USER,),
    sets=("questions",),
    build=lambda case: {
        "questions": (Question(id="q1", text=_message(case), context=case.report.recommendation),)
    },
    reason=lambda case: f"ambiguous_requirements: {_words(case)}: you decide",
    message=_render_questions,
)


ROWS.add(
    rule="F2c",
    protocol=PROTOCOL,
    when="failure, invalid_config, within limit",
    requirements=("F-08",),
    fits=lambda case: (
        _config_is_wrong(case)
        and case.context.counters.fix_retries < case.context.policy.limits.fix_retries
    ),
    actions=(Action.FIX_AND_RETRY,),
    sets=("next_agent", "instruction"),
    build=lambda case: {
        "next_agent": case.same_agent,
        "instruction": _message(case),
        "state_changes": counted(fix_retries=case.context.counters.fix_retries + 1),
    },
    reason=lambda case: (
        f"invalid_config: {_words(case)}: {named(case.same_agent)} fixes it and runs again"
    ),
    message=lambda case, _fields: render_fix(_words(case), case),
)


@ROWS.row(
    rule="F2d",
    protocol=PROTOCOL,
    when="failure, technical_error, within limit",
    requirements=("F-08",),
    fits=lambda case: (
        _had_technical_error(case)
        and case.context.counters.technical_retries < case.context.policy.limits.technical_retries
    ),
    actions=(Action.RETRY,),
    sets=("next_agent", "retry"),
    reason=lambda case: f"technical_error: {_words(case)}: {named(case.same_agent)} tries again",
    message=_render_retry,
)
def _try_again(case: RoutingInput) -> DecisionFields:
    used, limit = (
        case.context.counters.technical_retries,
        case.context.policy.limits.technical_retries,
    )
    return {
        "next_agent": case.same_agent,
        "retry": another_try(used, limit, message="send the same request again"),
        "state_changes": counted(technical_retries=used + 1),
    }


ROWS.add(
    rule="F2e",
    protocol=PROTOCOL,
    when="failure, over the limit or another type",
    requirements=("F-08",),
    fits=_failed,
    actions=(Action.ASK_USER,),
    sets=("blockers",),
    build=_failure_in_words,
    reason=lambda case: (
        f"{(case.report.error.type if case.report.error else None) or 'failure'}: {_words(case)}:"
        " no automatic way is left, you decide"
    ),
    message=render_blockers,
)

"""The rows for Factory replies."""

import re
from collections.abc import Callable

from goop_mcp.messages import Choice, decision_required, notice, phase_complete
from goop_mcp.routing.counting import another_try, counted, progressed
from goop_mcp.routing.decision import Action, Filling
from goop_mcp.routing.row import Case, Row
from goop_mcp.routing.telling import counted_noun, named, tell_blockers, tell_notice
from goop_mcp.routing.views import Outcome, Question
from goop_mcp.validation.findings import excerpt

__all__ = ["ROWS"]

PROTOCOL = "factory"
_CRITIC, _ENGINEER, _ARCHITECT = "critic", "engineer", "architect"
_ROLES = (_ARCHITECT, _ENGINEER, _CRITIC)
_CONFIDENT = ("high", "medium")


# What the reply says


def _hint(case: Case) -> str | None:
    return case.report.next[0].text if case.report.next else None


def _verdict(case: Case) -> str | None:
    value = case.report.result.get("verdict")
    return value if isinstance(value, str) else None


def _asks(case: Case) -> bool:
    return case.outcome is Outcome.QUESTIONS


def _answers_itself(case: Case) -> bool:
    """Return whether every question has a default and the caller lets the defaults be the answers."""
    questions = case.report.questions
    return case.context.policy.auto_default and bool(questions) and all(each.default for each in questions)


def _failed(case: Case) -> bool:
    return case.outcome is Outcome.FAILED


def _fails_with(kind: str) -> Callable[[Case], bool]:
    return lambda case: _failed(case) and case.report.error is not None and case.report.error.type == kind


_misses_input = _fails_with("missing_input")
_config_is_wrong = _fails_with("invalid_config")
_had_technical_error = _fails_with("technical_error")


def _named_in_recommendation(case: Case) -> str | None:
    """Return the agent that the recommendation names, of those the caller knows."""
    words = set(re.findall(r"[\w-]+", (case.report.recommendation or "")[:4096].lower()))
    return next((agent for agent in (*case.context.known_agents, *_ROLES) if agent.lower() in words), None)


def _blocks(case: Case) -> bool:
    return case.outcome is Outcome.GATE_FAILED


def _rejections(case: Case) -> int:
    return case.context.counters.critic_rejections + 1


def _passes(case: Case) -> bool:
    return _succeeded(case) and _verdict(case) == "PASS"


def _succeeded(case: Case) -> bool:
    return case.outcome is Outcome.DONE


def _may_build(case: Case) -> bool:
    return _passes(case) and _hint(case) == "proceed_to_build"


def _is_unsure(case: Case) -> bool:
    # An absent level is neither: the critic has none (D-63).
    return _succeeded(case) and case.report.confidence is not None and case.report.confidence not in _CONFIDENT


# What the decision carries


def _ask(case: Case) -> Filling:
    return {"questions": case.report.questions}


def _take_defaults(case: Case) -> Filling:
    answers = [f"- {each.id}: {each.default}" for each in case.report.questions]
    return {
        "questions": case.report.questions,
        "instruction": "\n".join(["The answers to your questions are your own defaults:", *answers]),
    }


def _failure_in_words(case: Case) -> Filling:
    error = case.report.error
    words = [
        error.message if error else None,
        f"attempted: {error.attempted}" if error and error.attempted else None,
        f"recommendation: {case.report.recommendation}" if case.report.recommendation else None,
    ]
    return {"blockers": tuple(filter(None, words)) or ("a failure that says nothing",)}


def _run_prerequisite(case: Case) -> Filling:
    return {"next_agent": _named_in_recommendation(case), "instruction": case.report.recommendation}


def _ask_for_input(case: Case) -> Filling:
    return {"instruction": case.report.recommendation or _message(case)}


def _ask_what_was_meant(case: Case) -> Filling:
    return {"questions": (Question(id="q1", text=_message(case), context=case.report.recommendation),)}


def _fix(case: Case) -> Filling:
    return {
        "next_agent": case.same_agent,
        "instruction": _message(case),
        "state_changes": counted(fix_retries=case.context.counters.fix_retries + 1),
    }


def _try_again(case: Case) -> Filling:
    used, limit = case.context.counters.technical_retries, case.context.policy.limits.technical_retries
    return {
        "next_agent": case.same_agent,
        "retry": another_try(used, limit, message="send the same request again"),
        "state_changes": counted(technical_retries=used + 1),
    }


def _send_back(case: Case) -> Filling:
    return {
        "next_agent": _ENGINEER if _hint(case) == "return_to_engineer" else _ARCHITECT,
        "issues": case.report.issues,
        "state_changes": counted(critic_rejections=_rejections(case)),
    }


def _open_issues(case: Case) -> Filling:
    words = tuple(f"{issue.id or issue.type}: {issue.message}" for issue in case.report.issues)
    return {
        "blockers": words or (case.report.summary or "the critic blocks",),
        "state_changes": counted(critic_rejections=_rejections(case)),
    }


def _notes(case: Case) -> Filling:
    return {"instruction": case.report.confidence_notes}


def _to_critic(case: Case) -> Filling:
    return {"next_agent": _CRITIC, "state_changes": progressed(case.context.counters)}


def _to_critic_with_files(case: Case) -> Filling:
    return {**_to_critic(case), "files_to_read": tuple(file.path for file in case.report.files)}


def _ask_for_build(case: Case) -> Filling:
    question = Question(
        id="approve_build", text="The review has passed. Approve the build?", context=case.report.summary
    )
    return {"questions": (question,), "next_agent": _ENGINEER, "state_changes": _accepted(case)}


def _build(case: Case) -> Filling:
    return {"next_agent": _ENGINEER, "state_changes": _accepted(case)}


def _accepted(case: Case) -> dict[str, object]:
    changes = progressed(case.context.counters)
    changes["counters"]["critic_rejections"] = 0
    return changes


def _carry_hint(case: Case) -> Filling:
    return {"instruction": _hint(case)}


# How it is told


def _message(case: Case) -> str:
    return (case.report.error.message if case.report.error else "") or "a failure without a message"


def _kind(case: Case) -> str:
    return (case.report.error.type if case.report.error else None) or "failure"


def _words(case: Case) -> str:
    return excerpt(_message(case), 160)


def _tell_questions(_case: Case, filling: Filling) -> str:
    questions = filling.get("questions") or ()
    if len(questions) != 1:
        texts = " · ".join(f"{each.id}: {each.text}" for each in questions[:5])
        return decision_required(texts or "The agent asks.", question="Please answer each of them.")
    first = questions[0]
    words = f"{first.text} ({first.context})" if first.context else first.text
    choices = [
        Choice(option.letter, f"{option.text} (default)" if option.text == first.default else option.text)
        for option in first.options
    ]
    return decision_required(words, choices, question=None if choices else "What is your answer?")


def _tell_defaults(case: Case, _filling: Filling) -> str:
    answers = [f"✓ {each.id}: {each.default}" for each in case.report.questions[:5]]
    return notice("Questions", *answers, "→ The agent goes on with its own defaults")


def _tell_failure(_case: Case, filling: Filling) -> str:
    lines = [f"❌ {blocker}" for blocker in (filling.get("blockers") or ())[:5]]
    return notice("Manual Resolution", *lines, "→ Resolve this by hand, then run the agent again")


def _tell_missing_input(case: Case, filling: Filling) -> str:
    return decision_required(_message(case), question=filling.get("instruction") or "How should it go on?")


def _tell_step(case: Case, filling: Filling) -> str:
    return tell_notice("Retry", f"⚠️ {_words(case)}", f"{named(filling.get('next_agent'))} is asked to go on")


def _tell_issues(case: Case, filling: Filling) -> str:
    lines = [f"✗ {issue.id or issue.type}: {issue.message}" for issue in case.report.issues[:5]]
    limit = case.context.policy.limits.critic_rejections
    step = f"→ {named(filling.get('next_agent'))} goes over it again (rejection {_rejections(case)} of {limit})"
    return notice("Feedback Loop", *lines, step)


def _tell_unsure(case: Case, _filling: Filling) -> str:
    notes = case.report.confidence_notes or "no notes"
    return notice("Human Review", f"⚠️ confidence is {case.report.confidence}: {notes}", "→ Look at the result first")


def _tell_next(case: Case, filling: Filling) -> str:
    words = f"✓ {case.report.summary or 'the agent has finished'}"
    return tell_notice("Next Agent", words, f"{named(filling.get('next_agent'))} goes on")


def _tell_finished(case: Case, _filling: Filling) -> str:
    return phase_complete("Review", summary=case.report.summary or "the review has passed")


def _tell_hint(case: Case, filling: Filling) -> str:
    words = filling.get("instruction") or "There is no hint what comes next."
    return decision_required(case.report.summary or "The agent has finished.", question=words)


ROWS = (
    Row(
        rule="F1",
        protocol=PROTOCOL,
        when="questions, each with a default, policy auto_default",
        requirements=("F-06", "F-12"),
        fits=lambda case: _asks(case) and _answers_itself(case),
        actions=(Action.RESUME_SAME,),
        carries=("questions", "instruction"),
        fill=_take_defaults,
        reason=lambda case: f"{counted_noun(len(case.report.questions), 'question')}: the defaults are the answers",
        message=_tell_defaults,
    ),
    Row(
        rule="F1",
        protocol=PROTOCOL,
        when="questions",
        requirements=("F-06", "F-12"),
        fits=_asks,
        actions=(Action.ASK_USER, Action.RESUME_SAME),
        carries=("questions",),
        fill=_ask,
        reason=lambda case: (
            f"{counted_noun(len(case.report.questions), 'question')}: you answer, and the agent goes on"
        ),
        message=_tell_questions,
    ),
    Row(
        rule="F2",
        protocol=PROTOCOL,
        when="failure, recoverable false",
        requirements=("F-07",),
        fits=lambda case: _failed(case) and case.report.error is not None and case.report.error.recoverable is False,
        actions=(Action.MANUAL_RESOLUTION,),
        carries=("blockers",),
        fill=_failure_in_words,
        reason=lambda case: f"failure, not recoverable: {_words(case)}: resolve it by hand",
        message=_tell_failure,
    ),
    Row(
        rule="F2a",
        protocol=PROTOCOL,
        when="failure, missing_input, and the recommendation names an agent the caller knows",
        requirements=("F-08",),
        fits=lambda case: _misses_input(case) and _named_in_recommendation(case) is not None,
        actions=(Action.RUN_PREREQUISITE,),
        carries=("next_agent", "instruction"),
        fill=_run_prerequisite,
        reason=lambda case: f"missing_input: {_words(case)}: {_named_in_recommendation(case)} runs first",
        message=_tell_step,
    ),
    Row(
        rule="F2a",
        protocol=PROTOCOL,
        when="failure, missing_input",
        requirements=("F-08",),
        fits=_misses_input,
        actions=(Action.ASK_USER,),
        carries=("instruction",),
        fill=_ask_for_input,
        reason=lambda case: f"missing_input: {_words(case)}: you decide",
        message=_tell_missing_input,
    ),
    Row(
        rule="F2b",
        protocol=PROTOCOL,
        when="failure, ambiguous_requirements",
        requirements=("F-08",),
        fits=_fails_with("ambiguous_requirements"),
        actions=(Action.ASK_USER,),
        carries=("questions",),
        fill=_ask_what_was_meant,
        reason=lambda case: f"ambiguous_requirements: {_words(case)}: you decide",
        message=_tell_questions,
    ),
    Row(
        rule="F2c",
        protocol=PROTOCOL,
        when="failure, invalid_config, within limit",
        requirements=("F-08",),
        fits=lambda case: (
            _config_is_wrong(case) and case.context.counters.fix_retries < case.context.policy.limits.fix_retries
        ),
        actions=(Action.FIX_AND_RETRY,),
        carries=("next_agent", "instruction"),
        fill=_fix,
        reason=lambda case: f"invalid_config: {_words(case)}: {named(case.same_agent)} mends it and runs again",
        message=_tell_step,
    ),
    Row(
        rule="F2d",
        protocol=PROTOCOL,
        when="failure, technical_error, within limit",
        requirements=("F-08",),
        fits=lambda case: (
            _had_technical_error(case)
            and case.context.counters.technical_retries < case.context.policy.limits.technical_retries
        ),
        actions=(Action.RETRY,),
        carries=("next_agent", "retry"),
        fill=_try_again,
        reason=lambda case: f"technical_error: {_words(case)}: {named(case.same_agent)} tries again",
        message=_tell_step,
    ),
    Row(
        rule="F2e",
        protocol=PROTOCOL,
        when="failure, over the limit or another type",
        requirements=("F-08",),
        fits=_failed,
        actions=(Action.ASK_USER,),
        carries=("blockers",),
        fill=_failure_in_words,
        reason=lambda case: f"{_kind(case)}: {_words(case)}: no automatic way is left, you decide",
        message=tell_blockers,
    ),
    Row(
        rule="F3",
        protocol=PROTOCOL,
        when="verdict BLOCKING, rejections below the limit (3)",
        requirements=("F-22", "F-23"),
        fits=lambda case: _blocks(case) and _rejections(case) < case.context.policy.limits.critic_rejections,
        actions=(Action.FEEDBACK_LOOP,),
        carries=("next_agent", "issues"),
        fill=_send_back,
        reason=lambda case: (
            f"success, but the verdict is BLOCKING with "
            f"{counted_noun(len(case.report.issues), 'issue')}: the work goes back"
        ),
        message=_tell_issues,
    ),
    Row(
        rule="F3b",
        protocol=PROTOCOL,
        when="verdict BLOCKING, last rejection (third)",
        requirements=("F-23",),
        fits=_blocks,
        actions=(Action.ASK_USER,),
        carries=("blockers",),
        fill=_open_issues,
        reason=lambda case: f"the verdict is BLOCKING, rejection {_rejections(case)}: you decide",
        message=tell_blockers,
    ),
    Row(
        rule="F4",
        protocol=PROTOCOL,
        when="success, confidence low or outside its list (absent is neither)",
        requirements=("F-27", "F-28"),
        fits=_is_unsure,
        actions=(Action.HUMAN_REVIEW,),
        carries=("instruction",),
        fill=_notes,
        reason=lambda case: (
            f"success, but confidence is {excerpt(case.report.confidence or '', 40)}: a person looks at it"
        ),
        message=_tell_unsure,
    ),
    Row(
        rule="F4b",
        protocol=PROTOCOL,
        when="success without a verdict, confidence medium, policy review_on_medium",
        requirements=("F-27",),
        fits=lambda case: (
            _succeeded(case)
            and case.report.confidence == "medium"
            and case.context.policy.review_on_medium
            and _verdict(case) is None
        ),
        actions=(Action.CONTINUE_NEXT,),
        carries=("next_agent",),
        fill=_to_critic,
        reason=lambda _case: "success with confidence medium: the critic looks at it",
        message=_tell_next,
    ),
    Row(
        rule="F5",
        protocol=PROTOCOL,
        when="verdict PASS, proceed_to_build, policy approve_build",
        requirements=("F-21",),
        fits=lambda case: _may_build(case) and case.context.policy.approve_build,
        actions=(Action.ASK_USER,),
        carries=("questions", "next_agent"),
        fill=_ask_for_build,
        reason=lambda _case: "the verdict is PASS: you approve the build",
        message=_tell_questions,
    ),
    Row(
        rule="F5b",
        protocol=PROTOCOL,
        when="verdict PASS, proceed_to_build",
        requirements=("F-21",),
        fits=_may_build,
        actions=(Action.CONTINUE_NEXT,),
        carries=("next_agent",),
        fill=_build,
        reason=lambda _case: "the verdict is PASS: the engineer builds it",
        message=_tell_next,
    ),
    Row(
        rule="F5c",
        protocol=PROTOCOL,
        when="verdict PASS, other hint",
        requirements=("F-21",),
        fits=_passes,
        actions=(Action.FINISH,),
        carries=("instruction",),
        fill=_carry_hint,
        reason=lambda case: f"the verdict is PASS, and the hint is {excerpt(_hint(case) or 'absent', 60)}: finished",
        message=_tell_finished,
    ),
    Row(
        rule="F6",
        protocol=PROTOCOL,
        when="success, ready_for_review",
        requirements=("F-05", "F-19", "F-20"),
        fits=lambda case: _succeeded(case) and _hint(case) == "ready_for_review",
        actions=(Action.CONTINUE_NEXT,),
        carries=("next_agent", "files_to_read"),
        fill=_to_critic_with_files,
        reason=lambda _case: "success, ready_for_review: the critic looks at the deliverables",
        message=_tell_next,
    ),
    Row(
        rule="F7",
        protocol=PROTOCOL,
        when="success, other or no hint",
        requirements=("F-05", "F-17"),
        fits=_succeeded,
        actions=(Action.ASK_USER,),
        carries=("instruction",),
        fill=_carry_hint,
        reason=lambda case: f"success, and the hint is {excerpt(_hint(case) or 'absent', 60)}: you decide",
        message=_tell_hint,
    ),
)

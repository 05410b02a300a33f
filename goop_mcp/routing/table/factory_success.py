"""The rows for verdicts and successes of Factory."""

from goop_mcp.messages import decision_required, notice, phase_complete
from goop_mcp.routing.counting import counted, progressed
from goop_mcp.routing.decision import Action, DecisionFields
from goop_mcp.routing.messages import (
    ask_for_results,
    checks_without_result,
    named,
    render_blockers,
    render_notice,
    render_without_result,
)
from goop_mcp.routing.row import RoutingInput, RowList
from goop_mcp.routing.views import OutcomeKind, Question
from goop_mcp.validation.findings import counted_noun, excerpt

__all__ = ["ROWS"]

PROTOCOL = "factory"
_CRITIC, _ENGINEER, _ARCHITECT = "critic", "engineer", "architect"
_CONFIDENT = ("high", "medium")


# What the reply says


def _hint(case: RoutingInput) -> str | None:
    return case.report.next[0].text if case.report.next else None


def _verdict(case: RoutingInput) -> str | None:
    value = case.report.result.get("verdict")
    return value if isinstance(value, str) else None


def _blocks(case: RoutingInput) -> bool:
    return case.outcome is OutcomeKind.GATE_FAILED


def _rejections(case: RoutingInput) -> int:
    return case.context.counters.critic_rejections + 1


def _passes(case: RoutingInput) -> bool:
    return _succeeded(case) and _verdict(case) == "PASS"


def _succeeded(case: RoutingInput) -> bool:
    return case.outcome is OutcomeKind.DONE


def _may_build(case: RoutingInput) -> bool:
    return _passes(case) and _hint(case) == "proceed_to_build"


# What the decision sets


def _to_critic(case: RoutingInput) -> DecisionFields:
    return {"next_agent": _CRITIC, "state_changes": progressed(case.context.counters)}


def _accepted(case: RoutingInput) -> dict[str, object]:
    changes = progressed(case.context.counters)
    changes["counters"]["critic_rejections"] = 0
    return changes


def _carry_hint(case: RoutingInput) -> DecisionFields:
    return {"instruction": _hint(case)}


# What people read


def _render_issues(case: RoutingInput, fields: DecisionFields) -> str:
    lines = [f"✗ {issue.id or issue.type}: {issue.message}" for issue in case.report.issues[:5]]
    limit = case.context.policy.limits.critic_rejections
    step = (
        f"→ {named(fields.get('next_agent'))} revises its work (rejection {_rejections(case)} of"
        f" {limit})"
    )
    return notice("Feedback Loop", *lines, step)


def _render_next(case: RoutingInput, fields: DecisionFields) -> str:
    words = f"✓ {case.report.summary or 'the agent has finished'}"
    return render_notice("Next Agent", words, f"{named(fields.get('next_agent'))} continues")


def _render_hint(case: RoutingInput, fields: DecisionFields) -> str:
    hint = fields.get("instruction")
    words = f"The hint is {excerpt(hint, 60)!r}." if hint else "No hint says what comes next."
    return decision_required(
        case.report.summary or "The agent has finished.",
        question=f"{words} How should it continue?",
    )


ROWS = RowList()


ROWS.add(
    rule="F3",
    protocol=PROTOCOL,
    when="verdict BLOCKING, rejections below the limit (3)",
    requirements=("F-22", "F-23"),
    fits=lambda case: (
        _blocks(case) and _rejections(case) < case.context.policy.limits.critic_rejections
    ),
    actions=(Action.FEEDBACK_LOOP,),
    sets=("next_agent", "issues"),
    build=lambda case: {
        "next_agent": _ENGINEER if _hint(case) == "return_to_engineer" else _ARCHITECT,
        "issues": case.report.issues,
        "state_changes": counted(critic_rejections=_rejections(case)),
    },
    reason=lambda case: (
        "success, but the verdict is BLOCKING with "
        f"{counted_noun(len(case.report.issues), 'issue')}: the work is sent back"
    ),
    message=_render_issues,
)


@ROWS.row(
    rule="F3b",
    protocol=PROTOCOL,
    when="verdict BLOCKING, last rejection (third)",
    requirements=("F-23",),
    fits=_blocks,
    actions=(Action.ASK_USER,),
    sets=("blockers",),
    reason=lambda case: f"the verdict is BLOCKING, rejection {_rejections(case)}: you decide",
    message=render_blockers,
)
def _open_issues(case: RoutingInput) -> DecisionFields:
    words = tuple(f"{issue.id or issue.type}: {issue.message}" for issue in case.report.issues)
    return {
        "blockers": words or (case.report.summary or "the critic blocks",),
        "state_changes": counted(critic_rejections=_rejections(case)),
    }


ROWS.add(
    rule="F3c",
    protocol=PROTOCOL,
    when="success, a passed check that shows no result",
    requirements=("F-10",),
    fits=lambda case: case.outcome is OutcomeKind.WITHOUT_RESULT,
    actions=(Action.RESUME_SAME,),
    sets=("next_agent", "instruction"),
    build=lambda case: {
        "next_agent": case.same_agent,
        "instruction": ask_for_results(case, '"passed": false with the reason'),
    },
    reason=lambda case: (
        f"success, but {checks_without_result(case)}: {named(case.same_agent)} resumes"
    ),
    message=render_without_result,
)


ROWS.add(
    rule="F4",
    protocol=PROTOCOL,
    when="success, confidence low or outside its list (absent is neither)",
    requirements=("F-27", "F-28"),
    # An absent level is neither low nor high: the critic has none (D-63).
    fits=lambda case: (
        _succeeded(case)
        and case.report.confidence is not None
        and case.report.confidence not in _CONFIDENT
    ),
    actions=(Action.HUMAN_REVIEW,),
    sets=("instruction",),
    build=lambda case: {"instruction": case.report.confidence_notes},
    reason=lambda case: (
        f"success, but confidence is {excerpt(case.report.confidence or '', 40)}: a person"
        " looks at it"
    ),
    message=lambda case, _fields: notice(
        "Human Review",
        f"⚠️ confidence is {case.report.confidence}: {case.report.confidence_notes or 'no notes'}",
        "→ Look at the result first",
    ),
)


ROWS.add(
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
    sets=("next_agent",),
    build=_to_critic,
    reason=lambda _case: "success with confidence medium: the critic looks at it",
    message=_render_next,
)


@ROWS.row(
    rule="F5",
    protocol=PROTOCOL,
    when="verdict PASS, proceed_to_build, policy approve_build",
    requirements=("F-21",),
    fits=lambda case: _may_build(case) and case.context.policy.approve_build,
    actions=(Action.ASK_USER,),
    sets=("questions", "next_agent"),
    reason=lambda _case: "the verdict is PASS: you approve the build",
    message=lambda case, _fields: decision_required(
        case.report.summary or "The review has passed.", question="Approve the build?"
    ),
)
def _ask_for_build(case: RoutingInput) -> DecisionFields:
    question = Question(
        id="approve_build",
        text="The review has passed. Approve the build?",
        context=case.report.summary,
    )
    return {"questions": (question,), "next_agent": _ENGINEER, "state_changes": _accepted(case)}


ROWS.add(
    rule="F5b",
    protocol=PROTOCOL,
    when="verdict PASS, proceed_to_build",
    requirements=("F-21",),
    fits=_may_build,
    actions=(Action.CONTINUE_NEXT,),
    sets=("next_agent",),
    build=lambda case: {"next_agent": _ENGINEER, "state_changes": _accepted(case)},
    reason=lambda _case: "the verdict is PASS: the engineer builds it",
    message=_render_next,
)


ROWS.add(
    rule="F5c",
    protocol=PROTOCOL,
    when="verdict PASS, other hint",
    requirements=("F-21",),
    fits=_passes,
    actions=(Action.FINISH,),
    sets=("instruction",),
    build=_carry_hint,
    reason=lambda case: (
        f"the verdict is PASS, and the hint is {excerpt(_hint(case) or 'absent', 60)}: finished"
    ),
    message=lambda case, _fields: phase_complete(
        "Review", summary=case.report.summary or "the review has passed"
    ),
)


ROWS.add(
    rule="F6",
    protocol=PROTOCOL,
    when="success, ready_for_review",
    requirements=("F-05", "F-19", "F-20"),
    fits=lambda case: _succeeded(case) and _hint(case) == "ready_for_review",
    actions=(Action.CONTINUE_NEXT,),
    sets=("next_agent", "files_to_read"),
    build=lambda case: {
        **_to_critic(case),
        "files_to_read": tuple(file.path for file in case.report.files),
    },
    reason=lambda _case: "success, ready_for_review: the critic looks at the deliverables",
    message=_render_next,
)


ROWS.add(
    rule="F7",
    protocol=PROTOCOL,
    when="success, other or no hint",
    requirements=("F-05", "F-17"),
    fits=_succeeded,
    actions=(Action.ASK_USER,),
    sets=("instruction",),
    build=_carry_hint,
    reason=lambda case: (
        f"success, and the hint is {excerpt(_hint(case) or 'absent', 60)}: you decide"
    ),
    message=_render_hint,
)

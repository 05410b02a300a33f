"""The rows for `<agent_request>` prompts."""

from collections.abc import Callable

from goop_mcp.messages import decision_required, notice
from goop_mcp.protocols.agent_request.gate_messages import FAILED, no_block_warning, refusal
from goop_mcp.routing.counting import counted
from goop_mcp.routing.decision import Action, DecisionFields, SessionResult
from goop_mcp.routing.messages import named, render_blockers
from goop_mcp.routing.row import RoutingInput, RowList
from goop_mcp.routing.sessions import (
    cycle_through,
    failed_sessions,
    has_ended,
    has_failed,
    is_running,
    open_sessions,
)
from goop_mcp.routing.views import OutcomeKind
from goop_mcp.validation.findings import Finding, Severity, counted_noun, excerpt

__all__ = ["ROWS"]

PROTOCOL = "agent_request"
_MISSING = "evidence/file-not-found"
_UNREADABLE_CONSTRAINTS = "agent_request/constraints-unreadable"
_RESEARCH = ("SPIKE", "RESEARCH")
_FLAGS = {"SPIKE": "research_mode", "TDD": "test_first"}


# What prompt and context contain


def _is_freeform(case: RoutingInput) -> bool:
    return case.outcome is OutcomeKind.FREEFORM


def _is_request(case: RoutingInput) -> bool:
    return case.outcome is OutcomeKind.REQUEST


def _cycle(case: RoutingInput) -> tuple[str, ...]:
    return cycle_through(
        case.request.session_id, case.request.depends_on, case.context.dependencies
    )


def _open(case: RoutingInput) -> tuple[str, ...]:
    return open_sessions(case.request.depends_on, case.context.dependencies)


def _failed(case: RoutingInput) -> tuple[str, ...]:
    return failed_sessions(case.request.depends_on, case.context.dependencies)


def _state(case: RoutingInput) -> str | None:
    """Return the state of the session of the request, None where it is not known."""
    if case.context.session_state is not None:
        return case.context.session_state
    own = case.context.batch.get(case.request.session_id or case.context.session_id or "")
    return own.state if own else None


def _missing(case: RoutingInput) -> tuple[str, ...]:
    """Return the required files that are missing after the session has ended."""
    # A session that is still running may yet write them.
    if not _is_request(case) or not has_ended(_state(case)):
        return ()

    findings = (*case.verdict.findings, *case.context.evidence)
    lost = [finding for finding in findings if finding.rule == _MISSING]

    return tuple(
        [
            each.path
            for each in case.request.deliverables
            if each.required
            and each.path
            # A finding that the caller composed may name the path in its message only.
            and any(finding.found == each.path or each.path in finding.message for finding in lost)
        ]
    )


def _is_in_batch(case: RoutingInput) -> bool:
    own = case.request.session_id or case.context.session_id
    return _is_request(case) and own is not None and own in case.context.batch


def _running(case: RoutingInput) -> tuple[str, ...]:
    return tuple([name for name, state in case.context.batch.items() if is_running(state.state)])


def _may_start(case: RoutingInput, mode: str) -> bool:
    return _is_request(case) and case.request.mode == mode and not has_ended(_state(case))


# What the decision sets


def _request(case: RoutingInput) -> DecisionFields:
    # The child needs the flag of its workflow (H5), and a mark where its constraints could not be
    # read: it would take an empty list for "no constraints" (D-78).
    flag = _FLAGS.get((case.request.workflow or case.context.workflow or "").upper())
    unreadable = any(finding.rule == _UNREADABLE_CONSTRAINTS for finding in case.verdict.findings)
    return {
        "instruction": case.request.text,
        "flags": (*((flag,) if flag else ()), *(("constraints_unreadable",) if unreadable else ())),
    }


def _request_to_target(case: RoutingInput) -> DecisionFields:
    return {**_request(case), "next_agent": case.request.target}


def _session_in_words(session: SessionResult) -> str:
    return (
        f"{session.session_id}:"
        f" {session.state}{'' if session.result is not None else ', result missing'}"
    )


# What people read


def _target(case: RoutingInput) -> str:
    return excerpt(case.request.target, 60) if case.request.target else "the child"


def _handoff_with(step: str) -> Callable[[RoutingInput, DecisionFields], str]:
    """Return the message function of a handoff whose last line is the target, then `step`."""

    def render(case: RoutingInput, fields: DecisionFields) -> str:
        lines = [f"⏳ {case.request.task_summary or case.request.intent or 'a task'}"]
        if "constraints_unreadable" in (fields.get("flags") or ()):
            lines.append("⚠️ The constraints could not be read: the agent sees none")
        return notice("Handoff", *lines, f"→ {_target(case)} {step}")

    return render


def _render_waiting(case: RoutingInput, fields: DecisionFields) -> str:
    known = {**case.context.dependencies, **case.context.batch}
    names = (fields.get("blockers") or ())[:5]
    lines = [
        f"⏳ {name}: {known[name].state if name in known else 'not known here'}" for name in names
    ]
    return notice("Waiting", *lines, "→ The work continues when they have ended")


def _render_gathered(_case: RoutingInput, fields: DecisionFields) -> str:
    results = fields.get("results") or ()
    icons = [
        "✗" if has_failed(each.state) else "✓" if each.result is not None else "⚠️"
        for each in results[:10]
    ]
    lines = [
        f"{icon} {_session_in_words(each)}" for icon, each in zip(icons, results[:10], strict=True)
    ]
    return notice("Batch Complete", *lines, f"→ {named(fields.get('next_agent'))} gets the results")


def _render_cycle(_case: RoutingInput, fields: DecisionFields) -> str:
    cycle = (fields.get("blockers") or ("",))[0]
    return notice(
        "Handoff Refused",
        f"✗ Sessions wait for each other: {cycle}",
        "→ Take one of the dependencies out",
    )


_NO_BLOCK = Finding(
    rule="agent_request/no-envelope",
    severity=Severity.ERROR,
    message="no XML handoff block found; the adoption policy is mandatory",
    fix="Add an <agent_request> in a fence marked xml.",
)

ROWS = RowList()


ROWS.add(
    rule="H1",
    protocol=PROTOCOL,
    when="no XML block, policy not mandatory, or the work is SPIKE or research",
    requirements=("H-30", "H-53"),
    # "mandatory for non-research work" (H-53)
    fits=lambda case: (
        _is_freeform(case)
        and (
            case.context.policy.adoption != "mandatory"
            or (case.context.workflow or "").upper() in _RESEARCH
        )
    ),
    actions=(Action.PROVIDE_CONTEXT,),
    sets=("instruction",),
    build=lambda case: {"instruction": case.request.text},
    reason=lambda _case: "no XML block in the prompt: the agent gets the prose, with a warning",
    message=lambda _case, _fields: "\n".join(no_block_warning()),
)


ROWS.add(
    rule="H1b",
    protocol=PROTOCOL,
    when="no XML block, policy mandatory",
    requirements=("H-53",),
    fits=_is_freeform,
    actions=(Action.REJECT,),
    reason=lambda _case: (
        "no XML block in the prompt, and the adoption policy is mandatory: the spawn is refused"
    ),
    message=lambda case, _fields: "\n".join(refusal([_NO_BLOCK], case.verdict)),
)


ROWS.add(
    rule="H2",
    protocol=PROTOCOL,
    when="verdict rejected",
    requirements=("H-31", "H-32"),
    fits=lambda case: (
        case.outcome is OutcomeKind.INVALID
        or any(not error.rule.startswith("evidence/") for error in case.errors)
    ),
    actions=(Action.REJECT,),
    reason=lambda case: (
        f"{counted_noun(len(case.errors), 'error')} in the request: the spawn is refused"
    ),
    message=lambda case, _fields: "\n".join(refusal(case.errors, case.verdict)) or f"❌ {FAILED}",
)


ROWS.add(
    rule="H3b",
    protocol=PROTOCOL,
    when="depends_on contains a cycle",
    requirements=("H-68",),
    fits=lambda case: _is_request(case) and bool(_cycle(case)),
    actions=(Action.REJECT,),
    sets=("blockers",),
    build=lambda case: {
        "blockers": (" after ".join(name or "this session" for name in _cycle(case)),)
    },
    reason=lambda _case: "the sessions of depends_on wait for each other: the spawn is refused",
    message=_render_cycle,
)


ROWS.add(
    rule="H3",
    protocol=PROTOCOL,
    when="a session of depends_on is not done",
    requirements=("H-14", "H-68"),
    fits=lambda case: _is_request(case) and bool(_open(case)),
    actions=(Action.WAIT,),
    sets=("blockers",),
    build=lambda case: {"blockers": _open(case)},
    reason=lambda case: (
        f"{counted_noun(len(_open(case)), 'session')} of depends_on not done: the request waits"
    ),
    message=_render_waiting,
)


ROWS.add(
    rule="H3c",
    protocol=PROTOCOL,
    when="a session of depends_on failed",
    requirements=("H-68",),
    fits=lambda case: _is_request(case) and bool(_failed(case)),
    actions=(Action.ASK_USER,),
    sets=("blockers",),
    build=lambda case: {"blockers": tuple(f"session failed: {name}" for name in _failed(case))},
    reason=lambda case: (
        f"{counted_noun(len(_failed(case)), 'session')} of depends_on failed: you decide"
    ),
    message=render_blockers,
)


@ROWS.row(
    rule="H6",
    protocol=PROTOCOL,
    when="the session has ended and a required file deliverable is missing, retries left",
    requirements=("H-10", "H-14"),
    fits=lambda case: (
        bool(_missing(case))
        and case.context.counters.session_retries
        < (
            case.context.policy.limits.session_retries
            if case.request.max_retries is None
            else case.request.max_retries
        )
    ),
    actions=(Action.RESUME_SAME,),
    sets=("next_agent", "instruction"),
    reason=lambda case: f"the session has ended without {_missing(case)[0]}: it continues",
    message=lambda case, _fields: notice(
        "Deliverables Missing",
        *(f"✗ {path} is missing" for path in _missing(case)[:10]),
        f"→ {_target(case)} resumes the session",
    ),
)
def _resume(case: RoutingInput) -> DecisionFields:
    lines = "\n".join(f"- {path}" for path in _missing(case))
    return {
        "next_agent": case.request.target,
        "instruction": (
            "These required deliverables are missing. Write them and end the session"
            f" again:\n{lines}"
        ),
        "state_changes": counted(session_retries=case.context.counters.session_retries + 1),
    }


@ROWS.row(
    rule="H6b",
    protocol=PROTOCOL,
    when="as H6, retries used up",
    requirements=("H-14",),
    fits=lambda case: bool(_missing(case)),
    actions=(Action.ASK_USER,),
    sets=("blockers",),
    reason=lambda case: (
        f"the session has ended without {_missing(case)[0]}, and no retry is left: you decide"
    ),
    message=lambda _case, fields: decision_required(
        "; ".join((fields.get("blockers") or ())[:5]),
        question="The retries are used up. How should it continue?",
    ),
)
def _give_up(case: RoutingInput) -> DecisionFields:
    missing = tuple(f"missing deliverable: {path}" for path in _missing(case))
    notify = (f"to be notified: {', '.join(case.request.notify)}",) if case.request.notify else ()
    return {"blockers": (*missing, *notify)}


@ROWS.row(
    rule="H7",
    protocol=PROTOCOL,
    when="member of a batch, all have left RUNNING",
    requirements=("H-46",),
    fits=lambda case: _is_in_batch(case) and not _running(case) and case.verdict.accepted,
    actions=(Action.CONTINUE_NEXT,),
    sets=("next_agent", "instruction", "results"),
    reason=lambda case: (
        f"{counted_noun(len(case.context.batch), 'session')} of the batch ended: the parent"
        " continues"
    ),
    message=_render_gathered,
)
def _gather(case: RoutingInput) -> DecisionFields:
    results = tuple(
        [
            SessionResult(session_id=name, state=each.state, result=each.result)
            for name, each in case.context.batch.items()
        ]
    )
    lines = [f"- {_session_in_words(each)}" for each in results]
    return {
        "next_agent": case.request.parent,
        "instruction": "\n".join(["All sessions of the batch have ended:", *lines]),
        "results": results,
    }


ROWS.add(
    rule="H7b",
    protocol=PROTOCOL,
    when="member of a batch, some RUNNING",
    requirements=("H-46",),
    fits=lambda case: _is_in_batch(case) and bool(_running(case)),
    actions=(Action.WAIT,),
    sets=("blockers",),
    build=lambda case: {"blockers": _running(case)},
    reason=lambda case: (
        f"{counted_noun(len(_running(case)), 'session')} of the batch running: the parent waits"
    ),
    message=_render_waiting,
)


ROWS.add(
    rule="H4",
    protocol=PROTOCOL,
    when="mode spawn, session not ended",
    requirements=("H-03", "H-25"),
    fits=lambda case: _may_start(case, "spawn"),
    actions=(Action.SPAWN,),
    sets=("next_agent", "instruction", "flags"),
    build=_request_to_target,
    reason=lambda case: f"mode spawn: a session for {_target(case)} begins",
    message=_handoff_with("begins with the request"),
)


ROWS.add(
    rule="H4b",
    protocol=PROTOCOL,
    when="mode blocking, session not ended",
    requirements=("H-03", "H-25"),
    fits=lambda case: _may_start(case, "blocking"),
    actions=(Action.SPAWN, Action.WAIT),
    sets=("next_agent", "instruction", "flags"),
    build=_request_to_target,
    reason=lambda case: (
        f"mode blocking: a session for {_target(case)} begins, and the parent waits"
    ),
    message=_handoff_with("begins with the request, and the parent waits"),
)


ROWS.add(
    rule="H4c",
    protocol=PROTOCOL,
    when="mode conversation_only, session not ended",
    requirements=("H-03", "H-25"),
    fits=lambda case: _may_start(case, "conversation_only"),
    actions=(Action.PROVIDE_CONTEXT,),
    sets=("instruction", "flags"),
    build=_request,
    reason=lambda _case: "mode conversation_only: the request is context, no session begins",
    message=_handoff_with("gets the request as context, no session begins"),
)

"""The rows before those of every protocol, and the row after them."""

from dataclasses import replace
from zlib import crc32

from goop_mcp.messages import decision_required, gate_blocked
from goop_mcp.routing.counting import another_try, counted
from goop_mcp.routing.decision import Action, DecisionFields
from goop_mcp.routing.messages import (
    checks_without_result,
    failed_checks,
    named,
    render_blockers,
    render_notice,
)
from goop_mcp.routing.row import ANY, RoutingInput, Row, RowList
from goop_mcp.routing.views import OutcomeKind
from goop_mcp.validation.feedback import compose_feedback
from goop_mcp.validation.findings import Finding, Severity, counted_noun, excerpt
from goop_mcp.validation.limits import DEFAULT_LIMITS
from goop_mcp.workflow.gates import GATES, GateName

__all__ = ["FIRST_ROWS", "LAST_ROW"]

_VALUES = "#"


# A prompt is not an answer to anything, and a rejected prompt has separate rows (H-31).
def _no_response(case: RoutingInput) -> bool:
    return not case.context.responded and case.protocol != "agent_request"


def _only_evidence(case: RoutingInput) -> bool:
    if case.protocol == "agent_request" or not case.errors or not case.rejected:
        return False
    return all(error.rule.startswith("evidence/") for error in case.errors)


def _rejected(case: RoutingInput) -> bool:
    return case.rejected and case.protocol != "agent_request"


def _failed_the_same(case: RoutingInput) -> bool:
    """Return whether the same rules failed before, by the same values where those are known (D-98).

    An entry without a digest of its values, which callers write who keep only ids, matches the
    rule whatever its values.
    """
    # Asking again is useless only if nothing changed. The same rule with another value is progress:
    # the agent tried, and may succeed with the next feedback.
    before = dict(entry.partition(_VALUES)[::2] for entry in case.context.previous_rules)
    failed = dict(entry.partition(_VALUES)[::2] for entry in _failed_rules(case))
    if not before or before.keys() != failed.keys():
        return False
    return all(digest in ("", failed[rule]) for rule, digest in before.items())


def _failed_rules(case: RoutingInput) -> set[str]:
    """Return the ids of the rules that failed, each with a digest of the values by which it did.

    A digest and not the values, because the agent's text has no place in the caller's state.
    """
    values: dict[str, set[str]] = {}
    for error in case.errors:
        values.setdefault(error.rule, set()).update([] if error.found is None else [error.found])

    digests = {
        rule: crc32(repr(sorted(found)).encode("utf-8", "surrogatepass"))
        for rule, found in values.items()
        if found
    }
    return {f"{rule}{_VALUES}{digests[rule]:08x}" if rule in digests else rule for rule in values}


def _feedback(case: RoutingInput) -> str:
    """Return the feedback for the agent: that of the verdict where it names every error."""
    # The feedback of the verdict has quotes and the template of the envelope, which cannot be
    # composed again from the findings. It is used unless the caller added errors that it does not
    # mention.
    in_verdict = case.verdict.of_severity(Severity.ERROR)
    if case.verdict.feedback and len(in_verdict) == len(case.errors):
        return case.verdict.feedback

    # Warnings count as errors by policy: the agent must read them as errors.
    errors = [replace(error, severity=Severity.ERROR) for error in case.errors]
    return compose_feedback(errors, no_envelope=False, template="", limits=DEFAULT_LIMITS)


def _error_messages(case: RoutingInput) -> DecisionFields:
    return {"blockers": tuple(map(_error_message, case.errors)) or ("the reply was not accepted",)}


def _error_message(error: Finding) -> str:
    return f"{error.message} ({error.rule})"


def _worst(case: RoutingInput) -> str:
    if not case.errors:
        return "the reply was not accepted"
    more = f", and {len(case.errors) - 1} more" if len(case.errors) > 1 else ""
    return f"{excerpt(case.errors[0].message, 160)}{more}"


def _render_repair(case: RoutingInput, fields: DecisionFields) -> str:
    retry = fields.get("retry")
    step = f"{named(case.same_agent)} is asked to send the envelope again"
    if retry is not None:
        step += f" (attempt {retry.attempt} of {retry.max_attempts})"
    return render_notice("Reply Not Accepted", f"⚠️ {_worst(case)}", step)


def _render_given_up(_case: RoutingInput, fields: DecisionFields) -> str:
    question = "The reply does not count as done. How should it continue?"
    return decision_required("; ".join((fields.get("blockers") or ())[:3]), question=question)


def _unplaced(case: RoutingInput) -> DecisionFields:
    report = case.report
    # An exhausted feedback loop or a broken context is described by its findings.
    if not case.verdict.accepted and case.verdict.findings:
        return {
            "blockers": tuple(
                _error_message(each) for each in case.verdict.of_severity(Severity.ERROR)
            )
        }

    return {
        "blockers": (
            _what_could_not_be_placed(case, report.next[0].agent if report.next else None),
        )
    }


def _what_could_not_be_placed(case: RoutingInput, next_agent: str | None) -> str:
    if case.protocol is None:
        return "nothing in the text is an envelope of a known protocol"
    if case.outcome is OutcomeKind.REQUEST:
        return (
            f"the session of this request is {case.context.session_state or 'over'}, and nothing is"
            " missing"
        )

    if case.outcome is OutcomeKind.INPUT:
        return f"the text is an input for a {case.protocol} agent, not a reply"

    status = case.report.native_status or "no status"
    if case.outcome is OutcomeKind.CHECKPOINT and case.report.failed_checks:
        return f"{status}, but {failed_checks(case)}"
    if case.outcome is OutcomeKind.CHECKPOINT and case.report.checks_without_result:
        return f"{status}, but {checks_without_result(case)}"
    if case.outcome in (OutcomeKind.DONE, OutcomeKind.CHECKPOINT):
        if _gate_is_closed(case):
            return f"{status}, but the execution gate is closed: the execution is not complete"
        if next_agent:
            return f"{status}, and the next agent is {excerpt(next_agent, 60)!r}"
        return f"{status}, but nobody is named to continue"

    return f"{case.protocol} says {status}, and no row fits"


def _gate_is_closed(case: RoutingInput) -> bool:
    """Return whether the last task is reported, but the caller knows that the gate is closed."""
    return (
        case.outcome is OutcomeKind.DONE
        and case.report.is_last_task
        and case.context.execution_gate is False
    )


def _render_unplaced(case: RoutingInput, fields: DecisionFields) -> str:
    if _gate_is_closed(case):
        return gate_blocked(
            (fields.get("blockers") or ("",))[0], command=GATES[GateName.EXECUTION].command
        )
    return render_blockers(case, fields)


# Tried before the rows of every protocol: no content may be acted upon while there is no reply, or
# none that was accepted. Of these rows, missing evidence comes before other errors, because the
# envelope is right then and only its claims have to be corrected.
FIRST_ROWS = RowList()


@FIRST_ROWS.row(
    rule="R1",
    protocol=ANY,
    when="no response in time, attempts left",
    requirements=("S-22", "F-10"),
    fits=lambda case: (
        _no_response(case) and case.context.attempt <= case.context.policy.limits.response_retries
    ),
    actions=(Action.RETRY,),
    sets=("next_agent", "retry"),
    reason=lambda case: (
        f"no response in time from {named(case.same_agent)}: the same request goes out again"
    ),
    message=lambda case, _: render_notice(
        "No Response",
        "⏳ No response in time",
        f"The same request goes to {named(case.same_agent)} again",
    ),
)
def _ask_again(case: RoutingInput) -> DecisionFields:
    limit = case.context.policy.limits.response_retries
    retry = another_try(case.context.attempt - 1, limit, message="send the same request again")
    return {
        "next_agent": case.same_agent,
        "retry": retry,
        "state_changes": {"attempt": retry.attempt},
    }


@FIRST_ROWS.row(
    rule="R1b",
    protocol=ANY,
    when="no response in time, attempts used up",
    requirements=("S-22", "G-51"),
    fits=_no_response,
    actions=(Action.ASK_USER,),
    sets=("blockers",),
    reason=lambda case: (
        f"no response in time after {counted_noun(case.context.attempt, 'attempt')}: you decide"
    ),
    message=render_blockers,
)
def _nothing_came(case: RoutingInput) -> DecisionFields:
    blocker = (
        f"no response from {named(case.same_agent)} after"
        f" {counted_noun(case.context.attempt, 'attempt')}"
    )
    return {"blockers": (blocker,)}


@FIRST_ROWS.row(
    rule="R4",
    protocol=ANY,
    when=("the only errors are `evidence/*` (a claimed file or commit does not exist), first time"),
    requirements=("F-15", "G-49"),
    fits=lambda case: (
        _only_evidence(case)
        and (case.context.counters.evidence_repairs < case.context.policy.limits.evidence_repairs)
    ),
    actions=(Action.REQUEST_REPAIR, Action.RESUME_SAME),
    sets=("instruction",),
    reason=lambda case: (
        f"the reply claims what does not exist ({_worst(case)}): the agent corrects it"
    ),
    message=_render_repair,
)
def _ask_for_evidence(case: RoutingInput) -> DecisionFields:
    counters = counted(evidence_repairs=case.context.counters.evidence_repairs + 1)
    return {"instruction": _feedback(case), "state_changes": counters}


FIRST_ROWS.add(
    rule="R4b",
    protocol=ANY,
    when="as R4, again",
    requirements=("F-15",),
    fits=_only_evidence,
    actions=(Action.ASK_USER,),
    sets=("blockers",),
    build=_error_messages,
    reason=lambda case: f"the reply again claims what does not exist ({_worst(case)}): you decide",
    message=_render_given_up,
)


@FIRST_ROWS.row(
    rule="R2",
    protocol=ANY,
    when=(
        "verdict rejected, or envelope missing; rounds left, and not the same rules"
        " and values again"
    ),
    requirements=("G-01", "G-36", "S-09", "F-10"),
    # "The router stops earlier when the same rules fail twice in a row" (D-89).
    fits=lambda case: (
        _rejected(case)
        and case.context.counters.repair_rounds < case.context.policy.limits.max_repair_rounds
        and not _failed_the_same(case)
    ),
    actions=(Action.REQUEST_REPAIR,),
    sets=("next_agent", "instruction", "retry"),
    reason=lambda case: (
        f"{counted_noun(len(case.errors), 'error')} in the reply: {named(case.same_agent)} is asked"
        " to repair it"
    ),
    message=_render_repair,
)
def _ask_for_repair(case: RoutingInput) -> DecisionFields:
    rounds = case.context.counters.repair_rounds
    feedback = _feedback(case)
    return {
        "next_agent": case.same_agent,
        "instruction": feedback,
        "retry": another_try(
            rounds, case.context.policy.limits.max_repair_rounds, message="send the envelope again"
        ),
        "state_changes": {
            **counted(repair_rounds=rounds + 1),
            "previous_rules": sorted(_failed_rules(case)),
        },
    }


FIRST_ROWS.add(
    rule="R3",
    protocol=ANY,
    when="as R2, rounds used up or the same rules again with the same values; never a success",
    requirements=("G-01", "S-09", "F-10"),
    fits=_rejected,
    actions=(Action.ASK_USER,),
    sets=("blockers",),
    build=_error_messages,
    reason=lambda case: (
        "the same rules failed again, so asking once more would change nothing: you decide"
        if case.context.counters.repair_rounds < case.context.policy.limits.max_repair_rounds
        else "still not accepted after"
        f" {counted_noun(case.context.counters.repair_rounds, 'repair round')}: you decide"
    ),
    message=_render_given_up,
)


LAST_ROW = Row(
    rule="R9",
    protocol=ANY,
    when="no row fits",
    requirements=("G-56", "F-10"),
    fits=lambda _case: True,
    actions=(Action.ASK_USER,),
    sets=("blockers",),
    build=_unplaced,
    reason=lambda case: f"{(_unplaced(case).get('blockers') or ('nothing fits',))[0]}: you decide",
    message=_render_unplaced,
)

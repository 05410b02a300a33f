"""Any input leads to a decision, always the same one, and nothing advances that must not."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp import Verdict
from goop_mcp.messages import check_message
from goop_mcp.protocols.goop_report.model import Report
from goop_mcp.routing import Action, OutcomeKind, RoutingContext, route
from goop_mcp.routing.row import RoutingInput
from goop_mcp.routing.table import ROWS, rows_for
from goop_mcp.routing.task_states import A2AState, decision_state, verdict_state
from goop_mcp.routing.views import (
    CheckView,
    DeliverableView,
    ErrorView,
    Issue,
    NextStep,
    PositionView,
    Question,
    ReportView,
    RequestView,
)
from goop_mcp.validation.findings import Finding, Severity
from tests.requirements import requirement
from tests.routing.examples import EXAMPLES, Example
from tests.routing.replies import judged, not_found, routed
from tests.routing.strategies import contexts, detailed_verdicts, verdicts
from tests.routing.test_agent_request_rows import SESSION, prompt

ADVANCING = {Action.CONTINUE_NEXT, Action.FINISH}
GOING_ON = [each for each in EXAMPLES if ADVANCING & {*each.actions.split()} and each.rule != "H7"]
OWN_FORM = {"H1", "H1b", "H2"}
ACCEPTED = Verdict(verdict="accepted", protocol=None, version=None, mode="lenient")


@requirement("G-56", "F-10")
@given(verdicts(), contexts())
def test_every_verdict_in_every_context_has_a_decision(
    verdict: Verdict, context: RoutingContext
) -> None:
    decision = route(verdict, context)

    assert decision.actions
    assert set(decision.actions) <= set(Action)
    assert decision.rule in {row.rule for row in ROWS}
    assert decision.reason.endswith(f"({decision.rule}).")
    assert json.loads(json.dumps(decision.to_dict(), allow_nan=True))
    assert decision_state(decision).a2a in A2AState
    assert verdict_state(verdict).state in A2AState


@given(verdicts(), contexts())
def test_the_same_input_gives_the_same_decision(verdict: Verdict, context: RoutingContext) -> None:
    assert route(verdict, context) == route(verdict, context)


@requirement("G-47", "F-23", "F-10")
@given(verdicts(), contexts())
def test_nothing_advances_that_should_not(verdict: Verdict, context: RoutingContext) -> None:
    decision = route(verdict, context)

    if ADVANCING & set(decision.actions):
        assert verdict.accepted
        assert verdict.envelope is not None
        assert may_advance(verdict.protocol, verdict.envelope.to_dict())
        if verdict.protocol == "agent_request":
            assert all(
                state.state not in ("RUNNING", "PENDING") for state in context.batch.values()
            )
        else:
            assert context.responded
            assert not any(finding.severity is Severity.ERROR for finding in context.evidence)


@requirement("G-47", "F-23", "S-36", "S-38", "S-40", "S-33")
@pytest.mark.parametrize("protocol", ["goop_report", "speckit", "factory"])
@given(data=st.data(), checkpoint=st.booleans(), approve=st.booleans())
def test_what_stops_the_work_is_never_passed_over(
    protocol: str, data: st.DataObject, checkpoint: bool, approve: bool
) -> None:
    verdict = data.draw(detailed_verdicts(protocol))
    policy = {"checkpoint_before_implement": checkpoint, "approve_build": approve}
    decision = route(verdict, {"policy": policy, "known_agents": ["baker"]})

    assert verdict.envelope is not None
    if ADVANCING & set(decision.actions):
        assert verdict.accepted
        assert may_advance(protocol, verdict.envelope.to_dict())


_STOPS = st.sampled_from(
    [
        {"responded": False},
        {"responded": False, "attempt": 3},
        {"evidence": [not_found()]},
        {"evidence": [not_found()], "counters": {"evidence_repairs": 1}},
        {"execution_gate": False, "evidence": [not_found()], "policy": {"fail_on_warning": True}},
    ]
)


@given(st.sampled_from(GOING_ON), _STOPS)
def test_what_the_caller_knows_stops_what_would_go_on(
    example: Example, stop: Mapping[str, Any]
) -> None:
    assert ADVANCING & set(example.decision().actions)

    decision = routed(example.text, example.protocol, {**example.context, **stop})

    assert not ADVANCING & set(decision.actions)


every_reply_that_goes_on = pytest.mark.parametrize(
    "example", GOING_ON, ids=lambda example: example.rule
)


@every_reply_that_goes_on
@pytest.mark.parametrize(
    "lost", [{"status": None}, {"partial": True}], ids=["without status", "cut off"]
)
def test_an_envelope_without_status_or_end_never_goes_on(
    example: Example, lost: dict[str, Any]
) -> None:
    """Say that it was accepted all the same: the router does not rely on the judge."""
    verdict = judged(example.text, example.protocol)
    assert verdict.envelope is not None
    spoiled = replace(verdict, envelope=replace(cast("Any", verdict.envelope), **lost))

    assert not ADVANCING & set(route(spoiled, example.context).actions)


@every_reply_that_goes_on
def test_the_same_reply_rejected_never_goes_on(example: Example) -> None:
    verdict = judged(example.text, example.protocol)
    error = Finding(rule="xml/malformed", severity=Severity.ERROR, message="x", fix="y")
    rejected = replace(verdict, verdict="rejected", findings=(*verdict.findings, error))

    assert not ADVANCING & set(route(rejected, example.context).actions)


_STATES = st.sampled_from(["RUNNING", "PENDING", "COMPLETED", "FAILED"])


@requirement("H-46")
@given(_STATES, st.dictionaries(st.sampled_from(["a", "b"]), _STATES), st.booleans())
def test_a_batch_goes_on_only_when_nothing_runs_and_the_request_is_accepted(
    own: str, others: dict[str, str], accepted: bool
) -> None:
    verdict = judged(prompt(), "agent_request")
    if not accepted:
        verdict = replace(
            verdict, verdict="rejected", findings=(*verdict.findings, not_found("docs/other.md"))
        )

    decision = route(verdict, {"batch": {SESSION: own, **others}})

    ended = {own, *others.values()} <= {"COMPLETED", "FAILED"}
    assert (Action.CONTINUE_NEXT in decision.actions) == (ended and accepted)


def may_advance(protocol: str | None, values: Mapping[str, Any]) -> bool:
    """Return whether an envelope's native values let the work go on, read without the router."""
    if protocol == "goop_report":
        failed = any(check["passed"] is False for check in values["verification"] or [])
        return values["status"] in ("COMPLETE", "CHECKPOINT") and not failed
    if protocol == "factory":
        return (
            values["status"] == "success"
            and values["verdict"] != "BLOCKING"
            and values["confidence"] in (None, "high", "medium")
        )

    if protocol == "speckit":
        return values["status"] == "success" and not stops_in(
            values["agent"], values["result"] or {}
        )

    return protocol == "agent_request"


def stops_in(agent: str, result: Mapping[str, Any]) -> bool:
    """Return whether the result of a speckit success says stop (D-45)."""
    counts = result.get("findings_by_severity") or {}
    compliance = result.get("constitution_compliance") or {}
    stops = {
        "test": result.get("overall_status") == "FAILED",
        "analyze": (
            counts.get("CRITICAL")
            or "CRITICAL" in {each["severity"] for each in result.get("findings") or ()}
        ),
        "plan": result.get("constitution_violations"),
        "review": (
            compliance.get("status") == "FAIL"
            or result.get("overall_status") == "NEEDS_MANUAL_REVIEW"
        ),
        "clarify": result.get("remaining_ambiguities"),
        "implement": result.get("completion_percentage", 0) < 100,
        "research": result.get("confidence_level") == "LOW",
    }

    return bool(stops.get(agent.removeprefix("speckit-").removeprefix("speckit.")))


@given(verdicts(), contexts())
def test_every_message_keeps_to_the_style(verdict: Verdict, context: RoutingContext) -> None:
    decision = route(verdict, context)

    if decision.rule not in OWN_FORM:
        assert check_message(decision.message) == ()


@given(verdicts(), contexts())
def test_a_row_sets_only_what_it_names(verdict: Verdict, context: RoutingContext) -> None:
    decision = route(verdict, context)
    carried = {name for row in ROWS if row.rule == decision.rule for name in row.sets}

    for name in ("next_agent", "instruction", "next_command", "new_session", "retry"):
        assert name in carried or getattr(decision, name) is None

    for name in ("files_to_read", "questions", "flags", "issues", "results"):
        assert name in carried or getattr(decision, name) == ()

    handoff = verdict.envelope.handoff if isinstance(verdict.envelope, Report) else None
    own = (handoff.blockers,) if handoff is not None else ()
    assert "blockers" in carried or decision.blockers in ((), own)


@requirement("G-32", "G-41", "G-45")
@given(verdicts(), contexts())
def test_a_blocker_of_an_accepted_report_never_vanishes(
    verdict: Verdict, context: RoutingContext
) -> None:
    handoff = verdict.envelope.handoff if isinstance(verdict.envelope, Report) else None
    if not verdict.accepted or handoff is None or not handoff.blockers or not context.responded:
        return

    assert any(handoff.blockers in each for each in route(verdict, context).blockers)


@given(verdicts(), contexts())
def test_state_changes_are_a_context_that_can_be_given_next_time(
    verdict: Verdict, context: RoutingContext
) -> None:
    decision = route(verdict, context)

    following = RoutingContext.from_dict(decision.to_dict()["state_changes"])
    assert route(verdict, following).actions


@given(verdicts())
def test_no_automatic_way_goes_round_for_ever(verdict: Verdict) -> None:
    """Give the same reply repeatedly, store the changes: soon somebody is asked."""
    asked = {
        Action.REQUEST_REPAIR,
        Action.RETRY,
        Action.RETRY_WITH_BACKOFF,
        Action.FIX_AND_RETRY,
        Action.FEEDBACK_LOOP,
    }
    stored: dict[str, Any] = {}

    for _ in range(8):
        decision = route(verdict, RoutingContext.from_dict(stored))
        changes = decision.to_dict()["state_changes"]
        stored = {
            **stored,
            **changes,
            "counters": {**stored.get("counters", {}), **changes.get("counters", {})},
        }

    assert not asked & set(decision.actions)


# Views of any shape, also such as no adapter makes

_TEXTS = st.none() | st.sampled_from(
    ["x", "goop-executor", "user", "bob", "PASS", "low", "medium", "plan", ""]
)
_RESULTS = st.dictionaries(
    st.sampled_from(
        [
            "verdict",
            "constitution_violations",
            "clarifications_needed",
            "tasks_file",
            "completion_percentage",
        ]
    ),
    st.sampled_from([None, "BLOCKING", "PASS", 3, [], ["x"], {"a": 1}]),
    max_size=3,
)
_POSITIONS = st.none() | st.builds(
    PositionView, st.none() | st.integers(0, 3), st.none() | st.integers(0, 3)
)
_REPORTS = st.builds(
    ReportView,
    outcome=st.sampled_from(OutcomeKind),
    native_status=_TEXTS,
    agent=_TEXTS,
    task_id=_TEXTS,
    phase=_TEXTS,
    wave=_POSITIONS,
    task=_POSITIONS,
    summary=_TEXTS,
    checks=st.lists(
        st.builds(CheckView, st.just("tests"), st.sampled_from([None, True, False])), max_size=2
    ).map(tuple),
    next=st.lists(
        st.builds(NextStep, _TEXTS, st.sampled_from(["", "go on", "ready_for_review"])), max_size=2
    ).map(tuple),
    next_command=_TEXTS,
    new_session=st.sampled_from([None, True, False]),
    blockers=_TEXTS,
    questions=st.lists(
        st.builds(Question, id=st.just("q1"), text=st.just("?"), default=_TEXTS), max_size=2
    ).map(tuple),
    error=st.none()
    | st.builds(
        ErrorView, type=_TEXTS, strategy=_TEXTS, recoverable=st.sampled_from([None, True, False])
    ),
    issues=st.lists(
        st.builds(Issue, severity=st.just("HIGH"), type=st.just("x"), message=st.just("m")),
        max_size=2,
    ).map(tuple),
    confidence=_TEXTS,
    result=_RESULTS,
)
_REQUESTS = st.builds(
    RequestView,
    outcome=st.sampled_from(OutcomeKind),
    mode=st.sampled_from([None, "spawn", "blocking", "conversation_only", "odd"]),
    workflow=_TEXTS,
    session_id=st.sampled_from([None, "s"]),
    max_retries=st.sampled_from([None, 0, 2]),
    depends_on=st.lists(st.sampled_from(["a", "b", "s"]), max_size=2).map(tuple),
    deliverables=st.lists(
        st.builds(DeliverableView, st.just("file"), st.just("src/a.py")), max_size=1
    ).map(tuple),
)


@st.composite
def cases(draw: st.DrawFn) -> RoutingInput:
    view = draw(st.one_of(_REPORTS, _REQUESTS))
    return RoutingInput(
        verdict=ACCEPTED,
        context=draw(contexts()),
        protocol=draw(
            st.sampled_from([None, "goop_report", "speckit", "factory", "agent_request", "odd"])
        ),
        outcome=view.outcome,
        **({"report": view} if isinstance(view, ReportView) else {"request": view}),
        rejected=draw(st.booleans()),
    )


@given(cases())
def test_a_view_of_any_shape_finds_a_row_that_can_be_carried_out(seen: RoutingInput) -> None:
    row = next(row for row in rows_for(seen.protocol) if row.fits(seen))
    fields = row.build(seen)

    assert set(fields) <= {*row.sets, "state_changes"}
    assert row.reason(seen)
    assert row.message(seen, fields)
    safe = seen.outcome in (OutcomeKind.DONE, OutcomeKind.CHECKPOINT, OutcomeKind.REQUEST)
    failed = seen.outcome is OutcomeKind.CHECKPOINT and seen.report.failed_checks
    if not safe or failed or (seen.rejected and seen.protocol != "agent_request"):
        assert not ADVANCING & set(row.actions)

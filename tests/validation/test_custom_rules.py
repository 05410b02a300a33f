"""Custom rules are run with the built-in ones; unusable ones are refused, failing ones named."""

import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp import Expectations, Hit, Rule, Severity, validate
from goop_mcp.errors import RuleFailedError, RuleRefusedError
from goop_mcp.protocols import FAMILIES, NAMESPACES, RULES, rules_with
from goop_mcp.protocols.agent_request import Request
from goop_mcp.protocols.factory import Reply
from goop_mcp.protocols.goop_report import Report
from goop_mcp.protocols.speckit import AgentInput, Response, WorkflowContext
from goop_mcp.routing import RoutingContext
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.services.route_reply import route_reply
from goop_mcp.validation.findings import Mode
from tests.validation.replies import MODES, changed, read_case, the_finding
from tests.validation.shop import (
    BROKEN,
    FIX,
    MESSAGE,
    TICKET,
    WITH_TICKET,
    WITHOUT_TICKET,
    fails_on_everything,
    ticket_checked_by,
)

EVERY_MODEL = (Report, Request, Response, AgentInput, Reply)


# Whatever a program without types may give
def hit(**values: Any) -> Hit:  # noqa: ANN401
    return Hit(**values)


RETURNED: list[Any] = [
    False,
    0,
    "",
    "no ticket",
    b"no ticket",
    {"message": "no ticket"},
    [Hit(message="a"), "b"],
    Hit(message=""),
    hit(message=None),
    hit(message="a", path=7),
    hit(message="a", expected="COMPLETE"),
    Hit(message="a", offset=3),
    Hit(message="a", before="b", after="c"),
]


def anywhere(path: str | None, found: str | None = None) -> Rule:
    """Return a rule for every envelope that names this place."""
    return replace(
        ticket_checked_by(lambda _model, _expected: Hit(message="seen", path=path, found=found)),
        model=EVERY_MODEL,
    )


@pytest.mark.parametrize("mode", MODES)
def test_a_rule_of_ones_own_rejects_with_its_place_and_its_fix(mode: Mode) -> None:
    verdict = validate(WITHOUT_TICKET, mode=mode, rules=[TICKET])
    finding = the_finding(verdict, TICKET.id)

    assert not verdict.accepted
    assert (finding.message, finding.fix, finding.severity) == (MESSAGE, FIX, Severity.ERROR)
    assert finding.line is not None
    assert "<summary>" in WITHOUT_TICKET.splitlines()[finding.line - 1]
    assert f"{MESSAGE} ({TICKET.id}). {FIX}" in (verdict.feedback or "")


@pytest.mark.parametrize("mode", MODES)
def test_a_reply_that_keeps_the_rule_is_judged_as_without_it(mode: Mode) -> None:
    assert validate(WITH_TICKET, mode=mode, rules=(TICKET,)) == validate(WITH_TICKET, mode=mode)


@pytest.mark.parametrize(("mode", "accepted"), [("lenient", True), ("strict", False)])
def test_the_severity_of_the_mode_counts(mode: Mode, accepted: bool) -> None:
    verdict = validate(WITHOUT_TICKET, mode=mode, rules=[replace(TICKET, lenient=Severity.WARNING)])
    assert verdict.accepted is accepted
    assert the_finding(verdict, TICKET.id).severity == ("warning" if accepted else "error")


def test_findings_of_both_kinds_stand_in_order_of_position_and_in_one_feedback() -> None:
    reply = changed(
        WITHOUT_TICKET,
        ("<status>COMPLETE</status>", "<status>DONE</status>"),
        (
            "<suggest_new_session>false</suggest_new_session>",
            "<suggest_new_session>no</suggest_new_session>",
        ),
    )
    verdict = validate(reply, rules=[TICKET])
    errors = [finding.rule for finding in verdict.of_severity(Severity.ERROR)]

    assert errors == ["goop_report/unknown-status", TICKET.id, "goop_report/not-a-boolean"]
    assert all(rule in (verdict.feedback or "") for rule in errors)


def test_several_hits_and_what_a_generator_yields_are_all_findings() -> None:
    def each_word(report: Report, _expected: Expectations) -> Iterator[Hit]:
        for word in (report.summary or "").split()[:3]:
            yield Hit(message=f"summary has {word}", path="/goop_report/summary", found=word)

    verdict = validate(WITHOUT_TICKET, rules=[ticket_checked_by(each_word)])
    assert [finding.message for finding in verdict.findings if finding.rule == TICKET.id] == [
        "summary has Implemented",
        "summary has JWT-based",
        "summary has authentication",
    ]


def test_the_check_receives_what_the_caller_expects() -> None:
    received: list[Expectations] = []
    rule = ticket_checked_by(lambda _report, expected: received.append(expected))
    validate(WITH_TICKET, expected=Expectations(agent="goop-executor"), rules=[rule])
    validate(WITH_TICKET, rules=[rule])
    assert [expected.agent for expected in received] == ["goop-executor", None]


def test_a_rule_judges_the_envelopes_of_its_model_only() -> None:
    seen: list[type] = []
    rule = replace(
        ticket_checked_by(lambda model, _expected: seen.append(type(model))),
        model=(Request, Response),
    )
    for reply in REPLIES:
        validate(reply, rules=[rule])

    assert set(seen) == {Request, Response}


def test_what_has_no_envelope_or_was_cut_off_is_judged_by_no_rule_of_ones_own() -> None:
    for reply in ("", "Done.", WITHOUT_TICKET[: len(WITHOUT_TICKET) * 7 // 10], "x" * 3_000_000):
        assert validate(reply, rules=[BROKEN]) == validate(reply)


def test_the_envelope_need_not_be_good_otherwise() -> None:
    reply = changed(WITHOUT_TICKET, ("<agent>goop-executor</agent>", ""))
    assert {
        finding.rule for finding in validate(reply, rules=[TICKET]).of_severity(Severity.ERROR)
    } == {
        "goop_report/missing-field",
        TICKET.id,
    }


def test_where_a_form_knows_no_places_the_words_that_were_found_give_one() -> None:
    older = read_case("subagent_protocol/legacy_013_subagent_response.json")
    finding = the_finding(
        validate(older, rules=[anywhere("/summary", found="install jose")]), TICKET.id
    )
    assert finding.line is not None
    assert older.splitlines()[finding.line - 1][(finding.column or 0) - 1 :].startswith(
        "install jose"
    )


def test_what_a_rule_says_in_the_agents_words_is_fit_to_be_shown() -> None:
    rule = ticket_checked_by(
        lambda _report, _expected: Hit(message="a\n\x1b[31mred\ud800" + "x" * 5_000, fix="b\nc")
    )
    finding = the_finding(validate(WITHOUT_TICKET, rules=[rule]), rule.id)
    assert finding.message.isprintable()
    assert len(finding.message) <= 1_000
    assert finding.fix == "b c"


def test_a_rule_counts_where_claims_are_verified_and_where_replies_are_routed(
    tmp_path: Any,  # noqa: ANN401
) -> None:
    assert TICKET.id in {
        finding.rule
        for finding in check_workspace(WITHOUT_TICKET, tmp_path, rules=[TICKET]).findings
    }
    for project in (None, tmp_path):
        decision = route_reply(WITHOUT_TICKET, RoutingContext(), project=project, rules=[TICKET])
        assert TICKET.id in {finding.rule for finding in decision.verdict.findings}
        assert decision.actions[0] == "request_repair"


def test_a_check_that_raises_is_reported_with_its_rule_its_line_and_its_cause() -> None:
    with pytest.raises(RuleFailedError) as caught:
        validate(WITHOUT_TICKET, rules=[TICKET, replace(BROKEN, id="shop/tracker")])

    line = fails_on_everything.__code__.co_firstlineno + 1
    assert caught.value.rule == "shop/tracker"
    assert (
        str(caught.value)
        == "rule shop/tracker failed: LookupError: no tracker for goop-executor (shop.py, line"
        f" {line}); fix its check"
    )
    assert isinstance(caught.value.__cause__, LookupError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301


def test_the_line_of_a_generator_is_reported_too() -> None:
    def yields_and_fails(report: Report, _expected: Expectations) -> Iterator[Hit]:
        yield Hit(message="a")
        raise LookupError(f"no tracker for {report.agent}")

    line = yields_and_fails.__code__.co_firstlineno + 2
    place = rf"\(test_custom_rules\.py, line {line}\)"
    with pytest.raises(RuleFailedError, match=f"no tracker for goop-executor {place}"):
        validate(WITH_TICKET, rules=[ticket_checked_by(yields_and_fails)])


def test_a_check_that_ends_the_process_fails_like_any_other() -> None:
    def ends(_report: Report, _expected: Expectations) -> None:
        sys.exit(2)

    with pytest.raises(
        RuleFailedError,
        match=r"^rule shop/ticket-missing failed: SystemExit: 2 \(test_custom_rules\.py",
    ):
        validate(WITH_TICKET, rules=[ticket_checked_by(ends)])


@pytest.mark.parametrize("returned", RETURNED)
def test_a_check_that_returns_what_is_no_finding_fails_and_lets_nothing_through(
    returned: object,
) -> None:
    rule = ticket_checked_by(lambda _report, _expected: returned)
    with pytest.raises(RuleFailedError, match=r"^rule shop/ticket-missing failed: its? "):
        validate(WITH_TICKET, rules=[rule])


@pytest.mark.parametrize("returned", [None, [], (), [Hit(message="a")], (Hit(message="a"),)])
def test_a_check_returns_nothing_or_several(returned: object) -> None:
    rule = ticket_checked_by(lambda _report, _expected: returned)
    assert validate(WITH_TICKET, rules=[rule]).accepted is not bool(returned)


def test_a_check_that_takes_other_arguments_is_named() -> None:
    with pytest.raises(RuleFailedError, match="shop/ticket-missing failed: TypeError"):
        validate(WITH_TICKET, rules=[ticket_checked_by(lambda: None)])


def test_an_interrupt_in_a_check_goes_through() -> None:
    def interrupted(_report: Report, _expected: Expectations) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        validate(WITH_TICKET, rules=[ticket_checked_by(interrupted)])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"id": "ticket-missing"}, "its id has another form"),
        ({"id": "Shop/Ticket"}, "its id has another form"),
        ({"id": "shop/ticket/missing"}, "its id has another form"),
        ({"id": "shop/" + "x" * 200}, "its id has another form"),
        ({"id": 7}, "its id has another form"),
        ({"id": "goop_report/unknown-status"}, "those of goop-mcp"),
        ({"id": "goop_report/ticket-missing"}, "those of goop-mcp"),
        ({"id": "xml/ticket-missing"}, "those of goop-mcp"),
        ({"model": None}, "model is not an envelope class"),
        ({"model": ()}, "model is not an envelope class"),
        ({"model": "goop_report"}, "model is not an envelope class"),
        ({"model": (Report, WorkflowContext)}, "model is not an envelope class"),
        ({"lenient": "error"}, "lenient is 'error'"),
        ({"strict": None}, "strict is None"),
        ({"fix": " "}, "fix is ' '"),
        ({"example": None}, "it has no example"),
        ({"check": None}, "it has no check"),
    ],
)
def test_a_rule_that_could_not_work_is_refused_with_the_reason(
    changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(RuleRefusedError, match=why):
        validate("", rules=[replace(TICKET, **changes)])


@pytest.mark.parametrize(
    "rules", [TICKET, "shop_rules.py", ["shop/ticket-missing"], None, {TICKET.id: TICKET}]
)
# Whatever a caller may give
def test_what_are_no_rules_is_refused(rules: Any) -> None:  # noqa: ANN401
    with pytest.raises(RuleRefusedError, match=r"expected Rule\(\.\.\.\)"):
        validate("", rules=rules)


def test_two_rules_of_one_id_are_refused() -> None:
    with pytest.raises(RuleRefusedError, match="two of rules are called 'shop/ticket-missing'"):
        validate("", rules=[TICKET, BROKEN])


def test_every_first_part_of_an_id_of_ours_is_taken() -> None:
    assert {rule.family for rule in RULES.values()} | {
        family.name for family in FAMILIES
    } == NAMESPACES


def test_custom_rules_are_found_after_ours() -> None:
    book = rules_with([TICKET])
    assert list(book) == [*RULES, TICKET.id]
    assert book.find("ticket-missing") is TICKET
    assert rules_with(()) is RULES


STEPS = [
    "",
    "goop_report",
    "summary",
    "summary[1]",
    "@x",
    "text()",
    "status",
    "result",
    "0",
    "-1",
    "~1",
    "²",
]
PATHS = st.text() | st.lists(st.sampled_from(STEPS), max_size=5).map(
    lambda steps: "/" + "/".join(steps)
)
REPLIES = [
    read_case(name)
    for name in (
        "goop_report/016_executor_complete.xml",
        "goop_report/derived_missing_handoff.xml",
        "agent_request/8_2_namespaced_full.md",
        "agent_request/7_1_s3_missing_field.md",
        "speckit/concrete_plan.json",
        "speckit/concrete_workflow_context.txt",
        "factory/concrete_questions.json",
        "factory/message_markdown_success.md",
    )
]


@given(reply=st.sampled_from(REPLIES), path=PATHS, found=st.none() | st.text(max_size=5))
def test_whatever_place_a_rule_names_there_is_a_verdict(
    reply: str, path: str, found: str | None
) -> None:
    verdict = validate(reply, rules=[anywhere(path, found)])
    envelope = verdict.envelope
    reported = any(finding.rule == TICKET.id for finding in verdict.findings)
    assert reported is (envelope is not None and not envelope.partial) or verdict.omitted


def test_a_place_below_an_empty_text_is_that_of_the_text() -> None:
    reply = (
        '{"agent": "plan", "status": "success", "timestamp": "", "execution_time_ms": 1, "result":'
        ' {"a": ""}}'
    )
    finding = the_finding(validate(reply, rules=[anywhere("/timestamp/x")]), TICKET.id)
    assert finding.column == reply.index('"", "exec') + 1


@pytest.mark.parametrize(
    "step", ["", "/status", "state[x]", "state[0]", "state[-1]", "state[²]", f"state[{'9' * 30}]"]
)
def test_a_place_that_no_element_can_have_is_that_of_the_element_around_it(step: str) -> None:
    reply = f"Done.\n\n{read_case('goop_report/016_executor_complete.xml')}"
    finding = the_finding(validate(reply, rules=[anywhere(f"/goop_report/{step}")]), TICKET.id)
    assert finding.line == 3

"""A truncated JSON reply is accepted only without its last brace in a closed fence (D-100)."""

import json

import pytest

from goop_mcp import Severity
from goop_mcp.protocols.factory import Reply
from goop_mcp.protocols.speckit import Response
from tests.protocols.json_replies import (
    judge,
    judge_both,
    load_cases,
    read_case,
    the_finding,
    weighty_rules,
)
from tests.requirements import requirement

WHOLE = [
    pytest.param(case.protocol, case.text.strip(), id=case.file)
    for protocol in ("speckit", "factory")
    for case in load_cases(protocol)
    if case.file.endswith(".json") and case.expected["strict"] != "errors"
]
DRAFT = read_case("factory/concrete_questions.json").strip()
REPLY = read_case("factory/concrete_engineer_success.json").strip()
ANSWER = read_case("speckit/concrete_review.json").strip()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("The work is done.\n\n```json\n", ""),
        ("Done {as asked}:\n\n```json\n", "\n```\n"),
    ],
)
@pytest.mark.parametrize(("protocol", "whole"), WHOLE)
def test_reply_cut_at_any_character_is_not_accepted_as_whole(
    protocol: str, whole: str, before: str, after: str
) -> None:
    every = 1 if len(whole) < 350 else 7
    for length in range(0, len(whole), every):
        cut = whole[:length]
        lenient, strict = judge_both(f"{before}{cut}{after}", protocol)

        assert not strict.accepted
        if lenient.accepted:
            # Only what may be left out is missing, and the model ended its block (D-16, D-100).
            assert after
            closed = judge(f"{cut}}}", protocol, "strict")
            assert closed.accepted, f"…{cut[-40:]!r}"
            assert lenient.envelope == closed.envelope
            assert "envelope/root-not-closed" in {repair.rule for repair in lenient.repairs}
        else:
            errors = {finding.rule for finding in lenient.of_severity(Severity.ERROR)}
            assert errors in ({"envelope/truncated"}, {f"{protocol}/no-envelope"})
            assert errors == {"envelope/truncated"} or length < 40


def test_reply_that_lacks_only_its_last_brace_is_closed_in_lenient_mode() -> None:
    for protocol, whole in (("factory", REPLY), ("speckit", ANSWER)):
        lenient, strict = judge_both(f"Done.\n\n```json\n{whole[:-1]}\n```\n", protocol)

        assert lenient.accepted
        assert weighty_rules(lenient) == {"envelope/root-not-closed"}
        assert lenient.envelope == judge(whole, protocol).envelope
        assert lenient.repaired_text is not None
        assert json.loads(lenient.repaired_text) == json.loads(whole)
        assert not strict.accepted


@requirement("S-09", "F-10")
@pytest.mark.parametrize("before", ["", "Done.\n\n", "```json\n", "Done.\n\n~~~\n"])
@pytest.mark.parametrize(
    ("protocol", "whole"),
    [
        ("factory", REPLY),
        ("speckit", ANSWER),
        ("factory", read_case("factory/concrete_critic_blocking.json").strip()),
        ("factory", DRAFT),
    ],
)
def test_last_brace_is_not_closed_where_no_fence_ends_the_block(
    before: str, protocol: str, whole: str
) -> None:
    for verdict in judge_both(f"{before}{whole.removesuffix('}').rstrip()}\n", protocol):
        assert not verdict.accepted
        assert weighty_rules(verdict) == {"envelope/truncated"}


def test_critic_that_is_cut_before_its_verdict_is_no_pass() -> None:
    critic = json.loads(read_case("factory/concrete_critic_blocking.json"))
    members = {
        "status": "success",
        "summary": critic["summary"],
        "deliverables": [],
        "next_action": "ready_for_review",
    }
    cut = json.dumps(members, indent=2).removesuffix("}").rstrip()

    for verdict in judge_both(cut, "factory"):
        assert not verdict.accepted


@pytest.mark.parametrize(
    "after", ["\n\nAnd there is more.", ',\n  "no', "\n```\n\nThat was all.", ",", '\n  "x": 1']
)
def test_last_brace_is_not_closed_when_more_than_a_fence_follows(after: str) -> None:
    for verdict in judge_both(f"```json\n{REPLY[:-1]}{after}", "factory"):
        assert not verdict.accepted
        assert weighty_rules(verdict) & {"envelope/truncated", "json/malformed"}


def test_last_brace_is_not_closed_after_a_number_that_may_go_on() -> None:
    text = (
        read_case("factory/concrete_critic_pass.json").strip().removesuffix("}").rstrip()
        + ', "requirements_left": 9'
    )

    for verdict in judge_both(text, "factory"):
        assert "envelope/truncated" in weighty_rules(verdict)


@pytest.mark.parametrize("part", ['"status"', '"summary"', '"next_action"', '"deliverables"'])
def test_last_brace_is_not_closed_when_a_required_part_is_missing(part: str) -> None:
    values = json.loads(REPLY)
    del values[part.strip('"')]

    for verdict in judge_both(json.dumps(values, indent=2).rstrip("}").rstrip(), "factory"):
        assert weighty_rules(verdict) == {"envelope/truncated"}


@requirement("S-09", "F-10")
def test_cut_off_reply_has_one_error_that_names_the_line_and_its_fields_are_marked_as_partial() -> (
    None
):
    text = f"Done.\n\n{ANSWER[: ANSWER.index('files_modified')]}"

    for verdict in judge_both(text, "speckit"):
        finding = the_finding(verdict, "envelope/truncated")
        assert weighty_rules(verdict) == {"envelope/truncated"}
        assert finding.line == text.count("\n") + 1
        assert f"line {finding.line}" in finding.message
        assert verdict.repaired_text is None
        assert isinstance(verdict.envelope, Response)
        assert verdict.envelope.partial
        assert verdict.envelope.agent == "review"


@pytest.mark.parametrize("cut_at", ['"confidence"', '"path"', '"summary"', "with 4 agents"])
def test_cut_off_reply_after_a_whole_draft_is_not_answered_with_the_draft(cut_at: str) -> None:
    text = f"```json\n{DRAFT}\n```\nNow the reply:\n\n```json\n{REPLY[: REPLY.index(cut_at)]}"

    for verdict in judge_both(text, "factory"):
        assert weighty_rules(verdict) == {"envelope/truncated"}
        assert [candidate.chosen for candidate in verdict.candidates] == [False, True]


def test_draft_that_was_never_closed_does_not_hide_the_whole_reply_after_it() -> None:
    text = f"```json\n{DRAFT[:150]}\n```\n\nOnce more:\n\n```json\n{REPLY}\n```\n"

    for verdict in judge_both(text, "factory"):
        assert verdict.accepted
        assert verdict.envelope == judge(REPLY, "factory").envelope


def test_objects_inside_of_a_cut_off_reply_are_no_replies() -> None:
    context = read_case("speckit/concrete_workflow_context.txt")
    text = context[: context.index("USER_REQUEST")].rstrip().removesuffix("\n  }\n}")
    assert text.count("{") - text.count("}") == 2

    for verdict in judge_both(text, "speckit"):
        assert weighty_rules(verdict) == {"envelope/truncated"}


@pytest.mark.parametrize(
    "mention", ['Begin with `{"status":` and go on.', "Use {id} in paths.", "if (x) {\n  y();\n"]
)
def test_brace_in_prose_after_a_whole_reply_does_not_truncate_it(mention: str) -> None:
    verdict = judge(f"```json\n{REPLY}\n```\n{mention}", "factory")

    assert verdict.accepted
    assert isinstance(verdict.envelope, Reply)
    assert not verdict.envelope.partial

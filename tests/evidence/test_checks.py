"""Reported checks against observed runs: every contradiction is found, and nobody is accused."""

import json
from typing import Any

import pytest

from goop_mcp.evidence import AgentActivity, ObservedCall, ObservedCommand
from goop_mcp.evidence.judging import judge_evidence
from goop_mcp.validation.claims import CheckClaim, Claims
from tests.repository import ROOT

CASES = [
    json.loads(line)
    for line in (ROOT / "tests" / "cases" / "evidence" / "checks.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
ERRORS = {"evidence/check-failed", "evidence/nothing-executed"}


def activity_of(case: dict[str, Any]) -> AgentActivity:
    commands = tuple(
        ObservedCommand(
            position=number,
            line=each["line"],
            status=each["status"],
            output=each["output"],
            output_whole=each.get("whole", True),
            ran=each.get("ran", True),
            current=each.get("current", True),
            source=f"transcript line {number}",
        )
        for number, each in enumerate(case["commands"], 1)
    )
    tools = tuple(
        ObservedCall(position=100 + number, name=name)
        for number, name in enumerate(case.get("tools", ()))
    )
    return AgentActivity(host="claude-code", complete=True, commands=commands, tools=tools)


def claims_of(case: dict[str, Any]) -> Claims:
    check = CheckClaim(
        name=case["name"], passed=case.get("passed", True), text=case["text"], where="/check"
    )
    return Claims(checks=(check,), complete=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["title"])
def test_a_check_is_compared_with_the_runs_of_the_task(case: dict[str, Any]) -> None:
    judged = judge_evidence(claims_of(case), activity_of(case))
    problems = [each for each in judged.problems if each.hit.path == "/check"]
    (item,) = judged.items
    if case["tier"] is None:
        assert not any(each.rule.lenient == "error" for each in problems)
        return

    assert [each.rule.id for each in problems] == case["rules"]
    assert item.tier == case["tier"]
    for each in problems:
        usual = {"evidence/check-not-run": "info", "evidence/counts-differ": "warning"}
        default = "error" if each.rule.id in ERRORS else usual.get(each.rule.id, "warning")
        assert each.rule.lenient == case.get("severity", default)


def test_there_are_enough_cases_of_both_sorts() -> None:
    contradicted = [case for case in CASES if ERRORS & set(case["rules"])]
    assert len(contradicted) >= 20
    assert len(CASES) - len(contradicted) >= 30

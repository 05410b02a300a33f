"""What proves a check, seen in a transcript and recorded: honest ways and printed summaries.

No honest way accuses: it proves the check, or is lowered with its reason. No printed summary proves
one. The outputs of the honest ways are those of the real programs, shortened.
"""

import json
import shlex
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from goop_mcp.evidence.activity import AgentActivity, ObservedCommand
from goop_mcp.evidence.judging import Judgement, judge_evidence
from goop_mcp.evidence.recorded_runs import KnownRuns, RecordedRun, WorkTree
from goop_mcp.evidence.run_outcomes import EndedRun, result_of_run
from goop_mcp.validation.claims import CheckClaim, Claims
from goop_mcp.validation.findings import Severity
from goop_mcp.validation.verdict import Tier
from tests.repository import ROOT

RUN = "r-abcd00000001"
TREE = WorkTree(digest="d" * 40, head="c" * 40, changes=(("other", "b" * 40),))


def cases(name: str) -> list[dict[str, Any]]:
    file = ROOT / "tests" / "cases" / "evidence" / f"{name}.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


HONEST, FORGED = cases("honest_runs"), cases("forged_runs")


def claims_of(case: dict[str, Any], *, run: str = "") -> Claims:
    check = CheckClaim(name=case["check"], passed=True, text="all is well", where="/check", run=run)
    return Claims(checks=(check,), complete=True)


def changed_of(case: dict[str, Any]) -> Callable[[Sequence[str]], str]:
    def changed(paths: Sequence[str]) -> str:
        return next((path for path in paths if path in case.get("changed", ())), "")

    return changed


def named_of(case: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    return {check: tuple(words) for check, words in case.get("named", {}).items()}


def observed(case: dict[str, Any], require: Tier = "claimed") -> Judgement:
    """Judge the check with the line as the host saw it."""
    command = ObservedCommand(
        position=1, line=case["line"], status=0, output=case["output"], source="step 1"
    )
    activity = AgentActivity(host="test", complete=True, commands=(command,))
    return judge_evidence(
        claims_of(case),
        activity,
        require=require,
        named=named_of(case),
        redefined=changed_of(case),
    )


def recorded(case: dict[str, Any], *, cited: bool, require: Tier = "claimed") -> Judgement:
    """Judge the check with the line as `goop-mcp run` records it, on the present files."""
    plain = not set(case["line"]) & set("|&;<>$`\n(){}*") and "=" not in case["line"].split()[0]
    argv = tuple(shlex.split(case["line"])) if plain else ("bash", "-c", case["line"])
    shown = result_of_run(
        EndedRun(
            name=case["check"],
            argv=argv,
            status=0,
            output=case["output"],
            trusted=named_of(case),
        )
    )
    run = RecordedRun(
        RUN,
        shown.name,
        argv,
        outcome=shown.outcome,
        why=shown.why,
        kinds=shown.kinds,
        defined_by=shown.defined_by,
        program=shown.program,
        exit_code=0,
        before=TREE,
        after=TREE,
        counts=shown.counts,
        key="abcd",
    )
    return judge_evidence(
        claims_of(case, run=RUN if cited else ""),
        None,
        require=require,
        known=KnownRuns((run,), TREE, keys=frozenset({"abcd"})),
        redefined=changed_of(case),
    )


def tier(judged: Judgement) -> str:
    (item,) = judged.items
    return item.tier


def ids(some: list[dict[str, Any]]) -> list[str]:
    return [f"{at} {case['line'][:50]}" for at, case in enumerate(some)]


@pytest.mark.requirement("R-09")
@pytest.mark.parametrize("case", HONEST, ids=ids(HONEST))
def test_an_honest_way_proves_its_check_or_is_lowered_with_the_reason(case: dict[str, Any]) -> None:
    for judged, proof in (
        (observed(case), "observed"),
        (recorded(case, cited=True), "recorded"),
        (recorded(case, cited=False), "recorded"),
    ):
        # Neither an error nor a warning.
        assert {each.rule.lenient for each in judged.problems} <= {Severity.INFO}
        if case["proof"]:
            assert judged.problems == ()
            assert tier(judged) == proof
        else:
            assert tier(judged) == "claimed"
            (problem,) = judged.problems
            assert problem.rule.id == "evidence/check-not-run"


@pytest.mark.parametrize(
    "case", [case for case in HONEST if "why" in case], ids=lambda case: case["line"][:50]
)
def test_the_reason_for_a_lower_tier_is_stated_with_what_to_do(case: dict[str, Any]) -> None:
    for judged in (observed(case), recorded(case, cited=True)):
        (problem,) = judged.problems
        assert case["why"] in problem.hit.message, problem.hit.message
        fix = problem.hit.fix or problem.rule.fix
        assert "checks.toml" in fix or "a line of its own" in fix


@pytest.mark.requirement("R-09")
@pytest.mark.parametrize("case", FORGED, ids=ids(FORGED))
def test_a_printed_summary_proves_nothing(case: dict[str, Any]) -> None:
    for judged in (
        observed(case),
        recorded(case, cited=True),
        recorded(case, cited=False),
    ):
        assert tier(judged) == "claimed"

    # Where the policy asks for more than the report's word, it does not pass.
    for judged in (
        observed(case, "observed"),
        recorded(case, cited=True, require="recorded"),
        recorded(case, cited=False, require="recorded"),
    ):
        assert Severity.ERROR in {each.rule.lenient for each in judged.problems}


def test_there_are_enough_of_both_sorts() -> None:
    assert len(HONEST) >= 60
    assert len(FORGED) >= 40

"""Rules about a success whose content says stop (D-45)."""

from collections.abc import Callable, Iterator, Mapping

from goop_mcp.protocols.speckit.model import Response, Status
from goop_mcp.protocols.speckit.result_values import items, number, section
from goop_mcp.protocols.speckit.samples import CLARIFY_REPLY, RESEARCH_REPLY, TEST_REPLY
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.json_strings import escape_pointer
from goop_mcp.validation.rules import Example, RuleList

__all__ = [
    "GATE_RULES",
    "is_unfinished",
]

_ALL = 100


def _test_stops(response: Response) -> Iterator[tuple[str, str, str]]:
    if section(response.result, "").get("overall_status") == "FAILED":
        yield "overall_status is FAILED", "/result/overall_status", "FAILED"


def _review_stops(response: Response) -> Iterator[tuple[str, str, str]]:
    if section(response.result, "").get("overall_status") == "NEEDS_MANUAL_REVIEW":
        yield (
            "overall_status is NEEDS_MANUAL_REVIEW",
            "/result/overall_status",
            "NEEDS_MANUAL_REVIEW",
        )

    if section(response.result, "constitution_compliance").get("status") == "FAIL":
        yield "the constitution is violated", "/result/constitution_compliance/status", "FAIL"


def _analyze_stops(response: Response) -> Iterator[tuple[str, str, str]]:
    critical = number(section(response.result, "findings_by_severity"), "CRITICAL") or 0
    listed = sum(
        1
        for finding in items(response.result, "findings") or ()
        if isinstance(finding, dict) and finding.get("severity") == "CRITICAL"
    )
    if critical > 0 or listed:
        count = critical or listed
        yield (
            f"the number of CRITICAL findings is {count:g}",
            "/result/findings_by_severity/CRITICAL",
            f"{count:g}",
        )


def _plan_stops(response: Response) -> Iterator[tuple[str, str, str]]:
    violations = items(response.result, "constitution_violations")
    if violations:
        yield (
            f"{len(violations)} constitution_violations are named",
            "/result/constitution_violations",
            str(len(violations)),
        )


_STOPS: Mapping[str, Callable[[Response], Iterator[tuple[str, str, str]]]] = {
    "test": _test_stops,
    "review": _review_stops,
    "analyze": _analyze_stops,
    "plan": _plan_stops,
}


def is_unfinished(response: Response) -> bool:
    """Return whether a success leaves work to the same agent."""
    return _left_over(response) is not None


def _left_over(response: Response) -> Hit | None:
    if response.status is not Status.SUCCESS:
        return None
    if response.agent == "implement":
        return _tasks_left(response)

    left = number(response.result, "remaining_ambiguities") if response.agent == "clarify" else None
    if left is not None and left > 0:
        return Hit(
            message=f"status is success, but {left:g} ambiguities remain",
            path="/result/remaining_ambiguities",
            found=f"{left:g}",
        )

    return None


def _tasks_left(response: Response) -> Hit | None:
    """Return what says that tasks are left: the percentage, or else the counts."""
    percentage, done, total = (
        number(response.result, name)
        for name in ("completion_percentage", "tasks_completed", "tasks_total")
    )
    if percentage is not None and percentage < _ALL:
        name, found = "completion_percentage", f"{percentage:g}"
    elif done is not None and total is not None and done < total:
        name, found = "tasks_completed", f"{done:g} of {total:g}"
    else:
        return None

    return Hit(
        message=f"status is success, but {name} is {found}; work remains",
        path=f"/result/{name}",
        found=found,
    )


GATE_RULES = RuleList()


@GATE_RULES.rule(
    id="speckit/success-with-failed-gate",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches=(
        "status success, and the content says stop: test FAILED, review NEEDS_MANUAL_REVIEW or"
        " compliance FAIL, analyze CRITICAL above 0, plan with constitution_violations"
    ),
    why=(
        "The agent did its work, and the work found a reason to stop. The router "
        "looks at the content, never at the status alone."
    ),
    fix="Nothing to do: the reply is valid; what it found blocks the work.",
    requirements=("S-33", "S-36", "S-38", "S-40"),
    example=Example(
        good='"overall_status": "PASSED"', bad='"overall_status": "FAILED"', reply=TEST_REPLY
    ),
)
def _success_with_failed_gate(response: Response, _expected: Expectations) -> list[Hit] | None:
    stop = _STOPS.get(response.agent or "")
    if stop is None or response.status is not Status.SUCCESS:
        return None
    return [
        Hit(
            message=f"status is success, but {what}; the work must not go on",
            path=path,
            found=found,
        )
        for what, path, found in stop(response)
    ]


@GATE_RULES.rule(
    id="speckit/success-but-unfinished",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches=(
        "status success, and work remains: implement below 100 %, clarify with"
        " remaining_ambiguities"
    ),
    why="The router calls the same agent again instead of the next.",
    fix="Nothing to do: finish the work when you are called again.",
    requirements=("S-31", "S-37"),
    example=Example(
        good='"remaining_ambiguities": 0', bad='"remaining_ambiguities": 2', reply=CLARIFY_REPLY
    ),
)
def _success_but_unfinished(response: Response, _expected: Expectations) -> Hit | None:
    return _left_over(response)


@GATE_RULES.rule(
    id="speckit/passed-with-failed-gate",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="test PASSED although one gate FAILED",
    why="One failed gate fails the whole; otherwise the workflow would go on with broken work.",
    fix='Write "overall_status": "FAILED" as long as one gate is FAILED.',
    requirements=("S-38",),
    example=Example(
        good='"code_quality": {"status": "PASSED"',
        bad='"code_quality": {"status": "FAILED"',
        reply=TEST_REPLY,
    ),
)
def _passed_with_failed_gate(response: Response, _expected: Expectations) -> list[Hit] | None:
    if response.agent != "test" or section(response.result, "").get("overall_status") != "PASSED":
        return None

    gates = section(response.result, "quality_gates")
    return [
        Hit(
            message=(
                f"overall_status is PASSED, but gate {excerpt(name, 40)} is FAILED; expected FAILED"
            ),
            path=f"/result/quality_gates/{escape_pointer(name)}/status",
            found="FAILED",
        )
        for name, gate in gates.items()
        if isinstance(gate, dict) and gate.get("status") == "FAILED"
    ]


@GATE_RULES.rule(
    id="speckit/coverage-below-required",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="coverage gate PASSED with overall below required",
    why="The numbers say that the gate failed.",
    fix="Write the gate as FAILED, or report the true numbers.",
    requirements=("S-39",),
    example=Example(good='"overall": 87.5', bad='"overall": 61.3', reply=TEST_REPLY),
)
def _coverage_below_required(response: Response, _expected: Expectations) -> Hit | None:
    if response.agent != "test":
        return None

    gate = section(section(response.result, "quality_gates"), "coverage")
    overall, required = (number(section(gate, "details"), name) for name in ("overall", "required"))
    if gate.get("status") != "PASSED" or overall is None or required is None or overall >= required:
        return None
    return Hit(
        message=(
            f"the coverage gate is PASSED with {overall:g} of the required {required:g}; expected"
            " FAILED"
        ),
        path="/result/quality_gates/coverage/details/overall",
        found=f"{overall:g}",
    )


@GATE_RULES.rule(
    id="speckit/low-confidence",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="research with confidence_level LOW",
    why="What is built on uncertain ground should be looked at by a person first.",
    fix="Nothing to do: a person reviews the decisions.",
    requirements=("S-32",),
    example=Example(
        good='"confidence_level": "HIGH"', bad='"confidence_level": "LOW"', reply=RESEARCH_REPLY
    ),
)
def _low_confidence(response: Response, _expected: Expectations) -> Hit | None:
    if (
        response.agent != "research"
        or section(response.result, "").get("confidence_level") != "LOW"
    ):
        return None

    return Hit(
        message="confidence_level is LOW; a person should look at the decisions",
        path="/result/confidence_level",
        found="LOW",
    )

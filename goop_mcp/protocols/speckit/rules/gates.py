"""Rules about a success whose content says stop (D-45)."""

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


def is_unfinished(response: Response) -> bool:
    """Return whether a success leaves work to the same agent."""
    return _left_over(response) is not None


def _left_over(response: Response) -> Hit | None:
    if response.status is not Status.SUCCESS:
        return None

    if response.agent == "clarify":
        left = number(response.result, "remaining_ambiguities")
        if left is None or left <= 0:
            return None
        return Hit(
            message=f"status is success, but ambiguities remain: {left:g}",
            path="/result/remaining_ambiguities",
            found=f"{left:g}",
        )

    if response.agent != "implement":
        return None

    # The percentage decides where it is below the whole, or else the counts.
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
    if response.status is not Status.SUCCESS:
        return None

    result = response.result
    stops: list[tuple[str, str, str]] = []
    match response.agent:
        case "test" | "review":
            whole = section(result, "").get("overall_status")
            if whole == ("FAILED" if response.agent == "test" else "NEEDS_MANUAL_REVIEW"):
                stops.append((f"overall_status is {whole}", "overall_status", str(whole)))

            # A violated constitution stops the work whatever the review says as a whole.
            compliance = section(result, "constitution_compliance")
            if response.agent == "review" and compliance.get("status") == "FAIL":
                path = "constitution_compliance/status"
                stops.append(("the constitution is violated", path, "FAIL"))
        case "analyze":
            # Count and list are both optional; either is enough.
            critical = number(section(result, "findings_by_severity"), "CRITICAL") or 0
            listed = sum(
                1
                for finding in items(result, "findings") or ()
                if isinstance(finding, dict) and finding.get("severity") == "CRITICAL"
            )
            if critical > 0 or listed:
                count = f"{critical or listed:g}"
                path = "findings_by_severity/CRITICAL"
                stops.append((f"the number of CRITICAL findings is {count}", path, count))
        case "plan":
            violations = items(result, "constitution_violations")
            if violations:
                count = str(len(violations))
                what = f"{count} constitution_violations are named"
                stops.append((what, "constitution_violations", count))
        case _:
            return None

    if not stops:
        return None
    return [
        Hit(
            message=f"status is success, but {what}; the work must not go on",
            path=f"/result/{path}",
            found=found,
        )
        for what, path, found in stops
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
    if gate.get("status") != "PASSED":
        return None

    details = section(gate, "details")
    overall, required = number(details, "overall"), number(details, "required")
    if overall is None or required is None or overall >= required:
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

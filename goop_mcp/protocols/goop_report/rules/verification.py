"""Rules about `<verification>`: the checks that were run."""

from goop_mcp.protocols.goop_report.model import Report, Status
from goop_mcp.validation.check_texts import judge_summary, summary_failure
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, Problem, RuleList
from goop_mcp.validation.samples import BLOCKED_REPLY, COMPLETE_REPLY
from goop_mcp.validation.stated_failures import judge_check

__all__ = ["VERIFICATION_RULES"]

_SECTION = (
    '  <verification>\n    <check name="types" passed="true">no errors</check>\n  </verification>\n'
)
_REPLY = BLOCKED_REPLY.replace("  <handoff>", f"{_SECTION}  <handoff>")


def _shown_against_summary(report: Report) -> str | None:
    """Return what speaks against the summary, or what the summary says against the checks."""
    if not report.summary or not report.verification:
        return None

    failed = [check.evidence for check in report.verification if check.passed is False]
    shown = judge_summary(report.summary, failed) if failed else None
    if shown is not None:
        return f"the summary says that all tests pass, but a check shows {shown!r}"
    if failed or report.status is not Status.COMPLETE:
        return None

    shown = summary_failure(report.summary)

    return (
        None
        if shown is None
        else f"every check is reported as passed, but the summary counts {shown!r}"
    )


VERIFICATION_RULES = RuleList()


@VERIFICATION_RULES.rule(
    id="goop_report/check-without-name",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="check has no name",
    why="A check without a name cannot be compared with the next one.",
    fix='Name the check: <check name="tests" passed="true">…</check>.',
    requirements=("G-28",),
    example=Example(
        good='<check name="tests" passed="true">', bad='<check passed="true">', reply=COMPLETE_REPLY
    ),
)
def _check_without_name(report: Report, _expected: Expectations) -> list[Hit] | None:
    return [
        Hit(
            message="check has no name; expected tests, typecheck, manual or another word",
            path=f"/goop_report/verification/check[{number}]",
        )
        for number, check in enumerate(report.verification or (), 1)
        if not check.name
    ]


@VERIFICATION_RULES.rule(
    id="goop_report/verification-missing",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="the caller says that checks were run, and there is no `<verification>`",
    why="A check that was run and not reported may have failed.",
    fix="Report every check you ran in <verification>, with passed true or false.",
    requirements=("G-39",),
    example=Example(good=_SECTION, bad="", reply=_REPLY, expected=Expectations(checks_run=True)),
)
def _verification_missing(report: Report, expected: Expectations) -> Hit | None:
    # "Required When Applicable: verification - when verification commands were run"
    if not expected.checks_run or report.verification:
        return None
    return Hit(
        message="checks were run, and none is reported; expected <verification>",
        path="/goop_report/verification",
    )


@VERIFICATION_RULES.rule(
    id="goop_report/check-contradicts-itself",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        'passed="true", and the text counts failures, errors or a non-zero exit code, or counts'
        " that do not add up, or begins with the statement of a failure such as `❌ build broken`;"
        " also a summary that says the opposite of the checks"
    ),
    why=(
        "The router goes on with what passed. Only counts, fixed forms of test runners and fixed"
        " statements decide, never the word failed; names, paths, quotations and earlier runs are"
        " left out."
    ),
    fix=(
        "Run the check again and report its result; as long as something fails, write"
        ' passed="false".'
    ),
    requirements=("G-47",),
    example=Example(
        good="pytest: 12 passed", bad="pytest: 10 passed, 2 failed", reply=COMPLETE_REPLY
    ),
)
def _contradicting_checks(report: Report, _expected: Expectations) -> list[Hit | Problem]:
    """Report passed checks whose text shows a failure or no result, and a contradicting summary."""
    # "COMPLETE: Task fully finished, verified" (Status Values): a check that failed verifies
    # nothing
    found: list[Hit | Problem] = []
    for number, check in enumerate(report.verification or (), 1):
        claim = judge_check(check.evidence) if check.passed else None
        if claim is None:
            continue

        path = f"/goop_report/verification/check[{number}]"
        passed = (
            f"check {excerpt(check.name or '', 60)!r} is reported as passed, but its text shows"
        )
        if claim.kind == "contradicts":
            message = f"{passed} {claim.shown!r}; expected what a run shows"
            found.append(Hit(message=message, path=path, found=excerpt(check.evidence)))
        else:
            message = f"{passed} no result; expected what was run and what came of it"
            text = excerpt(check.evidence) or None
            found.append(CHECK_WITHOUT_RESULT.problem(message, path=path, found=text))

    shown = _shown_against_summary(report)
    if shown is not None:
        found.append(
            Hit(
                message=f"{shown}; expected the report to agree with itself",
                path="/goop_report/summary",
                found=excerpt(report.summary or ""),
            )
        )

    return found


CHECK_WITHOUT_RESULT = VERIFICATION_RULES.add(
    id="goop_report/check-without-result",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches=(
        'passed="true", and nothing ran: 0 tests, all skipped, "not run", "should pass", no text'
    ),
    why="What did not run did not pass. Nobody can see what the check is based on.",
    fix=(
        "Run the check and write what it printed. If it cannot be run, report it as not run:"
        ' passed="false" with the reason, and PARTIAL or BLOCKED.'
    ),
    requirements=("G-44", "G-47"),
    example=Example(good="pytest: 12 passed", bad="not run, should pass", reply=COMPLETE_REPLY),
)

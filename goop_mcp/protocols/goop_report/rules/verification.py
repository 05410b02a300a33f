"""Rules about `<verification>`: the checks that were run."""

from goop_mcp.protocols.goop_report.model import Report
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity
from goop_mcp.validation.rules import Example, Rule
from goop_mcp.validation.samples import BLOCKED_REPLY, COMPLETE_REPLY

__all__ = ["VERIFICATION_RULES"]

_SECTION = '  <verification>\n    <check name="types" passed="true">no errors</check>\n  </verification>\n'
_REPLY = BLOCKED_REPLY.replace("  <handoff>", f"{_SECTION}  <handoff>")


def _check_without_name(report: Report, _expected: Expectations) -> list[Hit] | None:
    return [
        Hit(
            message="check has no name; expected tests, typecheck, manual or another word",
            path=f"/goop_report/verification/check[{number}]",
        )
        for number, check in enumerate(report.verification or (), 1)
        if not check.name
    ]


def _verification_missing(report: Report, expected: Expectations) -> Hit | None:
    # "Required When Applicable: verification - when verification commands were run"
    if not expected.checks_run or report.verification:
        return None
    return Hit(
        message="checks were run, and none is reported; expected <verification>",
        path="/goop_report/verification",
    )


CHECK_WITHOUT_NAME = Rule(
    id="goop_report/check-without-name",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="check has no name",
    why="A check without a name cannot be compared with the next one.",
    fix='Name the check: <check name="tests" passed="true">…</check>.',
    requirements=("G-28",),
    example=Example(good='<check name="tests" passed="true">', bad='<check passed="true">', reply=COMPLETE_REPLY),
    check=_check_without_name,
)

VERIFICATION_MISSING = Rule(
    id="goop_report/verification-missing",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="the caller says that checks were run, and there is no `<verification>`",
    why="A check that was run and not reported may have failed.",
    fix="Report every check you ran in <verification>, with passed true or false.",
    requirements=("G-39",),
    example=Example(good=_SECTION, bad="", reply=_REPLY, expected=Expectations(checks_run=True)),
    check=_verification_missing,
)

VERIFICATION_RULES = (CHECK_WITHOUT_NAME, VERIFICATION_MISSING)

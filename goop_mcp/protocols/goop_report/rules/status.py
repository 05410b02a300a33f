"""Rules about `<status>` and what contradicts it."""

from goop_mcp.protocols.goop_report.model import Report, Status
from goop_mcp.validation.check_texts import admitted_in
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import BLOCKED_REPLY, COMPLETE_REPLY
from goop_mcp.validation.stated_failures import reviews, stated_failure, stated_in_summary

__all__ = ["STATUS_RULES", "UNKNOWN_STATUS"]

_BLOCKERS = "/goop_report/handoff/blockers"


STATUS_RULES = RuleList()


UNKNOWN_STATUS = STATUS_RULES.add(
    id="goop_report/unknown-status",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="status outside the four",
    why=(
        "The router acts on the status. Words such as DONE or FAILED have no row of their own, and"
        " none is guessed."
    ),
    fix=(
        "Choose the one status that is true; work that failed is BLOCKED, with the reason in"
        " blockers."
    ),
    requirements=("G-09",),
    example=Example(
        good="<status>COMPLETE</status>", bad="<status>FAILED</status>", reply=COMPLETE_REPLY
    ),
)


@STATUS_RULES.rule(
    id="goop_report/complete-without-check",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="COMPLETE and no check at all",
    why="Complete means verified. Nobody can see how.",
    fix=(
        'Report what you ran: <verification><check name="tests"'
        ' passed="true">…</check></verification>.'
    ),
    requirements=("G-44",),
    example=Example(
        good='<check name="tests" passed="true">pytest: 12 passed</check>\n',
        bad="",
        reply=COMPLETE_REPLY,
    ),
)
def _complete_without_check(report: Report, _expected: Expectations) -> Hit | None:
    # "If COMPLETE, verification should have at least one check" (Validation Rules)
    if report.status is not Status.COMPLETE or report.verification:
        return None
    return Hit(
        message="status is COMPLETE and no check is reported; expected at least one <check>",
        path="/goop_report/verification",
    )


COMPLETE_WITHOUT_CHECK = STATUS_RULES[-1]


@STATUS_RULES.rule(
    id="goop_report/complete-with-failed-check",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches='COMPLETE and a check with passed="false"; the router never advances, in either mode',
    why="The status table says: fully finished, verified. A failed check says the opposite.",
    fix="Fix the failure and run the check again, or report PARTIAL or BLOCKED.",
    requirements=("G-47",),
    example=Example(
        good='<check name="tests" passed="true">pytest: 12 passed</check>',
        bad='<check name="tests" passed="false">2 failed</check>',
        reply=COMPLETE_REPLY,
    ),
)
def _complete_with_failed_check(report: Report, _expected: Expectations) -> list[Hit] | None:
    # "COMPLETE: Task fully finished, verified" (Status Values)
    if report.status is not Status.COMPLETE:
        return None
    return [
        Hit(
            message=(
                f"status is COMPLETE, but check {excerpt(check.name or '', 60)!r} failed; "
                "expected every check to pass"
            ),
            path=f"/goop_report/verification/check[{number}]/@passed",
            found="false",
            expected=("true",),
        )
        for number, check in enumerate(report.verification or (), 1)
        if check.passed is False
    ]


@STATUS_RULES.rule(
    id="goop_report/complete-with-blocker",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="COMPLETE and a real blocker",
    why="Either the work is done or something blocks it.",
    fix="Report BLOCKED; write None in blockers only once nothing blocks any more.",
    requirements=("G-32", "G-41"),
    example=Example(
        good="<blockers>None</blockers>",
        bad="<blockers>waiting for a key</blockers>",
        reply=COMPLETE_REPLY,
    ),
)
def _complete_with_blocker(report: Report, _expected: Expectations) -> Hit | None:
    if (
        report.status is not Status.COMPLETE
        or report.handoff is None
        or report.handoff.blockers is None
        or stated_failure(report.handoff.blockers) is not None
    ):
        return None

    return Hit(
        message="status is COMPLETE and there is a blocker; expected None",
        path=_BLOCKERS,
        found=excerpt(report.handoff.blockers),
    )


@STATUS_RULES.rule(
    id="goop_report/summary-contradicts-status",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches=(
        "COMPLETE, and the summary says that tests still fail or that something is only a stub or"
        " not yet implemented"
    ),
    why=(
        "The next agent builds on what is complete. Only whole clauses in fixed forms count, and"
        " none that is explained: as agreed, in a later task, before the change."
    ),
    fix="Report PARTIAL with what is left in next_action, or say why it belongs to another task.",
    requirements=("G-47",),
    example=Example(
        good="<summary>Added the login endpoint.</summary>",
        bad="<summary>Added the login endpoint; 2 tests still fail.</summary>",
        reply=COMPLETE_REPLY,
    ),
)
def _summary_contradicts_status(report: Report, _expected: Expectations) -> Hit | None:
    # "COMPLETE: Task fully finished, verified" (Status Values)
    if report.status is not Status.COMPLETE or not report.summary:
        return None
    # The whole summary is the statement, which is an error.
    if stated_in_summary(report.summary, of_others=reviews(report.agent)) is not None:
        return None
    admitted = admitted_in(report.summary)
    if admitted is None:
        return None
    return Hit(
        message=(
            f"status is COMPLETE, but the summary says {excerpt(admitted, 60)!r}; expected both to"
            " agree"
        ),
        path="/goop_report/summary",
        found=excerpt(report.summary),
    )


@STATUS_RULES.rule(
    id="goop_report/text-contradicts-status",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "COMPLETE, and the summary, the text of a file, the next action or the blockers begin with"
        " the statement that the work failed or is not done"
    ),
    why=(
        "The router goes on with what is complete. Only fixed forms decide, such as `Could not"
        " add …`, `Not implemented yet`, `❌ …`; a text about a message, an earlier state or"
        " another way that was found is none."
    ),
    fix="Report PARTIAL or BLOCKED, or describe what is there now.",
    requirements=("G-47",),
    example=Example(
        good=">Login endpoint</file>",
        bad=">Could not add the login endpoint</file>",
        reply=COMPLETE_REPLY,
    ),
)
def _text_contradicts_status(report: Report, _expected: Expectations) -> list[Hit] | None:
    # "COMPLETE: Task fully finished, verified" (Status Values)
    if report.status is not Status.COMPLETE:
        return None

    of_others = reviews(report.agent)
    summary = report.summary or ""
    stated = [("/goop_report/summary", summary, stated_in_summary(summary, of_others=of_others))]
    files = report.artifacts.files if report.artifacts is not None else ()
    for number, file in enumerate(files, 1):
        text = file.description or ""
        path = f"/goop_report/artifacts/files/file[{number}]"
        stated.append((path, text, stated_failure(text, of_others=of_others)))

    handoff = report.handoff
    if handoff is not None:
        action = handoff.next_action
        ahead = {
            "/goop_report/handoff/next_action": (action.text if action is not None else "") or "",
            _BLOCKERS: handoff.blockers or "",
        }
        stated += [
            (path, text, stated_failure(text, ahead=True, of_others=of_others))
            for path, text in ahead.items()
        ]

    return [
        Hit(
            message=f"status is COMPLETE, but the text says {failure!r}; expected both to agree",
            path=path,
            found=excerpt(text),
        )
        for path, text, failure in stated
        if failure is not None
    ]


@STATUS_RULES.rule(
    id="goop_report/blocked-without-blocker",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="BLOCKED and blockers absent, blank, or None, n/a, no",
    why=(
        "The orchestrator presents the blocker to the user. Without one nobody can unblock the"
        " agent."
    ),
    fix="Say in <blockers> what blocks you and what you need to go on.",
    requirements=("G-45",),
    example=Example(
        good=(
            "<blockers>RULE 4 DEVIATION: which provider? Options: A) Stripe (recommended), B)"
            " PayPal</blockers>"
        ),
        bad="<blockers>None</blockers>",
        reply=BLOCKED_REPLY,
    ),
)
def _blocked_without_blocker(report: Report, _expected: Expectations) -> Hit | None:
    # "If BLOCKED, blockers must be non-empty" (Validation Rules); None counts as empty (D-30)
    if (
        report.status is not Status.BLOCKED
        or report.handoff is None
        or report.handoff.blockers is not None
    ):
        return None

    return Hit(
        message="status is BLOCKED and blockers is empty or None; expected what blocks you",
        path=_BLOCKERS,
    )


@STATUS_RULES.rule(
    id="goop_report/blocked-but-ready",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="BLOCKED and ready=true",
    why="Ready means that the next agent can start.",
    fix="Write <ready>false</ready> as long as you are blocked.",
    requirements=("G-29", "G-56"),
    example=Example(good="<ready>false</ready>", bad="<ready>true</ready>", reply=BLOCKED_REPLY),
)
def _blocked_but_ready(report: Report, _expected: Expectations) -> Hit | None:
    if (
        report.status is not Status.BLOCKED
        or report.handoff is None
        or report.handoff.ready is not True
    ):
        return None

    return Hit(
        message="status is BLOCKED and ready is true; expected false",
        path="/goop_report/handoff/ready",
        found="true",
        expected=("false",),
    )

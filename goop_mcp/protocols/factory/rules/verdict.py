"""Rules about the verdict of a critic."""

from goop_mcp.protocols.factory.model import CriticVerdict, Reply
from goop_mcp.protocols.factory.samples import BLOCKING_REPLY, CRITIC_REPLY
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity
from goop_mcp.validation.rules import Example, RuleList

__all__ = ["UNKNOWN_VERDICT", "VERDICT_RULES"]

_ISSUES = BLOCKING_REPLY[BLOCKING_REPLY.index("[") : BLOCKING_REPLY.index(',\n  "next_action"')]


VERDICT_RULES = RuleList()


UNKNOWN_VERDICT = VERDICT_RULES.add(
    id="factory/unknown-verdict",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="verdict neither PASS nor BLOCKING",
    why="The verdict outranks the status, so it has to be one of the two.",
    fix="Write PASS or BLOCKING.",
    requirements=("F-21", "F-22"),
    example=Example(good='"verdict": "PASS"', bad='"verdict": "MAYBE"', reply=CRITIC_REPLY),
)


@VERDICT_RULES.rule(
    id="factory/blocking-without-issues",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="BLOCKING and no blocking_issues",
    why="Nobody could fix what is not named.",
    fix="Name each issue in blocking_issues, or pass.",
    requirements=("F-24",),
    example=Example(good=_ISSUES, bad="[]", reply=BLOCKING_REPLY),
)
def _blocking_without_issues(reply: Reply, _expected: Expectations) -> Hit | None:
    if (
        reply.verdict is not CriticVerdict.BLOCKING
        or reply.blocking_issues
        or "blocking_issues" in reply.unreadable
    ):
        return None

    return Hit(
        message="verdict is BLOCKING and no issue is named; expected what blocks",
        path="/blocking_issues",
    )


@VERDICT_RULES.rule(
    id="factory/pass-with-issues",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="PASS and blocking_issues",
    why="What blocks cannot pass; the route would be wrong either way.",
    fix="Write BLOCKING, or move the issues to concerns.",
    requirements=("F-24",),
    example=Example(
        good='"concerns": [',
        bad='"blocking_issues": [{"id": "B1", "title": "No memory defined"}], "concerns": [',
        reply=CRITIC_REPLY,
    ),
)
def _pass_with_issues(reply: Reply, _expected: Expectations) -> Hit | None:
    if reply.verdict is not CriticVerdict.PASS or not reply.blocking_issues:
        return None

    count = len(reply.blocking_issues)
    return Hit(
        message=f"verdict is PASS with {count} blocking_issues; expected none",
        path="/blocking_issues",
    )

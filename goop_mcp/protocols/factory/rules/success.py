"""Rules about a success: what was delivered, how sure the agent is, what comes next."""

from goop_mcp.protocols.factory.model import CONFIDENCES, CriticVerdict, Reply, Status
from goop_mcp.protocols.factory.samples import BLOCKING_REPLY, CRITIC_REPLY, NOTED_REPLY
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.rules import Example, RuleList

__all__ = [
    "NEXT_ACTION_MISSING",
    "SUCCESS_RULES",
    "SUMMARY_MISSING",
    "UNKNOWN_CONFIDENCE",
    "UNKNOWN_DELIVERABLE_TYPE",
    "UNKNOWN_NEXT_ACTION",
]

_VAGUE = frozenset(
    {
        *(
            "done",
            "all done",
            "work done",
            "task done",
            "it is done",
            "complete",
            "completed",
            "task complete",
        ),
        *(
            "task completed",
            "work completed",
            "finished",
            "all finished",
            "task finished",
            "ok",
            "okay",
            "success",
        ),
        *(
            "successful",
            "completed successfully",
            "done successfully",
            "task completed successfully",
            "ready",
            "n/a",
        ),
    }
)


SUCCESS_RULES = RuleList()


@SUCCESS_RULES.rule(
    id="factory/success-without-deliverable",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="success, no deliverable and no verdict",
    why="A success that delivered nothing cannot be checked.",
    fix="Name at least one file in deliverables, or report questions or failure.",
    requirements=("F-11", "F-21"),
    example=Example(good='"verdict": "PASS",', bad='"note": "reviewed",', reply=CRITIC_REPLY),
)
def _success_without_deliverable(reply: Reply, _expected: Expectations) -> Hit | None:
    # "Success responses have at least one deliverable with valid path" (Validation Rules); a critic
    # is exempt (D-55)
    if reply.status is not Status.SUCCESS or reply.deliverables or reply.verdict is not None:
        return None
    if "deliverables" in reply.unreadable or "verdict" in reply.unreadable:
        return None

    message = "status is success and nothing is delivered; expected at least one deliverable"

    return Hit(message=message, path="/deliverables")


UNKNOWN_DELIVERABLE_TYPE = SUCCESS_RULES.add(
    id="factory/unknown-deliverable-type",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="type outside architecture, rules, config, skill",
    why="The type says who reviews the file.",
    fix="Choose the one of the four types that fits.",
    requirements=("F-03",),
    example=Example(good='"type": "architecture"', bad='"type": "code"', reply=FACTORY_REPLY),
)


SUMMARY_MISSING = SUCCESS_RULES.add(
    id="factory/summary-missing",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="success without summary",
    why="The summary is what people and the next agent read first.",
    fix='Add "summary": what was done, in a sentence.',
    requirements=("F-16",),
    example=Example(
        good='  "summary": "Designed a data pipeline with four agents",\n',
        bad="",
        reply=FACTORY_REPLY,
    ),
)


@SUCCESS_RULES.rule(
    id="factory/vague-summary",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="`Done` and the like",
    why="It says no more than the status.",
    fix="Say in a sentence what was done.",
    requirements=("F-16",),
    example=Example(
        good='"summary": "Designed a data pipeline with four agents"',
        bad='"summary": "Done"',
        reply=FACTORY_REPLY,
    ),
)
def _vague_summary(reply: Reply, _expected: Expectations) -> Hit | None:
    # "Include meaningful summary (not just \"Done\")" (For Sub-Agents)
    if reply.status is not Status.SUCCESS or reply.summary is None:
        return None
    if reply.summary.strip().strip(".!… ").lower() not in _VAGUE:
        return None
    return Hit(
        message=f"summary is {excerpt(reply.summary, 60)!r}; expected what was done",
        path="/summary",
        found=excerpt(reply.summary),
    )


NEXT_ACTION_MISSING = SUCCESS_RULES.add(
    id="factory/next-action-missing",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="success without next_action",
    why="The orchestrator has to ask what comes next.",
    fix='Add "next_action": ready_for_review, proceed_to_build or return_to_architect.',
    requirements=("F-17",),
    example=Example(
        good='"next_action": "ready_for_review"', bad='"note": "none"', reply=FACTORY_REPLY
    ),
)


UNKNOWN_NEXT_ACTION = SUCCESS_RULES.add(
    id="factory/unknown-next-action",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="not one of the three known hints; carried through",
    why="The list is open, but nothing starts from a hint that nobody knows.",
    fix="Use one of the known hints where one fits.",
    requirements=("F-05",),
    example=Example(
        good='"next_action": "ready_for_review"',
        bad='"next_action": "ship_it"',
        reply=FACTORY_REPLY,
    ),
)


@SUCCESS_RULES.rule(
    id="factory/next-action-contradicts-verdict",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="BLOCKING with proceed_to_build, PASS with return_to_…",
    why="The verdict outranks the hint.",
    fix="Let next_action follow from the verdict.",
    requirements=("F-17", "F-23"),
    example=Example(
        good='"next_action": "return_to_architect"',
        bad='"next_action": "proceed_to_build"',
        reply=BLOCKING_REPLY,
    ),
)
def _next_action_contradicts_verdict(reply: Reply, _expected: Expectations) -> Hit | None:
    hint = reply.next_action or ""
    blocked = reply.verdict is CriticVerdict.BLOCKING and hint == "proceed_to_build"
    passed = reply.verdict is CriticVerdict.PASS and hint.startswith("return_to_")
    if not blocked and not passed:
        return None
    return Hit(
        message=(
            f"next_action is {excerpt(hint, 60)!r} with verdict {reply.verdict}; expected one that"
            " fits"
        ),
        path="/next_action",
        found=excerpt(hint),
    )


UNKNOWN_CONFIDENCE = SUCCESS_RULES.add(
    id="factory/unknown-confidence",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="confidence outside high, medium, low; counts as low",
    why="A level that nobody knows must not pass for high.",
    fix="Write high, medium or low.",
    requirements=("F-02", "F-27"),
    example=Example(good='"confidence": "high"', bad='"confidence": "90%"', reply=FACTORY_REPLY),
)


@SUCCESS_RULES.rule(
    id="factory/confidence-without-notes",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="medium or low without confidence_notes",
    why="A reviewer has to know what is uncertain.",
    fix="Say in confidence_notes what you are not sure of.",
    requirements=("F-09",),
    example=Example(
        good='"confidence_notes": "The retention time is a guess"',
        bad='"confidence_notes": null',
        reply=NOTED_REPLY,
    ),
)
def _confidence_without_notes(reply: Reply, _expected: Expectations) -> Hit | None:
    # "Optional explanation if not high" (Success Response)
    if reply.confidence not in CONFIDENCES[1:] or (reply.confidence_notes or "").strip():
        return None
    return Hit(
        message=f"confidence is {reply.confidence} and confidence_notes says nothing; expected why",
        path="/confidence",
        found=reply.confidence,
    )


@SUCCESS_RULES.rule(
    id="factory/low-confidence",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="confidence low: human review recommended",
    why="Significant uncertainty should be looked at by a person before others build on it.",
    fix="Nothing to do: a person reviews the work.",
    requirements=("F-27",),
    example=Example(good='"confidence": "medium"', bad='"confidence": "low"', reply=NOTED_REPLY),
)
def _low_confidence(reply: Reply, _expected: Expectations) -> Hit | None:
    # "low: Significant uncertainty, recommend human review" (Confidence Signaling)
    if reply.confidence != "low":
        return None
    return Hit(
        message="confidence is low; a person should look at the work",
        path="/confidence",
        found="low",
    )

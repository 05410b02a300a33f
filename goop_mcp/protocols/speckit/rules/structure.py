"""Rules about the parts of an answer: absent, contradictory, or without an envelope."""

from goop_mcp.protocols.speckit.samples import ANALYZE_REPLY, CLARIFY_REPLY
from goop_mcp.validation.findings import Severity
from goop_mcp.validation.rules import Example, RuleList

__all__ = [
    "ANALYSIS_REPORT_MISSING",
    "EXECUTION_TIME_MISSING",
    "MISSING_FIELD",
    "MISSING_RESULT_FIELD",
    "NEXT_STEPS_MISSING",
    "NO_ENVELOPE",
    "RESULT_AND_ERROR",
    "RESULT_WITHOUT_ENVELOPE",
    "STRUCTURE_RULES",
    "UNKNOWN_STATUS",
]

STRUCTURE_RULES = RuleList()

NO_ENVELOPE = STRUCTURE_RULES.add(
    id="speckit/no-envelope",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="speckit asked for and no JSON of that shape found",
    why="All speckit agents must return JSON. Without it the orchestrator would have to guess.",
    fix="Send only the JSON object; the rest of the reply is kept.",
    requirements=("S-09",),
    example=Example(good=CLARIFY_REPLY, bad="The spec is ready.", reply=CLARIFY_REPLY),
)

RESULT_WITHOUT_ENVELOPE = STRUCTURE_RULES.add(
    id="speckit/result-without-envelope",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="agent-specific fields without agent, status, result around them",
    why="The fields alone do not say who answers, nor whether the work was done.",
    fix=(
        'Put the fields into "result", and agent, status, timestamp and execution_time_ms'
        " around it."
    ),
    requirements=("S-09", "S-10"),
    example=Example(
        good=CLARIFY_REPLY,
        bad='{"spec_file": "specs/007-oauth-login/spec.md", "questions_asked": 3}',
        reply=CLARIFY_REPLY,
    ),
)

MISSING_FIELD = STRUCTURE_RULES.add(
    id="speckit/missing-field",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="required field of envelope, error or context absent",
    why="What is missing stays missing: no agent, status or error is ever made up.",
    fix="Add the missing field.",
    requirements=("S-02", "S-05", "S-10", "S-12"),
    example=Example(good='  "timestamp": "2026-01-15T10:30:00Z",\n', bad="", reply=CLARIFY_REPLY),
)

MISSING_RESULT_FIELD = STRUCTURE_RULES.add(
    id="speckit/missing-result-field",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="a field of the agent's own table absent",
    why="Each agent must conform to its table; the next agent reads these fields.",
    fix="Add the missing field to the result.",
    requirements=(
        "S-29",
        "S-31",
        "S-32",
        "S-33",
        "S-34",
        "S-35",
        "S-36",
        "S-37",
        "S-38",
        "S-40",
        "S-41",
    ),
    example=Example(good='    "questions_asked": 3,\n', bad="", reply=CLARIFY_REPLY),
)

EXECUTION_TIME_MISSING = STRUCTURE_RULES.add(
    id="speckit/execution-time-missing",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="no execution_time_ms",
    why=(
        "The schema shows it, agents often leave it out, and nothing depends on it. It is never"
        " filled in."
    ),
    fix='Add "execution_time_ms", the time your work took in milliseconds.',
    requirements=("S-10", "S-12"),
    example=Example(good='  "execution_time_ms": 1234,\n', bad="", reply=CLARIFY_REPLY),
)

ANALYSIS_REPORT_MISSING = STRUCTURE_RULES.add(
    id="speckit/analysis-report-missing",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="analyze without analysis_report",
    why="An analysis may be read-only and write no file, but then nobody can read it up.",
    fix='Add "analysis_report", the path of the report you wrote.',
    requirements=("S-36",),
    example=Example(
        good='    "analysis_report": "specs/007-oauth-login/analysis.md",\n',
        bad="",
        reply=ANALYZE_REPLY,
    ),
)

NEXT_STEPS_MISSING = STRUCTURE_RULES.add(
    id="speckit/next-steps-missing",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="success without result.next_steps",
    why="The envelope shows it, the tables of the agents do not. Without it nobody is called next.",
    fix='Add "next_steps" to the result: the next agents in order, or an empty list.',
    requirements=("S-11",),
    example=Example(good='"next_steps": ["plan"]', bad='"note": "done"', reply=CLARIFY_REPLY),
)

UNKNOWN_STATUS = STRUCTURE_RULES.add(
    id="speckit/unknown-status",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="status neither success nor error",
    why="The router acts on the status, and nothing becomes success by default.",
    fix="Write success or error, the one that is true.",
    requirements=("S-13",),
    example=Example(good='"status": "success"', bad='"status": "completed"', reply=CLARIFY_REPLY),
)

RESULT_AND_ERROR = STRUCTURE_RULES.add(
    id="speckit/result-and-error",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="both result and error, or the one that does not fit the status",
    why="A success with an error can be read either way.",
    fix='Send "result" with success, "error" with error, never both.',
    requirements=("S-13",),
    example=Example(
        good='"result": {',
        bad='"error": {"type": "TimeoutError"}, "result": {',
        reply=CLARIFY_REPLY,
    ),
)

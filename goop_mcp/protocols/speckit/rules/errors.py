"""Rules about an answer of status error: its type, and how to recover from it."""

from collections.abc import Mapping

from goop_mcp.protocols.speckit.model import Response
from goop_mcp.protocols.speckit.samples import CONSTITUTION_REPLY, ERROR_REPLY, TIMEOUT_REPLY
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity
from goop_mcp.validation.rules import Example, RuleList

__all__ = [
    "DERIVED_STRATEGY",
    "ERROR_CODE_FORM",
    "ERROR_RULES",
    "FITTING",
    "UNKNOWN_ERROR_TYPE",
    "UNKNOWN_STRATEGY",
]

FITTING: Mapping[str, tuple[str, ...]] = {
    "PrerequisiteError": ("run_prerequisite_agent", "ask_user", "manual_resolution"),
    "ValidationError": ("fix_and_retry", "ask_user", "manual_resolution"),
    "QualityGateFailure": ("feedback_loop", "fix_and_retry", "ask_user", "manual_resolution"),
    "ConstitutionViolationError": ("manual_resolution",),
    "BranchExistsError": ("ask_user", "manual_resolution"),
    "TimeoutError": (
        "retry",
        "retry_with_backoff",
        "fix_and_retry",
        "ask_user",
        "manual_resolution",
    ),
    "ExternalServiceError": (
        "retry_with_backoff",
        "retry",
        "fix_and_retry",
        "ask_user",
        "manual_resolution",
    ),
}
"""The strategies that fit each type, the usual one first. A more careful one is never wrong."""


ERROR_RULES = RuleList()


ERROR_CODE_FORM = ERROR_RULES.add(
    id="speckit/error-code-form",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="code not in UPPER_SNAKE form",
    why="Programs compare the code; people read the message.",
    fix="Write the code in capitals with underscores, such as MISSING_PLAN.",
    requirements=("S-14",),
    example=Example(good='"code": "MISSING_PLAN"', bad='"code": "missing-plan"', reply=ERROR_REPLY),
)


UNKNOWN_ERROR_TYPE = ERROR_RULES.add(
    id="speckit/unknown-error-type",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="type not in the seven",
    why="Each type has its own way to recover; for another one the user is asked.",
    fix="Choose the one of the seven types that fits.",
    requirements=("S-17",),
    example=Example(
        good='"type": "PrerequisiteError"', bad='"type": "DiskFullError"', reply=ERROR_REPLY
    ),
)


DERIVED_STRATEGY = ERROR_RULES.add(
    id="speckit/derived-strategy",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches=(
        "`retry` or `retry_with_backoff`: in the table of error types, but not in the table of"
        " strategies"
    ),
    why="The two tables of the specification differ; the meaning is plain.",
    fix="Nothing to do: it is read as the strategy of the error type.",
    requirements=("S-22", "S-23", "S-24"),
    example=Example(
        good='"recovery_strategy": "fix_and_retry"',
        bad='"recovery_strategy": "retry"',
        reply=TIMEOUT_REPLY,
    ),
)


UNKNOWN_STRATEGY = ERROR_RULES.add(
    id="speckit/unknown-strategy",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="any other unlisted strategy; the router takes the one of the type",
    why="Nobody knows how to carry it out.",
    fix="Choose one of the listed strategies.",
    requirements=("S-24",),
    example=Example(
        good='"recovery_strategy": "run_prerequisite_agent"',
        bad='"recovery_strategy": "pray"',
        reply=ERROR_REPLY,
    ),
)


@ERROR_RULES.rule(
    id="speckit/strategy-mismatch",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="the strategy does not fit the type; the router takes the safer one",
    why="A violated rule of the project must not be retried.",
    fix="Choose the strategy that the table of types gives.",
    requirements=("S-25",),
    example=Example(
        good='"recovery_strategy": "manual_resolution"',
        bad='"recovery_strategy": "fix_and_retry"',
        reply=CONSTITUTION_REPLY,
    ),
)
def _strategy_mismatch(response: Response, _expected: Expectations) -> Hit | None:
    error = response.error
    if error is None or not error.type or not error.recovery_strategy:
        return None

    fitting = FITTING.get(error.type)
    known = any(error.recovery_strategy in strategies for strategies in FITTING.values())
    if fitting is None or not known or error.recovery_strategy in fitting:
        return None
    return Hit(
        message=(
            f"recovery_strategy is {error.recovery_strategy!r} for {error.type}; expected"
            f" {fitting[0]}"
        ),
        path="/error/recovery_strategy",
        found=error.recovery_strategy,
        expected=fitting,
    )


@ERROR_RULES.rule(
    id="speckit/missing-suggested-agent",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="run_prerequisite_agent without suggested_action.agent",
    why="The strategy is to run the suggested agent first; without one there is nobody to run.",
    fix="Name the agent to run first in suggested_action.",
    requirements=("S-26",),
    example=Example(
        good='{"agent": "plan", "reason": "It writes plan.md"}',
        bad='{"reason": "It writes plan.md"}',
        reply=ERROR_REPLY,
    ),
)
def _missing_suggested_agent(response: Response, _expected: Expectations) -> Hit | None:
    # "run_prerequisite_agent | Execute suggested agent first" (Recovery Strategies)
    error = response.error
    if error is None or error.recovery_strategy != "run_prerequisite_agent":
        return None
    if error.suggested_action is not None and error.suggested_action.agent:
        return None
    return Hit(
        message=(
            "recovery_strategy is run_prerequisite_agent, but suggested_action.agent is missing;"
            " expected an agent"
        ),
        path="/error/suggested_action/agent",
    )


@ERROR_RULES.rule(
    id="speckit/manual-but-recoverable",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="recoverable true with manual_resolution; manual wins",
    why="What only a person can resolve cannot be recovered from by itself.",
    fix='Write "recoverable": false, or choose another strategy.',
    requirements=("S-20", "S-27"),
    example=Example(
        good='"recoverable": false', bad='"recoverable": true', reply=CONSTITUTION_REPLY
    ),
)
def _manual_but_recoverable(response: Response, _expected: Expectations) -> Hit | None:
    # "manual_resolution | Cannot auto-recover" (Recovery Strategies)
    error = response.error
    if (
        error is None
        or error.recoverable is not True
        or error.recovery_strategy != "manual_resolution"
    ):
        return None

    return Hit(
        message="recoverable is true and recovery_strategy is manual_resolution; expected false",
        path="/error/recoverable",
        found="true",
        expected=("false",),
    )

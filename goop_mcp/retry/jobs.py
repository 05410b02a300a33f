"""One job: who is asked, for what, and on which terms."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from goop_mcp.errors import RuleFailedError, UnknownNameError
from goop_mcp.evidence.corrections import Correction
from goop_mcp.protocols import check_rules, validate
from goop_mcp.retry.attempts import Attempt, base_of
from goop_mcp.retry.hooks import Hooks
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Agent
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.feedback import compose_feedback
from goop_mcp.validation.findings import Mode, Severity
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.verdict import REQUIREMENTS, Requirement, Verdict

if TYPE_CHECKING:
    from goop_mcp.evidence.evidence import EvidenceSource

__all__ = [
    "DEFAULT_POLICY",
    "Job",
    "check_count",
    "check_names",
    "check_terms",
    "check_type",
    "judge",
    "judged",
]

DEFAULT_POLICY = RetryPolicy()

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """A prompt for an agent, with the arguments of `validate` for its replies.

    `evidence` should be a function, as each attempt adds to what the agent did. `judge_with` gives
    the verdict on a reply in the mode it is given, in place of `validate` with the other arguments,
    and compares it with the attempt that it corrects.
    `hooks` is one or several. `agent_name` is what traces call the agent; None takes the name of
    the expected agent, or its own. Raises TypeError, UnknownNameError and RuleRefusedError for what
    could never be judged, before anybody is asked.
    """

    agent: Agent
    prompt: str = field(repr=False)
    _: KW_ONLY
    protocol: str = "auto"
    expected: Expectations | None = None
    policy: RetryPolicy = DEFAULT_POLICY
    hooks: Hooks | Sequence[Hooks] = ()
    limits: Limits = DEFAULT_LIMITS
    rules: Sequence[Rule] = ()
    agent_name: str | None = None
    evidence: "EvidenceSource | None" = None
    require: Requirement = "claimed"
    judge_with: "Callable[[str, Mode, Correction], Verdict] | None" = None

    def __post_init__(self) -> None:
        """Refuse mistakes of the caller while they cost nothing."""
        check_type("the prompt", self.prompt, str, "a text")
        check_terms(self.policy, self.expected, self.limits)
        for each in self.listeners:
            check_type("one of hooks", each, Hooks, "Hooks(...)")

        check_names(self.protocol, None if self.expected is None else self.expected.phase)
        check_rules(self.rules)
        if self.require not in REQUIREMENTS:
            raise UnknownNameError("tier", str(self.require), REQUIREMENTS)
        if self.agent_name is not None:
            check_type("agent_name", self.agent_name, str, "a text, or None")

        # What is frozen must not change with a list of the caller's.
        object.__setattr__(self, "rules", tuple(self.rules))

    @property
    def listeners(self) -> tuple[Hooks, ...]:
        """The hooks, one or several, as several."""
        return (self.hooks,) if isinstance(self.hooks, Hooks) else tuple(self.hooks)

    @property
    def may_wait(self) -> bool:
        """Whether a judgement may wait for files or programs, and not only compute."""
        return self.judge_with is not None or callable(self.evidence)

    def judge(self, reply: str, correction: Correction | None = None) -> Verdict:
        """Return the verdict on a reply. Raises RuleFailedError."""
        if self.judge_with is not None:
            verdict = self.judge_with(reply, _mode_of(self.policy), correction or Correction())
            return _without_repairs(verdict, self.policy, self.limits)

        return judge(
            reply,
            correction,
            protocol=self.protocol,
            expected=self.expected,
            policy=self.policy,
            limits=self.limits,
            rules=self.rules,
            evidence=self.evidence,
            require=self.require,
        )


def judge(
    reply: str,
    correction: Correction | None = None,
    *,
    protocol: str,
    expected: Expectations | None,
    policy: RetryPolicy,
    limits: Limits,
    rules: Sequence[Rule],
    evidence: "EvidenceSource | None" = None,
    require: Requirement = "claimed",
) -> Verdict:
    """Return the verdict of `validate`, without the repairs that the policy does not accept."""
    verdict = validate(
        reply,
        protocol=protocol,
        mode=_mode_of(policy),
        expected=expected,
        limits=limits,
        rules=rules,
        evidence=evidence,
        require=require,
        correction=correction,
    )
    return _without_repairs(verdict, policy, limits)


def _mode_of(policy: RetryPolicy) -> Mode:
    return "lenient" if policy.allow_repairs else "strict"


def _without_repairs(verdict: Verdict, policy: RetryPolicy, limits: Limits) -> Verdict:
    """Return `verdict`, rejected where it needed a repair that the policy does not accept."""
    if not policy.rejected_repairs or not verdict.repairs:
        return verdict

    unwanted = {repair.rule for repair in verdict.repairs} & policy.rejected_repairs
    if not unwanted:
        return verdict

    # What the strict mode does for all repairs: the finding of each unwanted one is an error.
    findings = tuple(
        replace(finding, severity=Severity.ERROR) if finding.rule in unwanted else finding
        for finding in verdict.findings
    )
    feedback = compose_feedback(findings, no_envelope=False, template="", limits=limits)
    return replace(verdict, verdict="rejected", findings=findings, feedback=feedback)


def judged(
    attempt: Attempt,
    verdict_on: Callable[[str, Correction], Verdict],
    earlier: Sequence[Attempt],
    *,
    follows: bool,
) -> Attempt:
    """Return `attempt` with the verdict on its reply, or failed where a custom rule failed.

    It is compared with what it corrects of `earlier`; `follows` is that of `Correction`. Where a
    rule failed, to ask again would not help, and what it could not look at must not pass for
    accepted.
    """
    correction = Correction(base_of(earlier, attempt), follows=follows)
    try:
        verdict = verdict_on(attempt.reply or "", correction)
        # Nothing corrects a reply that was accepted.
        stated = None if verdict.accepted else correction.stated(verdict)
        return replace(attempt, verdict=verdict, stated=stated)
    except RuleFailedError as failure:
        _logger.exception(
            "a reply cannot be judged; it is not accepted, and the agent is not asked again"
        )
        # Without a verdict the attempt counts as a failed call, and `repeatable` stays False.
        return replace(attempt, error=str(failure), failure=failure)


def check_terms(policy: object, expected: object, limits: object) -> None:
    """Raise TypeError for terms of another kind, such as the fields of a policy in a dict."""
    check_type("policy", policy, RetryPolicy, "RetryPolicy(...)")
    check_type("limits", limits, Limits, "Limits(...)")
    if expected is not None:
        check_type("expected", expected, Expectations, "Expectations(...), or None")


def check_type(name: str, value: object, kind: type, wanted: str) -> None:
    """Raise TypeError unless `value`, named `name` in the message, is of the kind `wanted`."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} is {type(value).__name__}; expected {wanted}")


def check_count(name: str, value: object) -> None:
    """Raise ValueError unless `value` is a whole number from 1."""
    if type(value) is not int or value < 1:
        raise ValueError(f"{name} is {value!r}; expected a whole number from 1")


@lru_cache(maxsize=64)
def check_names(protocol: str, phase: str | None) -> None:
    """Raise UnknownNameError for a protocol or phase that does not exist."""
    # `validate` knows all names; the result is kept, as each job of thousands is checked.
    validate("", protocol=protocol, expected=Expectations(phase=phase))

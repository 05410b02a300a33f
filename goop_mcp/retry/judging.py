"""How a reply is judged within a call: as always, but for repairs that the policy does not want."""

from dataclasses import dataclass, replace

from goop_mcp.protocols import validate
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.feedback import compose_feedback
from goop_mcp.validation.findings import Mode, Severity
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits
from goop_mcp.validation.verdict import Verdict

__all__ = ["Task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is asked, and what is known of the answer beforehand; the fields are the arguments of `validate`."""

    prompt: str
    protocol: str = "auto"
    expected: Expectations | None = None
    limits: Limits = DEFAULT_LIMITS

    def judge(self, reply: str, policy: RetryPolicy) -> Verdict:
        """Return the verdict on a reply, in the mode that the policy asks for."""
        mode: Mode = "lenient" if policy.mend_form else "strict"
        verdict = validate(reply, protocol=self.protocol, mode=mode, expected=self.expected, limits=self.limits)
        unwanted = {repair.rule for repair in verdict.repairs} & policy.unmended
        return _rejected(verdict, unwanted, self.limits) if unwanted else verdict


def _rejected(verdict: Verdict, rules: set[str], limits: Limits) -> Verdict:
    findings = tuple(
        replace(finding, severity=Severity.ERROR) if finding.rule in rules else finding for finding in verdict.findings
    )
    feedback = compose_feedback(findings, no_envelope=False, skeleton="", limits=limits)
    return replace(verdict, verdict="rejected", findings=findings, feedback=feedback)

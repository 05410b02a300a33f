"""Attempts are data: what was sent, what came back, how it was judged, what it took."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from goop_mcp.errors import GoopError
from goop_mcp.retry.replies import Usage, Way
from goop_mcp.validation.envelope_rules import AMBIGUOUS, TOO_LARGE
from goop_mcp.validation.findings import Repair, Severity
from goop_mcp.validation.verdict import Envelope, Verdict

__all__ = ["LONG_REPLY", "Attempt", "NotAcceptedError", "Outcome", "StoppedBecause", "gave_up"]

StoppedBecause = Literal["accepted", "attempts", "deadline", "budget", "no_progress", "cancelled", "agent_error"]

LONG_REPLY = 100_000
"""Characters: to look at a longer reply takes longer than other tasks should have to wait."""

_GIVEN_UP = 0.2  # of the longest earlier envelope: a reply this short is likely to say less, not to say it better


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One message and what became of it.

    `reply` is the raw text, None when the call failed; then `error` says why in words, `failure` is what was raised,
    None for a call that was cancelled, and `repeatable` tells whether the same words may be sent again. `verdict` is
    None when `reply` is, and where a rule of the caller's own failed on it, which `error` and `failure` then tell.
    `seconds` is the time of the call, without the judging. `usage` is None where the agent did not say. `fallback`
    marks the answer of the fallback.
    """

    message: str = field(repr=False)
    way: Way
    reply: str | None = field(default=None, repr=False)
    verdict: Verdict | None = None
    error: str | None = None
    failure: Exception | None = None
    repeatable: bool = False
    seconds: float = 0.0
    usage: Usage | None = None
    fallback: bool = False

    @property
    def accepted(self) -> bool:
        """Whether the reply may be acted upon."""
        return self.verdict is not None and self.verdict.accepted

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What was mended in the form of the reply."""
        return self.verdict.repairs if self.verdict is not None else ()

    @cached_property
    def reply_key(self) -> int:
        """A number that is the same for replies that differ in white space only; long ones must be equal."""
        text = self.reply or ""
        return hash(text if len(text) > LONG_REPLY else " ".join(text.split()))

    @cached_property
    def findings_key(self) -> frozenset[tuple[str, str | None]]:
        """Which rules were broken and where."""
        errors = self.verdict.of_severity(Severity.ERROR) if self.verdict is not None else ()
        return frozenset((finding.rule, finding.path) for finding in errors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a call ended. Complete in every ending: no attempt is missing and no text is lost.

    `attempts` holds every message sent, in order. `accepted_at_last_attempt` tells that only the last reply which the
    policy allows was accepted: the next call may fail.
    """

    attempts: tuple[Attempt, ...]
    stopped_because: StoppedBecause
    accepted_at_last_attempt: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the last reply may be acted upon."""
        return self.stopped_because == "accepted"

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the last reply that was judged, None when no reply came at all."""
        return next((each.verdict for each in reversed(self.attempts) if each.verdict is not None), None)

    @property
    def envelope(self) -> Envelope | None:
        """The typed envelope of the accepted reply; None in every other ending, as nobody should act upon it then."""
        return self.verdict.envelope if self.accepted and self.verdict is not None else None

    @property
    def text(self) -> str:
        """The last reply as it came, also when it was not accepted; "" when there was none."""
        return next((each.reply for each in reversed(self.attempts) if each.reply is not None), "")

    @property
    def joined_text(self) -> str:
        """The last reply behind the prose of the first, where only the envelope had been missing from that.

        An agent that forgot its envelope is asked for nothing else; what it had said before belongs to the answer.
        """
        replies = [each for each in self.attempts if each.reply is not None]
        if not self.accepted or not _lacks_envelope(replies[0]) or _stands_alone(replies[-1]):
            return self.text
        prose = (replies[0].reply or "").strip()
        return self.text if prose in self.text else f"{prose}\n\n{self.text}"

    @property
    def usage(self) -> Usage:
        """What all attempts cost together, those that failed included; unknown costs count as nothing."""
        return sum((each.usage for each in self.attempts if each.usage is not None), Usage())

    @property
    def seconds(self) -> float:
        """How long the agent took, without waiting and judging."""
        return sum(each.seconds for each in self.attempts)

    @property
    def failure(self) -> Exception | None:
        """What the agent raised last, or a rule of the caller's own on its reply; None when there is a verdict."""
        return self.attempts[-1].failure if self.attempts else None


class NotAcceptedError(GoopError):
    """Raised, if the policy says so, when no acceptable reply came; `outcome` has every attempt."""

    def __init__(self, outcome: Outcome) -> None:
        """Tell how `outcome` ended."""
        self.outcome = outcome
        last = outcome.attempts[-1] if outcome.attempts else None
        rules = sorted({rule for rule, _ in last.findings_key})[:5] if last else []
        what = f"; the last reply broke {', '.join(rules)}" if rules else ""
        tail = f"; the last call failed: {last.error}" if last and last.error else ""
        if last and last.error and last.reply is not None:
            tail = f"; the last reply could not be judged: {last.error}"
        count = "1 attempt" if len(outcome.attempts) == 1 else f"{len(outcome.attempts)} attempts"
        super().__init__(
            f"no acceptable reply after {count} ({outcome.stopped_because}){what}{tail}; outcome has every attempt"
        )


def gave_up(replies: Sequence[Attempt]) -> bool:
    """Tell whether the last envelope is much shorter than an earlier one: accepted perhaps because it says nothing."""
    lengths = [_envelope_length(each) for each in replies]
    return len(lengths) > 1 and lengths[-1] < _GIVEN_UP * max(lengths[:-1])


def _envelope_length(attempt: Attempt) -> int:
    span = attempt.verdict.span if attempt.verdict is not None else None
    return span[1] - span[0] if span is not None else 0


def _lacks_envelope(attempt: Attempt) -> bool:
    verdict = attempt.verdict
    if verdict is None or verdict.accepted or verdict.span is not None:
        return False
    return not {rule for rule, _ in attempt.findings_key} & {TOO_LARGE.id, AMBIGUOUS.id}


def _stands_alone(attempt: Attempt) -> bool:
    """Tell whether a reply answers the task itself and no earlier reply."""
    return attempt.way in ("first", "fresh") or attempt.fallback

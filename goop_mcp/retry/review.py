"""Judge the replies of a conversation that somebody else drives: a framework that asks again by itself.

The same policy, stop rules and words as in `ask_until_accepted`; only who sends them differs.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from time import monotonic
from typing import Final, TypedDict

from goop_mcp.errors import PolicyError
from goop_mcp.protocols import check_rules
from goop_mcp.retry.attempts import Attempt, NotAcceptedError, Outcome, StoppedBecause
from goop_mcp.retry.budget import Budget
from goop_mcp.retry.course import Stop, next_step
from goop_mcp.retry.ending import outcome_of
from goop_mcp.retry.jobs import DEFAULT_POLICY, check_names, check_terms, judge, judged
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Message, Way
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.verdict import Verdict

__all__ = ["Review", "ReviewTerms"]

_KEPT = frozenset({"max_attempts", "deadline", "when_exhausted", "mend_form", "unmended"})
# One conversation, of which nothing can be taken back: a reply that brings nothing new ends it.
_WAYS: Final[tuple[Way, ...]] = ("same_conversation",)

_logger = logging.getLogger(__name__)


class ReviewTerms(TypedDict, total=False):
    """The terms of a review, by their names; see `Review`."""

    protocol: str
    expected: Expectations | None
    policy: RetryPolicy
    limits: Limits
    rules: Sequence[Rule]
    on_stop: Callable[[Outcome], None] | None


class Review:
    """One conversation: give each reply to `hear` and send back what it returns, until it returns None.

    `protocol`, `expected`, `limits` and `rules` are those of `validate`; a rule that fails ends the review with
    "agent_error". Of `policy` the fields max_attempts, deadline, when_exhausted, mend_form and unmended are kept.
    `on_stop` is given the outcome once, when the review ends; what it raises is logged. `clock` gives seconds that
    never go back.

    Raises PolicyError for a policy that only `ask_until_accepted` can keep, UnknownNameError for an unknown protocol,
    TypeError for terms of the wrong kind, RuleRefusedError for a rule that cannot be used.
    """

    def __init__(
        self,
        *,
        protocol: str = "auto",
        expected: Expectations | None = None,
        policy: RetryPolicy = DEFAULT_POLICY,
        limits: Limits = DEFAULT_LIMITS,
        rules: Sequence[Rule] = (),
        on_stop: Callable[[Outcome], None] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        check_terms(policy, expected, limits)
        check_names(protocol, None if expected is None else expected.phase)
        check_rules(rules)
        self._protocol, self._expected, self._limits, self._rules = protocol, expected, limits, tuple(rules)
        self._policy = _keepable(policy)
        self._on_stop = on_stop
        self._clock = clock
        self._budget = Budget(self._policy, clock)
        self._asked_at = clock()
        self._message = Message("")
        self._because: StoppedBecause | None = None
        self.attempts: list[Attempt] = []

    @property
    def stopped(self) -> bool:
        """Whether the review has ended; more replies must not be given to it."""
        return self._because is not None

    @property
    def outcome(self) -> Outcome:
        """How the review ended; "attempts" where the framework asked no more although it was told to."""
        because = self._because or "attempts"
        return outcome_of(self.attempts, because, self._policy, counts_usage=self._budget.counts_usage)

    def hear(self, reply: str, *, last: bool = False) -> str | None:
        """Judge `reply`; return what to send back to the agent, None when the review has ended.

        `last` says that the framework will not ask again. Raises NotAcceptedError when the review ends without an
        accepted reply and the policy says "raise", RuntimeError when it had ended before, TypeError for a reply that is
        no text.
        """
        if self.stopped:
            raise RuntimeError(f"the review has ended ({self._because}); make another for another task")
        self.attempts.append(self._attempt(reply))
        step = next_step("", self.attempts, self._policy)
        if isinstance(step, Stop):
            self._end(step.because)
            return None
        if (limit := self._budget.used_up() or ("attempts" if last else None)) is not None:
            self._end(limit)
            return None
        self._message, self._asked_at = step.message, self._clock()
        return step.message.text

    def _end(self, because: StoppedBecause) -> None:
        self._because = because
        self._tell()
        if self._policy.when_exhausted == "raise" and because != "accepted":
            raise NotAcceptedError(self.outcome) from self.outcome.failure

    def _attempt(self, reply: str) -> Attempt:
        seconds = self._clock() - self._asked_at
        said = Attempt(message=self._message.text, way=self._message.way, reply=reply, seconds=seconds)
        return judged(said, self._judge)

    def _judge(self, reply: str) -> Verdict:
        return judge(
            reply,
            protocol=self._protocol,
            expected=self._expected,
            policy=self._policy,
            limits=self._limits,
            rules=self._rules,
        )

    def _tell(self) -> None:
        if self._on_stop is None:
            return
        try:
            self._on_stop(self.outcome)
        except Exception:
            _logger.exception("on_stop failed; the outcome stays as it is")


def _keepable(policy: RetryPolicy) -> RetryPolicy:
    """Return `policy` for one conversation. Raises PolicyError for what somebody else's loop cannot keep."""
    other = [
        field.name
        for field in fields(policy)
        if field.name not in _KEPT and getattr(policy, field.name) not in (getattr(DEFAULT_POLICY, field.name), _WAYS)
    ]
    if other:
        names = ", ".join(other)
        raise PolicyError(f"the framework asks by itself, so {names} cannot be kept; leave it out")
    return replace(policy, ways=_WAYS)

"""Judge the replies of a conversation that a framework drives by itself.

Policy, stop rules and messages are those of `ask_until_accepted`; the framework sends them.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypedDict

from goop_mcp.errors import PolicyError
from goop_mcp.protocols import check_rules
from goop_mcp.retry.attempts import CANCELLED, Attempt, NotAcceptedError, Outcome, StoppedBecause
from goop_mcp.retry.budget import Budget
from goop_mcp.retry.calls import describe_failure, usage_of_failure
from goop_mcp.retry.jobs import DEFAULT_POLICY, check_names, check_terms, judge, judged
from goop_mcp.retry.loop import UNCOUNTED, outcome_of
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Message, Usage, Way
from goop_mcp.retry.strategy import Stop, next_step
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.stop_reasons import stop_reason_of
from goop_mcp.validation.verdict import Requirement

if TYPE_CHECKING:
    from goop_mcp.evidence.evidence import EvidenceSource

__all__ = ["Review", "ReviewOptions", "notify"]

_KEPT = frozenset(
    {"max_attempts", "deadline", "when_exhausted", "allow_repairs", "rejected_repairs"}
)
# One conversation, of which nothing can be taken back: a reply that brings nothing new ends it.
_STRATEGIES: Final[tuple[Way, ...]] = ("same_conversation",)

_logger = logging.getLogger(__name__)


class ReviewOptions(TypedDict, total=False):
    """The terms of a review, by their names; see `Review`."""

    protocol: str
    expected: Expectations | None
    policy: RetryPolicy
    limits: Limits
    rules: Sequence[Rule]
    evidence: "EvidenceSource | None"
    require: Requirement
    on_stop: Callable[[Outcome], None] | None


class Review:
    """One conversation: give each reply to `hear` and send back what it returns until that is None.

    `protocol`, `expected`, `limits`, `rules`, `evidence` and `require` are those of `validate`; a
    function as `evidence` is called for each reply, a rule that fails ends the review with
    "agent_error". Of `policy` the fields max_attempts, deadline, when_exhausted,
    allow_repairs and rejected_repairs are kept. `on_stop` is given the outcome once, when the
    review ends, also by `fail` and `cancel`; what it raises is logged. `clock` gives seconds that
    never go back. The deadline ends the review at the next reply; the call of the model is the
    framework's, to be bounded by `time_left`.

    Raises PolicyError for a policy that only `ask_until_accepted` can keep, UnknownNameError for an
    unknown protocol, TypeError for terms of the wrong kind, RuleRefusedError for a rule that cannot
    be used.
    """

    def __init__(
        self,
        *,
        protocol: str = "auto",
        expected: Expectations | None = None,
        policy: RetryPolicy = DEFAULT_POLICY,
        limits: Limits = DEFAULT_LIMITS,
        rules: Sequence[Rule] = (),
        evidence: "EvidenceSource | None" = None,
        require: Requirement = "claimed",
        on_stop: Callable[[Outcome], None] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        check_terms(policy, expected, limits)
        check_names(protocol, None if expected is None else expected.phase)
        check_rules(rules)
        other = [
            field.name
            for field in fields(policy)
            if field.name not in _KEPT
            and getattr(policy, field.name)
            not in (getattr(DEFAULT_POLICY, field.name), _STRATEGIES)
        ]
        if other:
            names = ", ".join(other)
            raise PolicyError(
                f"the framework asks by itself, so {names} cannot be kept; leave it out"
            )

        self._policy = replace(policy, strategies=_STRATEGIES)
        self._judge = partial(
            judge,
            protocol=protocol,
            expected=expected,
            policy=self._policy,
            limits=limits,
            rules=tuple(rules),
            evidence=evidence,
            require=require,
        )
        self._follows = callable(evidence)
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
        """How the review ended; "attempts" where the framework did not ask again."""
        because = self._because or "attempts"
        uncounted = self._budget.counts_usage and any(each.usage is None for each in self.attempts)
        return outcome_of(
            self.attempts, because, self._policy, remarks=[UNCOUNTED] if uncounted else []
        )

    @property
    def time_left(self) -> float | None:
        """Seconds to the deadline of the policy, or to a nearer one around the review.

        None without any.
        """
        return self._budget.time_left()

    def hear(
        self,
        reply: str,
        *,
        last: bool = False,
        usage: Usage | None = None,
        conversation_id: str | None = None,
        stop_reason: str | None = None,
    ) -> str | None:
        """Judge `reply`; return what to send back to the agent, None when the review has ended.

        `last` says that the framework will not ask again; `usage` is what the reply used and
        `conversation_id` the session it came from, `stop_reason` the word of the model's interface
        for why it stopped, None where the framework does not say. Raises
        NotAcceptedError when the review ends without an accepted reply and the policy says "raise",
        RuntimeError when it had ended before, TypeError for a reply that is not text.
        """
        self._check_open()
        if usage is not None:
            self._budget.spend(usage)

        attempt = self._attempt(
            reply=reply, usage=usage, conversation_id=conversation_id, stop_reason=stop_reason
        )
        because = self._judge_next(attempt, last=last, follows=self._follows)
        if because is None:
            return self._message.text

        self._stop(because)
        if self._policy.when_exhausted == "raise" and because != "accepted":
            raise NotAcceptedError(self.outcome) from self.outcome.failure
        return None

    def recall(
        self,
        reply: str,
        *,
        usage: Usage | None = None,
        stop_reason: str | None = None,
        kept: Mapping[str, Any] | None = None,
    ) -> None:
        """Take a reply of an earlier review of this conversation as it was judged, without cost.

        `kept` is what `keep_last` returned then; without it the reply is judged again. Where it
        ends the review nobody is notified and nothing is raised, as the earlier one did that.
        Raises RuntimeError when the review had ended before, ValueError for another `kept`.
        """
        self._check_open()
        # The budget is left alone: what the reply cost was counted when it was heard first.
        attempt = self._attempt(reply=reply, usage=usage, stop_reason=stop_reason)
        if kept is None:
            # What the agent had done by then is not known now.
            self._because = self._judge_next(attempt, last=False, follows=False)
            return

        given = {"message": attempt.message, "way": attempt.way, "reply": reply}
        was = Attempt.from_dict({**kept, **given})
        self._because = self._go_on(
            replace(was, usage=usage, stop_reason=attempt.stop_reason), last=False
        )

    def keep_last(self) -> dict[str, Any]:
        """Return how the last reply was judged, as JSON values without its text, for `recall`."""
        values = self.attempts[-1].to_dict()
        return {name: each for name, each in values.items() if name not in ("message", "reply")}

    def settle(self, usage: Usage) -> None:
        """Count what the last reply used, where the framework reports it only afterwards."""
        self._budget.spend(usage)
        self.attempts[-1] = replace(self.attempts[-1], usage=usage)

    def _check_open(self) -> None:
        if self.stopped:
            raise RuntimeError(
                f"the review has ended ({self._because}); make another for another task"
            )

    def _judge_next(self, attempt: Attempt, *, last: bool, follows: bool) -> StoppedBecause | None:
        """Judge an attempt; return why that ends the review.

        None means that the next message is ready.
        """
        now = judged(attempt, self._judge, self.attempts, follows=follows)
        return self._go_on(now, last=last)

    def _go_on(self, attempt: Attempt, *, last: bool) -> StoppedBecause | None:
        self.attempts.append(attempt)
        step = next_step("", self.attempts, self._policy)
        if isinstance(step, Stop):
            return step.because
        if (limit := self._budget.used_up() or ("attempts" if last else None)) is not None:
            return limit

        self._message, self._asked_at = step.message, self._clock()

        return None

    def fail(self, failure: BaseException, *, usage: Usage | None = None) -> None:
        """End the review because a call failed for good; does nothing when it has ended.

        A time-out after the deadline ends it as "deadline", all else as "agent_error". What is no
        Exception, such as an interrupt from the keyboard, counts as a cancellation. `usage` is what
        the call used all the same; None takes what the failure says. Nothing is raised: the failure
        is the caller's to pass on.
        """
        if self.stopped:
            return
        if not isinstance(failure, Exception):
            self.cancel(usage=usage)
            return
        if usage is None:
            usage = usage_of_failure(failure)
        if usage is not None:
            self._budget.spend(usage)

        self.attempts.append(
            self._attempt(error=describe_failure(failure), failure=failure, usage=usage)
        )
        # A framework that is given `time_left` as its time-out raises an error at the deadline.
        late = isinstance(failure, TimeoutError) and self._budget.used_up() == "deadline"
        self._stop("deadline" if late else "agent_error")

    def cancel(self, *, usage: Usage | None = None) -> None:
        """End the review because nobody will answer any more; does nothing when it has ended."""
        if self.stopped:
            return
        if usage is not None:
            self._budget.spend(usage)

        self.attempts.append(self._attempt(error=CANCELLED, usage=usage))
        self._stop("cancelled")

    def _stop(self, because: StoppedBecause) -> None:
        self._because = because
        notify(self._on_stop, self.outcome)

    def _attempt(
        self,
        *,
        reply: str | None = None,
        error: str | None = None,
        failure: Exception | None = None,
        usage: Usage | None = None,
        conversation_id: str | None = None,
        stop_reason: str | None = None,
    ) -> Attempt:
        return Attempt(
            message=self._message.text,
            way=self._message.way,
            reply=reply,
            error=error,
            failure=failure,
            seconds=self._clock() - self._asked_at,
            usage=usage,
            conversation_id=conversation_id,
            stop_reason=stop_reason_of(stop_reason),
        )


def notify(on_stop: Callable[[Outcome], None] | None, outcome: Outcome) -> None:
    """Give `outcome` to `on_stop`; what that raises is logged."""
    if on_stop is None:
        return

    try:
        on_stop(outcome)
    except Exception:
        _logger.exception("on_stop failed; the outcome stays as it is")

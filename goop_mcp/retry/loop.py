"""Ask an agent until its report is accepted, or until the policy says stop."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Final, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import checkpoint_if_cancelled

from goop_mcp.evidence.corrections import has_changed_claims
from goop_mcp.retry.agent_records import AgentUnavailableError, find_record, key_of, record_of
from goop_mcp.retry.attempts import (
    CANCELLED,
    LONG_REPLY,
    Attempt,
    Outcome,
    StoppedBecause,
    gave_up,
)
from goop_mcp.retry.budget import Budget
from goop_mcp.retry.calls import (
    AgentInterruptedError,
    DeadlinePassedError,
    answer_within,
    call_of,
    describe_failure,
    is_repeatable,
    is_transient,
    usage_of_failure,
)
from goop_mcp.retry.hooks import call_hooks
from goop_mcp.retry.jobs import Job, check_type, judged
from goop_mcp.retry.policy import RetryPolicy, pause_before, retry_time
from goop_mcp.retry.prompts import ask_again
from goop_mcp.retry.replies import NOTHING_USED, Message, Reply, Usage
from goop_mcp.retry.strategy import Ask, Stop, next_step
from goop_mcp.retry.telemetry import (
    attempt_span,
    count_outcome,
    describe_call,
    name_of,
    start_call_span,
    within,
)
from goop_mcp.validation.findings import counted_noun
from goop_mcp.validation.stop_reasons import stop_reason_of

__all__ = ["UNCOUNTED", "RetryLoop", "outcome_of"]

T = TypeVar("T")

# Seconds for the hooks after a cancellation, when their results can only be recorded.
_FAREWELL_SECONDS = 1.0

UNCOUNTED: Final = (
    "the agent does not say what its answers cost, so the limits on tokens and cost could not be"
    " kept"
)
"""Warns of a conversation that somebody else drives: nothing can be reserved for its calls."""

_LAST = "accepted at the last attempt that the policy allows"
_SHORT = (
    "the accepted envelope is much shorter than an earlier one; look whether it still says"
    " everything"
)
_CHANGED = (
    "the accepted reply says more than the one that it corrects, and nothing was seen to run in"
    " between; look at its warnings correction/claim-changed"
)
_FALLBACK = "the answer is the fallback's"

_logger = logging.getLogger(__name__)


class RetryLoop:
    """One call: run it once with `run`; `attempts` and `outcome` may be read at any time.

    `attempts` are those that an earlier process made for the same job, all of them and in order:
    nothing that was answered is asked again, and they count in `max_attempts`, `max_calls`,
    `max_tokens` and `max_cost` of the policy. `remark` stands before the first message that is
    sent, such as for an agent that was interrupted. With `remembers` False the agent knows nothing
    of those attempts, and gets the task with what to mind in place of a bare correction. `clock`
    gives seconds that never go back; a deadline counts from the beginning of `run`. Works under
    asyncio and trio. Raises TypeError for what cannot be asked.
    """

    def __init__(
        self,
        job: Job,
        *,
        attempts: Iterable[Attempt] = (),
        remark: str | None = None,
        remembers: bool = True,
        attributes: Mapping[str, str | int] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        check_type("the job", job, Job, "Job(agent, prompt, ...)")
        self.attempts: list[Attempt] = list(attempts)
        for each in self.attempts:
            check_type("one of attempts", each, Attempt, "Attempt.from_dict(...)")

        self._remark, self._attributes = remark, attributes
        self._remembers = remembers
        self.outcome: Outcome | None = None
        self._job = job
        self._agent, self._key = job.agent, key_of(job.agent)
        self._name = (
            job.agent_name
            or (job.expected.agent if job.expected is not None else None)
            or name_of(job.agent)
        )
        self._call = call_of(job.agent)
        self._fallbacks = [
            (agent, call_of(agent, named="fallback")) for agent in job.policy.fallbacks
        ]
        self._hooks = job.listeners
        self._clock = clock
        self._budget: Budget
        self._counts_usage = False
        self._scope: anyio.CancelScope | None = None
        self._cancelled = False
        self._assumed = 0  # calls that counted with their reservation, as their usage is unknown

    def cancel(self) -> None:
        """End the call at once; `run` then returns an outcome that was cancelled.

        To be called in the thread of the event loop; before `run`, nobody is asked at all.
        """
        self._cancelled = True
        if self._scope is not None:
            self._scope.cancel()

    async def run(self) -> Outcome:
        """Ask, judge, ask again.

        A cancellation from outside goes through; even then `outcome` is there, complete.

        Raises RuntimeError when it is called a second time.
        """
        if self._scope is not None:
            raise RuntimeError("this call was run before; make another RetryLoop to ask again")

        self._budget = Budget(self._job.policy, self._clock)
        for each in self.attempts:
            self._budget.count_earlier(each.usage)

        self._counts_usage = self._budget.counts_usage
        self._scope = anyio.CancelScope()
        # `cancel` came before there was a scope to cancel.
        if self._cancelled:
            self._scope.cancel()

        because: StoppedBecause = "cancelled"
        span = start_call_span(self._name, self._attributes)

        with within(span):
            try:
                with self._scope, self._budget.open():
                    because = await self._run_attempts()
            finally:
                remarks = [assumed_usage(self._assumed)] if self._assumed else []
                outcome = self.outcome = outcome_of(
                    self.attempts, because, self._job.policy, remarks=remarks
                )
                describe_call(span, outcome)
                count_outcome(outcome)
                listeners = [each.on_stop for each in self._hooks if each.on_stop is not None]
                if listeners and outcome.stopped_because != "cancelled":
                    await self._call_hooks(listeners, outcome)
                elif listeners:
                    # Shielded, as a cancelled call must still call its hooks; briefly, as the
                    # caller wants to be gone.
                    with anyio.move_on_after(_FAREWELL_SECONDS, shield=True):
                        await call_hooks(listeners, outcome)

        return outcome

    async def _run_attempts(self) -> StoppedBecause:
        because = await self._ask_until_stopped()
        # Each fallback has one attempt, so those made by an earlier process say which are left.
        asked = sum(each.fallback for each in self.attempts)
        for agent, call in self._fallbacks[asked:]:
            if because in ("accepted", "interrupted") or self._budget.used_up() is not None:
                return because

            self._agent, self._call = agent, call
            # Its own record: that the first agent is not available says nothing about this one.
            self._key, self._name = key_of(agent), name_of(agent)
            # The fallback knows nothing of the conversation, so it is given the task itself.
            task = Message(self._job.prompt, attempt=len(self.attempts) + 1)
            if (limit := await self._ask(task, fallback=True)) is not None:
                return limit
            if isinstance(self.attempts[-1].failure, DeadlinePassedError):
                return "deadline"
            if isinstance(self.attempts[-1].failure, AgentInterruptedError):
                return "interrupted"

            # The reason of the first agent stays: a fallback that fails as well explains less.
            because = "accepted" if self.attempts[-1].accepted else because

        return because

    async def _ask_until_stopped(self) -> StoppedBecause:
        while True:
            if self.attempts and self.attempts[-1].accepted:
                return "accepted"

            # A fallback is never asked again: what it sent says nothing about the first agent.
            own = [each for each in self.attempts if not each.fallback]
            step = next_step(self._job.prompt, own, self._job.policy)
            if isinstance(step, Stop):
                return step.because
            if (limit := self._budget.used_up()) is not None:
                return limit
            if step.failures and (because := await self._pause(step)) is not None:
                return because
            message = step.message
            if message.way == "same_conversation" and not self._remembers:
                replies = [each for each in own if each.verdict is not None]
                message = ask_again(self._job.prompt, replies, "fresh", attempt=message.attempt)
            if (because := await self._ask(message)) is not None:
                return because
            # From now on there is a conversation, in which the task stands.
            self._remembers = True

    async def _pause(self, step: Ask) -> StoppedBecause | None:
        """Wait before a failed call is repeated.

        Return at once the limit that forbids the wait, None after it.
        """
        left = self._budget.time_left()
        try:
            seconds = pause_before(
                step.failures, self.attempts[-1].failure, self._job.policy, time_left=left
            )
        except Exception:
            _logger.exception("backoff failed; the agent is not called again")
            return "agent_error"

        # Whoever waited would find the deadline passed.
        if left is not None and seconds >= left:
            return "deadline"

        await anyio.sleep(seconds)

        # Time has passed, and others may have used the rest of a shared budget.
        return self._budget.used_up()

    async def _ask(self, message: Message, *, fallback: bool = False) -> StoppedBecause | None:
        """Send `message` and judge the answer.

        Where a limit forbids that, no agent is asked and the limit is returned.
        """
        # A call that was cancelled must not send anything, nor reserve what others could use.
        await checkpoint_if_cancelled()
        if self._remark is not None:
            message = replace(message, text=f"{self._remark}\n\n{message.text}")
            self._remark = None

        if self._counts_usage and (limit := await self._reserve()) is not None:
            return limit

        # Whether an attempt was added shows in `finally` whether there was a call to settle.
        made, probe = len(self.attempts), False

        try:
            # The circuit is asked before the call is counted: a refused call costs nothing.
            record = find_record(self._key) if self._job.policy.circuit else None
            probe = record is not None and record.admit(self._clock())
            # Counted before the call and not after it: a call that is cancelled may have cost as
            # much as one that answered.
            self._budget.count_call()
            if self._hooks:
                await self._call_hooks(
                    [each.before_ask for each in self._hooks], message, least=0.0
                )
                await checkpoint_if_cancelled()

            # One span for call and verdict, so that a trace shows why the next attempt follows.
            with attempt_span(message, self.attempts, self._name):
                await self._record(message, fallback=fallback)
                await self._judge_last()
        except AgentUnavailableError as refusal:
            refused = Attempt(
                message=message.text,
                way=message.way,
                error=describe_failure(refusal),
                failure=refusal,
                usage=NOTHING_USED,
                fallback=fallback,
            )
            # A refusal is an attempt, so that the next step and the caller see why nobody was
            # asked.
            self.attempts.append(refused)
        finally:
            self._settle(self.attempts[made] if len(self.attempts) > made else None, probe=probe)

        await self._call_hooks([each.after_attempt for each in self._hooks], self.attempts[-1])

        return None

    async def _reserve(self) -> StoppedBecause | None:
        """Reserve what the call may use, and wait for that no longer than there is time."""
        key, left = self._key, self._budget.time_left()

        def expected() -> Usage:
            record = find_record(key)
            return Usage() if record is None else record.expected_usage()

        granted = False
        with anyio.move_on_after(left) as scope:
            granted = await self._budget.reserve(expected)

        if granted:
            return None
        return "deadline" if scope.cancelled_caught else "budget"

    async def _record(self, message: Message, *, fallback: bool) -> None:
        """Call the agent and add what becomes of it to the attempts, whatever happens meanwhile."""
        # Unless something else happens, the attempt was cancelled.
        reply, failure, repeatable, error = None, None, False, CANCELLED
        retry_at: float | None = None
        began = self._clock()

        try:
            reply = await self._answer(message)
        except Exception as raised:
            failure, error = raised, describe_failure(raised)
            repeatable = is_repeatable(raised, self._job.policy)
            # Its attributes are not ours: what they raise must not end the call.
            with suppress(Exception):
                retry_at = retry_time(raised)
        # A cancellation or an interrupt goes through, but only after its attempt is recorded.
        except BaseException as raised:
            error = (
                CANCELLED
                if isinstance(raised, anyio.get_cancelled_exc_class())
                else describe_failure(raised)
            )
            raise
        finally:
            usage = reply.usage if reply is not None else None
            attempt = Attempt(
                message=message.text,
                way=message.way,
                reply=None if reply is None else reply.text,
                error=error if reply is None else None,
                failure=failure,
                repeatable=repeatable,
                seconds=self._clock() - began,
                usage=usage if failure is None else usage_of_failure(failure),
                fallback=fallback,
                conversation_id=None if reply is None else reply.conversation_id,
                retry_at=retry_at,
                stop_reason=None if reply is None else stop_reason_of(reply.stop_reason),
            )
            self.attempts.append(attempt)

    def _settle(self, attempt: Attempt | None, *, probe: bool) -> None:
        """Count the end of a call, in the budget and in the agent's record.

        None means that no call was made.
        """
        if self._counts_usage and attempt is None:
            self._budget.release()
        elif self._counts_usage and attempt is not None:
            # Before the others are woken: what they may reserve depends on it.
            if attempt.reply is not None and attempt.usage is not None:
                record_of(self._agent).add_usage(attempt.usage)

            self._assumed += not self._budget.settle(attempt.usage)

        if not self._job.policy.circuit:
            return

        # Whether the next call is likely to fail as well; None where nothing was learned, as from
        # a call that the deadline ended or an error that only this message causes.
        failed: bool | None = None
        if attempt is not None and attempt.reply is not None:
            failed = False
        elif attempt is not None and attempt.failure is not None:
            late = isinstance(attempt.failure, DeadlinePassedError)
            if not late and (attempt.repeatable or is_transient(attempt.failure)):
                failed = True

        record = record_of(self._agent) if failed else find_record(self._key)
        if record is not None:
            record.settle(self._clock(), failed=failed, probe=probe)

    async def _answer(self, message: Message) -> Reply:
        left, limit = self._budget.time_left(), self._job.policy.attempt_timeout
        if left is not None and left <= 0:
            raise DeadlinePassedError("the deadline passed before the agent was asked")
        # The nearer limit decides what a late answer means: the end of the call, or a failed
        # attempt that may be repeated.
        if left is not None and (limit is None or left <= limit):
            late = DeadlinePassedError("the deadline passed before the agent answered")
            return await answer_within(left, self._call(message), late=late)
        if limit is not None:
            return await answer_within(
                limit, self._call(message), late=TimeoutError(f"no answer within {limit:g} s")
            )

        return await self._call(message)

    async def _judge_last(self) -> None:
        attempt = self.attempts[-1]
        if attempt.reply is None:
            return
        may_wait = self._job.may_wait
        # What may wait is asked about each reply, and shows what ran since the one before.
        judge_it = partial(judged, attempt, self._job.judge, self.attempts[:-1], follows=may_wait)
        if len(attempt.reply) < LONG_REPLY and not may_wait:
            attempt = judge_it()
        else:
            # A reply that has come is judged also when the call is being cancelled; that takes less
            # than a second, or as long as the caller's evidence.
            with anyio.CancelScope(shield=True):
                attempt = await anyio.to_thread.run_sync(judge_it)

        self.attempts[-1] = attempt

    async def _call_hooks(
        self,
        hooks: "Iterable[Callable[[T], Awaitable[None] | None] | None]",
        value: T,
        *,
        least: float = _FAREWELL_SECONDS,
    ) -> None:
        """Call the hooks.

        One that hangs is abandoned at the deadline, but not before `least` seconds.
        """
        left = self._budget.time_left()
        # Without a deadline the caller's hook may take as long as it wants.
        if left is None:
            await call_hooks(hooks, value)
            return

        with anyio.move_on_after(max(left, least)) as scope:
            await call_hooks(hooks, value)

        if scope.cancelled_caught:
            _logger.error("a hook lasted beyond the deadline and is left; the call continues")


def outcome_of(
    attempts: Sequence[Attempt],
    because: StoppedBecause,
    policy: RetryPolicy,
    *,
    remarks: Sequence[str] = (),
) -> Outcome:
    """Return the outcome of a call that made `attempts`, with what should make people look twice.

    `remarks` are added to that.
    """
    replies = [each for each in attempts if each.verdict is not None]
    accepted = because == "accepted"
    fallback = accepted and replies[-1].fallback
    last = accepted and not fallback and 1 < len(replies) == policy.max_attempts
    warnings = {
        _FALLBACK: fallback,
        _LAST: last,
        _SHORT: accepted and gave_up(replies),
        _CHANGED: accepted and has_changed_claims(replies[-1].verdict),
    }

    return Outcome(
        attempts=tuple(attempts),
        stopped_because=because,
        accepted_at_last_attempt=last,
        warnings=(*(text for text, holds in warnings.items() if holds), *remarks),
    )


def assumed_usage(calls: int) -> str:
    """Return the remark that `calls` counted in a budget with what was reserved for them."""
    which = counted_noun(calls, "call")
    return (
        f"the agent does not say what its answers cost: {which} counted with all that was reserved"
        " in the budget"
    )

"""Ask an agent until its report is accepted, or until the policy says stop."""

import logging
from collections.abc import Callable
from dataclasses import replace
from time import monotonic

import anyio
import anyio.to_thread
from anyio.lowlevel import checkpoint_if_cancelled

from goop_mcp.retry.attempts import LONG_REPLY, Attempt, Outcome, StoppedBecause
from goop_mcp.retry.budget import Budget
from goop_mcp.retry.calls import DeadlinePassedError, call_of, is_repeatable, pause_before
from goop_mcp.retry.course import Ask, Stop, next_step
from goop_mcp.retry.ending import outcome_of
from goop_mcp.retry.hooks import tell
from goop_mcp.retry.jobs import Job
from goop_mcp.retry.replies import Message, Reply
from goop_mcp.retry.telemetry import attempt_span, count_outcome
from goop_mcp.validation.findings import excerpt

__all__ = ["Asking"]

_FAREWELL_SECONDS = 1.0

_CANCELLED = "the call was cancelled"

_logger = logging.getLogger(__name__)


class Asking:
    """One call: run it once with `run`; `attempts` and `outcome` can be looked at from outside at any time.

    `clock` gives seconds that never go back. Works under asyncio and trio. Raises TypeError for what cannot be asked.
    """

    def __init__(self, job: Job, *, clock: Callable[[], float] = monotonic) -> None:
        self.attempts: list[Attempt] = []
        self.outcome: Outcome | None = None
        self._job = job
        self._call = call_of(job.agent)
        self._fallback = None if job.policy.fallback is None else call_of(job.policy.fallback)
        self._clock = clock
        self._budget = Budget(job.policy, clock)
        self._scope = anyio.CancelScope()

    def cancel(self) -> None:
        """End the call at once; `run` then returns an outcome that was stopped because it was cancelled."""
        self._scope.cancel()

    async def run(self) -> Outcome:
        """Ask, judge, ask again. A cancellation from outside goes through; even then `outcome` is there, complete."""
        because: StoppedBecause = "cancelled"
        try:
            with self._scope, self._budget.open():
                because = await self._follow_course()
        finally:
            outcome = self.outcome = self._outcome(because)
            await self._say_farewell(outcome)
        return outcome

    async def _follow_course(self) -> StoppedBecause:
        because = await self._ask_until_stopped()
        if because == "accepted" or self._fallback is None or self._budget.used_up() is not None:
            return because
        self._call = self._fallback
        await self._ask(Message(self._job.prompt), fallback=True)
        return "accepted" if self.attempts[-1].accepted else because

    async def _ask_until_stopped(self) -> StoppedBecause:
        while True:
            step = next_step(self._job.prompt, self.attempts, self._job.policy)
            if isinstance(step, Stop):
                return step.because
            if (limit := self._budget.used_up()) is not None:
                return limit
            if step.failures and (because := await self._pause(step)) is not None:
                return because
            await self._ask(step.message)

    async def _pause(self, step: Ask) -> StoppedBecause | None:
        """Wait before a failed call is repeated; tell, at once, when the wait would last beyond the deadline."""
        try:
            seconds = pause_before(step.failures, self.attempts[-1].failure, self._job.policy)
        except Exception:
            _logger.exception("backoff failed; the agent is not called again")
            return "agent_error"
        left = self._budget.time_left()
        if left is not None and seconds >= left:
            return "deadline"
        await anyio.sleep(seconds)
        return None

    async def _ask(self, message: Message, *, fallback: bool = False) -> None:
        hooks = self._job.hooks
        await tell([each.before_ask for each in hooks], message)
        await checkpoint_if_cancelled()
        with attempt_span(message, self.attempts):
            await self._record(message, fallback=fallback)
            await self._judge_last()
        await tell([each.after_attempt for each in hooks], self.attempts[-1])

    async def _record(self, message: Message, *, fallback: bool) -> None:
        """Call the agent and add what becomes of it to the attempts, whatever happens meanwhile."""
        reply, failure, repeatable, error = None, None, False, _CANCELLED
        began = self._clock()
        try:
            reply = await self._answer(message)
        except Exception as raised:
            failure, error = raised, _told(raised)
            repeatable = is_repeatable(raised, self._job.policy)
        finally:
            attempt = Attempt(
                message=message.text,
                way=message.way,
                reply=None if reply is None else reply.text,
                error=error if reply is None else None,
                failure=failure,
                repeatable=repeatable,
                seconds=self._clock() - began,
                usage=None if reply is None else reply.usage,
                fallback=fallback,
            )
            self.attempts.append(attempt)
        if attempt.usage is not None:
            self._budget.spend(attempt.usage)

    async def _answer(self, message: Message) -> Reply:
        left, limit = self._budget.time_left(), self._job.policy.attempt_timeout
        if left is None and limit is None:
            return await self._call(message)
        seconds = min(each for each in (left, limit) if each is not None)
        with anyio.move_on_after(seconds) as scope:
            reply = await self._call(message)
        if not scope.cancelled_caught:
            return reply
        if seconds == left:
            raise DeadlinePassedError("the deadline passed before the agent answered")
        raise TimeoutError(f"no answer within {seconds:g} s")

    async def _judge_last(self) -> None:
        attempt = self.attempts[-1]
        if attempt.reply is None:
            return
        if len(attempt.reply) < LONG_REPLY:
            verdict = self._job.judge(attempt.reply)
        else:
            # A reply that has come is judged also when the call is being cancelled; that takes less than a second.
            with anyio.CancelScope(shield=True):
                verdict = await anyio.to_thread.run_sync(self._job.judge, attempt.reply)
        self.attempts[-1] = replace(attempt, verdict=verdict)

    def _outcome(self, because: StoppedBecause) -> Outcome:
        return outcome_of(self.attempts, because, self._job.policy, counts_usage=self._budget.counts_usage)

    async def _say_farewell(self, outcome: Outcome) -> None:
        count_outcome(outcome)
        listeners = [each.on_stop for each in self._job.hooks if each.on_stop is not None]
        if not listeners:
            return
        if outcome.stopped_because != "cancelled":
            await tell(listeners, outcome)
            return
        # Shielded, as a cancelled call must still tell its hooks; briefly, as the caller wants to be gone.
        with anyio.move_on_after(_FAREWELL_SECONDS, shield=True):
            await tell(listeners, outcome)


def _told(failure: Exception) -> str:
    return excerpt(f"{type(failure).__name__}: {failure}" if str(failure) else type(failure).__name__)

"""Ask an agent until its report is accepted, or until the policy says stop."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from time import monotonic
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import checkpoint_if_cancelled

from goop_mcp.retry.attempts import LONG_REPLY, Attempt, Outcome, StoppedBecause
from goop_mcp.retry.budget import Budget
from goop_mcp.retry.calls import DeadlinePassedError, answer_within, call_of, is_repeatable
from goop_mcp.retry.course import Ask, Stop, next_step
from goop_mcp.retry.ending import outcome_of
from goop_mcp.retry.hooks import tell
from goop_mcp.retry.jobs import Job, check_type, judged
from goop_mcp.retry.pauses import pause_before
from goop_mcp.retry.replies import Message, Reply
from goop_mcp.retry.telemetry import attempt_span, count_outcome
from goop_mcp.validation.findings import excerpt

__all__ = ["Asking"]

T = TypeVar("T")

_FAREWELL_SECONDS = 1.0

_CANCELLED = "the call was cancelled"

_logger = logging.getLogger(__name__)


class Asking:
    """One call: run it once with `run`; `attempts` and `outcome` can be looked at from outside at any time.

    `clock` gives seconds that never go back; the limits of the policy count from the beginning of `run`. Works under
    asyncio and trio. Raises TypeError for what cannot be asked.
    """

    def __init__(self, job: Job, *, clock: Callable[[], float] = monotonic) -> None:
        check_type("the job", job, Job, "Job(agent, prompt, ...)")
        self.attempts: list[Attempt] = []
        self.outcome: Outcome | None = None
        self._job = job
        self._call = call_of(job.agent)
        self._fallback = None if job.policy.fallback is None else call_of(job.policy.fallback, named="fallback")
        self._hooks = job.listeners
        self._clock = clock
        self._budget: Budget
        self._scope: anyio.CancelScope | None = None
        self._cancelled = False

    def cancel(self) -> None:
        """End the call at once; `run` then returns an outcome that was stopped because it was cancelled.

        To be called in the thread of the event loop; before `run`, nobody is asked at all.
        """
        self._cancelled = True
        if self._scope is not None:
            self._scope.cancel()

    async def run(self) -> Outcome:
        """Ask, judge, ask again. A cancellation from outside goes through; even then `outcome` is there, complete.

        Raises RuntimeError when it is called a second time.
        """
        if self._scope is not None:
            raise RuntimeError("this call was run before; make another Asking to ask again")
        self._budget = Budget(self._job.policy, self._clock)
        self._scope = anyio.CancelScope()
        if self._cancelled:
            self._scope.cancel()
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
        last = self.attempts[-1]
        if isinstance(last.failure, DeadlinePassedError):
            return "deadline"
        return "accepted" if last.accepted else because

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
        """Wait before a failed call is repeated; tell what forbids it, at once where it would last too long."""
        try:
            seconds = pause_before(step.failures, self.attempts[-1].failure, self._job.policy)
        except Exception:
            _logger.exception("backoff failed; the agent is not called again")
            return "agent_error"
        left = self._budget.time_left()
        if left is not None and seconds >= left:
            return "deadline"
        await anyio.sleep(seconds)
        return self._budget.used_up()

    async def _ask(self, message: Message, *, fallback: bool = False) -> None:
        await checkpoint_if_cancelled()
        self._budget.count_call()
        if self._hooks:
            await self._tell([each.before_ask for each in self._hooks], message, least=0.0)
            await checkpoint_if_cancelled()
        with attempt_span(message, self.attempts):
            await self._record(message, fallback=fallback)
            await self._judge_last()
        await self._tell([each.after_attempt for each in self._hooks], self.attempts[-1])

    async def _record(self, message: Message, *, fallback: bool) -> None:
        """Call the agent and add what becomes of it to the attempts, whatever happens meanwhile."""
        reply, failure, repeatable, error = None, None, False, _CANCELLED
        began = self._clock()
        try:
            reply = await self._answer(message)
        except Exception as raised:
            failure, error = raised, _told(raised)
            repeatable = is_repeatable(raised, self._job.policy)
        except BaseException as raised:
            error = _CANCELLED if isinstance(raised, anyio.get_cancelled_exc_class()) else _told(raised)
            raise
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
        if left is not None and left <= 0:
            raise DeadlinePassedError("the deadline passed before the agent was asked")
        if left is not None and (limit is None or left <= limit):
            late = DeadlinePassedError("the deadline passed before the agent answered")
            return await answer_within(left, self._call(message), late=late)
        if limit is not None:
            return await answer_within(limit, self._call(message), late=TimeoutError(f"no answer within {limit:g} s"))
        return await self._call(message)

    async def _judge_last(self) -> None:
        attempt = self.attempts[-1]
        if attempt.reply is None:
            return
        if len(attempt.reply) < LONG_REPLY:
            attempt = judged(attempt, self._job.judge)
        else:
            # A reply that has come is judged also when the call is being cancelled; that takes less than a second.
            with anyio.CancelScope(shield=True):
                attempt = await anyio.to_thread.run_sync(judged, attempt, self._job.judge)
        self.attempts[-1] = attempt

    def _outcome(self, because: StoppedBecause) -> Outcome:
        return outcome_of(self.attempts, because, self._job.policy, counts_usage=self._budget.counts_usage)

    async def _say_farewell(self, outcome: Outcome) -> None:
        count_outcome(outcome)
        listeners = [each.on_stop for each in self._hooks if each.on_stop is not None]
        if not listeners:
            return
        if outcome.stopped_because != "cancelled":
            await self._tell(listeners, outcome)
            return
        # Shielded, as a cancelled call must still tell its hooks; briefly, as the caller wants to be gone.
        with anyio.move_on_after(_FAREWELL_SECONDS, shield=True):
            await tell(listeners, outcome)

    async def _tell(
        self,
        hooks: "Iterable[Callable[[T], Awaitable[None] | None] | None]",
        value: T,
        *,
        least: float = _FAREWELL_SECONDS,
    ) -> None:
        """Tell the hooks; one that hangs is left at the deadline, but has the `least` seconds in any case."""
        left = self._budget.time_left()
        if left is None:
            await tell(hooks, value)
            return
        with anyio.move_on_after(max(left, least)) as scope:
            await tell(hooks, value)
        if scope.cancelled_caught:
            _logger.error("a hook lasted beyond the deadline and is left; the call goes on")


def _told(failure: BaseException) -> str:
    return excerpt(f"{type(failure).__name__}: {failure}" if str(failure) else type(failure).__name__)

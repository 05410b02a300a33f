"""Ask an agent until its report is accepted, or until the policy says stop."""

from collections.abc import Callable, Sequence
from time import monotonic

import anyio
import anyio.to_thread

from goop_mcp.retry.attempts import Attempt, NotAcceptedError, Outcome, StoppedBecause, gave_up
from goop_mcp.retry.budget import Budget
from goop_mcp.retry.calls import call_of, is_transient, pause_before
from goop_mcp.retry.course import Ask, Stop, next_step
from goop_mcp.retry.hooks import Hooks, tell
from goop_mcp.retry.judging import Task
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Agent, Message, Reply
from goop_mcp.retry.telemetry import attempt_span, count_outcome, describe
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.verdict import Verdict

__all__ = ["Asking"]

_LONG_REPLY = 100_000  # characters; judging one takes longer than other tasks should wait
_FAREWELL_SECONDS = 1.0

_UNCOUNTED = "the agent does not say what its answers cost, so the limits on tokens and cost could not be kept"
_LAST = "accepted at the last attempt that the policy allows"
_SHORT = "the accepted envelope is much shorter than an earlier one; look whether it still says everything"
_FALLBACK = "the answer is the fallback's"


class Asking:
    """One call: run it once with `run`; `attempts` and `outcome` can be looked at from outside at any time.

    `clock` gives seconds that never go back. Works under asyncio and trio.
    """

    def __init__(
        self,
        agent: Agent,
        task: Task,
        *,
        policy: RetryPolicy,
        hooks: Sequence[Hooks] = (),
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.attempts: list[Attempt] = []
        self.outcome: Outcome | None = None
        self._call = call_of(agent)
        self._task = task
        self._policy = policy
        self._hooks = tuple(hooks)
        self._clock = clock
        self._budget = Budget(policy, clock)
        self._scope = anyio.CancelScope()

    def cancel(self) -> None:
        """End the call at once; `run` then returns an outcome that was stopped because it was cancelled."""
        self._scope.cancel()

    async def run(self) -> Outcome:
        """Ask, judge, ask again. Raises NotAcceptedError if the policy wants it so, and lets a cancellation through.

        Also then `outcome` is there and no attempt is missing from it.
        """
        because: StoppedBecause = "cancelled"
        try:
            with self._scope, self._budget.open():
                because = await self._follow()
        except Exception:
            because = "agent_error"
            raise
        finally:
            outcome = self.outcome = self._outcome(because)
            await self._say_farewell(outcome)
        if self._policy.when_exhausted == "raise" and not outcome.accepted:
            raise NotAcceptedError(outcome)
        return outcome

    async def _follow(self) -> StoppedBecause:
        because = await self._ask_until_stopped()
        if because not in ("accepted", "deadline", "budget") and self._policy.fallback is not None:
            self._call = call_of(self._policy.fallback)
            await self._ask(Message(self._task.prompt), fallback=True)
            because = "accepted" if self.attempts[-1].accepted else because
        return because

    async def _ask_until_stopped(self) -> StoppedBecause:
        while True:
            step = next_step(self._task.prompt, self.attempts, self._policy)
            limit = self._budget.used_up()
            if isinstance(step, Stop):
                return "deadline" if step.because == "agent_error" and limit == "deadline" else step.because
            if limit is not None:
                return limit
            if step.failures and not await self._pause(step):
                return "deadline"
            await self._ask(step.message)

    async def _pause(self, step: Ask) -> bool:
        """Wait before a failed call is repeated; False, at once, when the wait would last beyond the deadline."""
        seconds = pause_before(step.failures, self.attempts[-1].failure, self._policy)
        left = self._budget.time_left()
        if left is not None and seconds >= left:
            return False
        await anyio.sleep(seconds)
        return True

    async def _ask(self, message: Message, *, fallback: bool = False) -> None:
        await tell([each.before_ask for each in self._hooks], message)
        with attempt_span(message, len(self.attempts) + 1) as span:
            started = self._clock()
            try:
                attempt = await self._attempt(message, fallback=fallback)
            except BaseException as failure:
                # Cancelled in the middle of a call: what was under way belongs to the record too.
                seconds = self._clock() - started
                attempt = _failed(message, failure, error="the call was cancelled", seconds=seconds, fallback=fallback)
                raise
            finally:
                self.attempts.append(attempt)
                describe(span, attempt)
        await tell([each.after_attempt for each in self._hooks], attempt)

    async def _attempt(self, message: Message, *, fallback: bool) -> Attempt:
        started = self._clock()
        try:
            reply = await self._bounded(message)
        except Exception as failure:
            seconds = self._clock() - started
            repeatable = (self._policy.retry_call or is_transient)(failure)
            return _failed(message, failure, repeatable=repeatable, seconds=seconds, fallback=fallback)
        seconds = self._clock() - started
        if reply.usage is not None:
            self._budget.spend(reply.usage)
        return Attempt(
            message=message.text,
            way=message.way,
            reply=reply.text,
            verdict=await self._judge(reply.text),
            seconds=seconds,
            usage=reply.usage,
            fallback=fallback,
        )

    async def _bounded(self, message: Message) -> Reply:
        limits = [each for each in (self._policy.attempt_timeout, self._budget.time_left()) if each is not None]
        if not limits:
            return await self._call(message)
        with anyio.fail_after(min(limits)):
            return await self._call(message)

    async def _judge(self, reply: str) -> Verdict:
        if len(reply) < _LONG_REPLY:
            return self._task.judge(reply, self._policy)
        return await anyio.to_thread.run_sync(self._task.judge, reply, self._policy)

    def _outcome(self, because: StoppedBecause) -> Outcome:
        attempts = tuple(self.attempts)
        replies = [each for each in attempts if each.verdict is not None]
        warnings: list[str] = []
        if because == "accepted":
            last = len(replies) > 1 and len(replies) >= self._policy.max_attempts
            warnings += [text for text, says in ((_FALLBACK, attempts[-1].fallback), (_LAST, last)) if says]
            warnings += [_SHORT] if gave_up(attempts) else []
        if self._budget.counts_usage and any(each.usage is None for each in replies):
            warnings.append(_UNCOUNTED)
        return Outcome(attempts=attempts, stopped_because=because, warnings=tuple(warnings))

    async def _say_farewell(self, outcome: Outcome) -> None:
        count_outcome(outcome)
        # Shielded, as a cancelled call must still tell its hooks; briefly, as the caller wants to be gone.
        with anyio.move_on_after(_FAREWELL_SECONDS, shield=True):
            await tell([each.on_stop for each in self._hooks], outcome)


def _failed(
    message: Message,
    failure: BaseException,
    *,
    error: str | None = None,
    repeatable: bool = False,
    seconds: float,
    fallback: bool,
) -> Attempt:
    what = error or f"{type(failure).__name__}: {failure}"
    return Attempt(
        message=message.text,
        way=message.way,
        error=excerpt(what),
        failure=failure,
        repeatable=repeatable,
        seconds=seconds,
        fallback=fallback,
    )

"""What to do after everything that has happened so far: the whole policy as one pure function.

No clock, no call, no task group: who drives it (loop.py) gives the attempts and does what is
returned.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from goop_mcp.retry.attempts import Attempt, RecordedError, StoppedBecause
from goop_mcp.retry.calls import AgentInterruptedError, DeadlinePassedError
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.prompts import ask_again
from goop_mcp.retry.replies import Message

__all__ = ["Ask", "Stop", "next_step"]


@dataclass(frozen=True, slots=True)
class Ask:
    """Send this message; after a failed call, wait first.

    `failures` counts the calls that failed since a reply.
    """

    message: Message
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Stop:
    """Ask no more."""

    because: StoppedBecause


def next_step(task: str, attempts: Sequence[Attempt], policy: RetryPolicy) -> Ask | Stop:
    """Return what follows on `attempts`, all of one call and in order.

    Limits of time and cost are checked elsewhere.
    The ladder: a reply that is accepted ends the call; a failed call is repeated with the same
    message while the policy allows it; a reply that brings nothing new changes the strategy, and
    after the last one the call ends.
    """
    if not attempts:
        return Ask(Message(task))

    last = attempts[-1]
    if last.accepted:
        return Stop("accepted")
    if last.verdict is None:
        failures = 0
        for each in reversed(attempts):
            if each.verdict is not None:
                break

            failures += 1

        if _is(last.failure, DeadlinePassedError):
            return Stop("deadline")
        if _is(last.failure, AgentInterruptedError):
            return Stop("interrupted")
        if not last.repeatable or failures > policy.call_retries:
            return Stop("agent_error")
        return Ask(Message(last.message, last.way, len(attempts) + 1), failures)

    replies = [each for each in attempts if each.verdict is not None]

    # Stuck are replies that repeat an earlier one, or its errors: rule, place and value. Another
    # value under the same rule is progress: the agent tries to get it right (D-98).
    # Counted over all replies, not only in a row: an agent that alternates between two wrong
    # replies makes no progress either.
    stuck = 0
    texts: set[int] = set()
    errors: set[int] = set()

    for reply in replies:
        stuck += reply.reply_key in texts or reply.errors_key in errors
        texts.add(reply.reply_key)
        errors.add(reply.errors_key)

    if stuck >= len(policy.strategies):
        return Stop("no_progress")
    if len(replies) >= policy.max_attempts:
        return Stop("attempts")
    return Ask(ask_again(task, replies, policy.strategies[stuck], attempt=len(attempts) + 1))


def _is(failure: Exception | None, kind: type[Exception]) -> bool:
    """Whether it is of the kind, also where it was recorded and read again."""
    return isinstance(failure, kind) or (
        isinstance(failure, RecordedError) and failure.kind == kind.__name__
    )

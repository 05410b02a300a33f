"""Record the attempts of calls to agents, for statistics of broken rules by agent and time."""

from functools import partial
from typing import Final
from uuid import uuid4

import anyio.to_thread

from goop_mcp.memory.times import Clock, utc_now, written
from goop_mcp.redaction import redact
from goop_mcp.retry.attempts import Attempt, Outcome
from goop_mcp.retry.hooks import Hooks
from goop_mcp.services.judgements import agent_named, storable
from goop_mcp.store.interface import Store
from goop_mcp.store.records import AttemptResult, NewAttempt, StoredAttempt

__all__ = ["record_attempts", "recording"]

# In seconds: enough for many concurrent writers, but statistics must not delay a call for long.
_PATIENCE: Final = 10.0


def recording(
    store: Store,
    *,
    agent: str | None = None,
    session_id: str | None = None,
    texts: bool = False,
    clock: Clock = utc_now,
) -> Hooks:
    """Return hooks that record each call when it ends, also a cancelled one.

    A failure is only logged. The arguments are those of `record_attempts`. A call is written in one
    transaction, on a thread.
    """
    record = partial(
        record_attempts, store, agent=agent, session_id=session_id, texts=texts, clock=clock
    )

    async def on_stop(outcome: Outcome) -> None:
        await anyio.to_thread.run_sync(record, outcome, abandon_on_cancel=True)

    return Hooks(on_stop=on_stop)


def record_attempts(
    store: Store,
    outcome: Outcome,
    *,
    agent: str | None = None,
    session_id: str | None = None,
    texts: bool = False,
    clock: Clock = utc_now,
) -> list[StoredAttempt]:
    """Record the attempts of one call: results, rule ids, times and tokens.

    The default of `agent` is the agent in the last envelope. With `texts` messages and replies are
    recorded too, redacted. Raises the errors of the store.
    """
    # All attempts of a call are written at its end and share an id and a time.
    call_id, now = uuid4().hex, written(clock())
    who = agent or next(
        filter(None, (agent_named(each.verdict) for each in reversed(outcome.attempts))), None
    )
    ended = "accepted_at_last" if outcome.accepted_at_last_attempt else outcome.stopped_because
    rows = [
        NewAttempt(
            call_id=call_id,
            number=number,
            result=_result(attempt),
            way=attempt.way,
            created_at=now,
            agent=storable(who),
            session_id=storable(session_id),
            protocol=attempt.verdict.protocol if attempt.verdict is not None else None,
            rules=tuple(sorted({rule for rule, _ in attempt.findings_key})),
            repairs=tuple(sorted({repair.rule for repair in attempt.repairs})),
            seconds=attempt.seconds,
            tokens=attempt.usage.tokens if attempt.usage is not None else None,
            message=_shown(attempt.message) if texts else None,
            reply=_shown(attempt.reply) if texts else None,
            ended=ended if number == len(outcome.attempts) else None,
        )
        for number, attempt in enumerate(outcome.attempts, start=1)
    ]

    return (
        store.write(lambda writing: writing.add_attempts(rows), timeout=_PATIENCE) if rows else []
    )


def _result(attempt: Attempt) -> AttemptResult:
    if attempt.verdict is not None:
        return attempt.verdict.verdict
    return "cancelled" if attempt.failure is None else "failed"


def _shown(text: str | None) -> str | None:
    return None if text is None else storable(redact(text).text)

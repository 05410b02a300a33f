"""Keep what was asked of agents and how it was judged, and count it later: which rules are broken, by whom, when."""

from collections.abc import Mapping
from functools import partial
from typing import Final
from uuid import uuid4

import anyio.to_thread

from goop_mcp.memory.times import Clock, utc_now, written
from goop_mcp.redaction import redact
from goop_mcp.retry.attempts import Attempt, Outcome
from goop_mcp.retry.hooks import Hooks
from goop_mcp.store.interface import Store, Writing
from goop_mcp.store.records import AttemptResult, NewAttempt, StoredAttempt

__all__ = ["record_attempts", "recording"]

_PATIENCE: Final = 10.0  # seconds; longer than a crowd of writers takes, shorter than anybody waits for statistics
# What no database keeps: NUL, and halves of characters.
_UNSTORABLE: Final[Mapping[int, str]] = {0: "\ufffd", **dict.fromkeys(range(0xD800, 0xE000), "\ufffd")}


def recording(
    store: Store,
    *,
    agent: str | None = None,
    session_id: str | None = None,
    texts: bool = False,
    clock: Clock = utc_now,
) -> Hooks:
    """Return hooks that record each call when it ends, a cancelled one too; a failure is logged and changes nothing.

    The arguments are those of `record_attempts`. A call is written in one change, on a thread.
    """
    record = partial(record_attempts, store, agent=agent, session_id=session_id, texts=texts, clock=clock)

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
    """Record the attempts of one call: results, names of rules, times and tokens.

    `agent` names who was asked; None: whom the last envelope names. With `texts` messages and replies are kept too,
    redacted. Raises the errors of the store.
    """
    call_id, now = uuid4().hex, written(clock())
    who = agent or next(filter(None, map(_agent_named, reversed(outcome.attempts))), None)

    def change(writing: Writing) -> list[StoredAttempt]:
        return writing.add_attempts(rows)

    rows = [
        NewAttempt(
            call_id=call_id,
            number=number,
            result=_result(attempt),
            way=attempt.way,
            created_at=now,
            agent=_storable(who),
            session_id=_storable(session_id),
            protocol=attempt.verdict.protocol if attempt.verdict is not None else None,
            rules=tuple(sorted({rule for rule, _ in attempt.findings_key})),
            repairs=tuple(sorted({repair.rule for repair in attempt.repairs})),
            seconds=attempt.seconds,
            tokens=attempt.usage.tokens if attempt.usage is not None else None,
            message=_shown(attempt.message) if texts else None,
            reply=_shown(attempt.reply) if texts else None,
        )
        for number, attempt in enumerate(outcome.attempts, start=1)
    ]
    return store.write(change, timeout=_PATIENCE) if rows else []


def _result(attempt: Attempt) -> AttemptResult:
    if attempt.verdict is not None:
        return attempt.verdict.verdict
    return "cancelled" if attempt.failure is None else "failed"


def _agent_named(attempt: Attempt) -> str | None:
    envelope = attempt.verdict.envelope if attempt.verdict is not None else None
    name = envelope.to_dict().get("agent") if envelope is not None else None
    return name if isinstance(name, str) and name else None


def _shown(text: str | None) -> str | None:
    return None if text is None else _storable(redact(text).text)


def _storable(text: str | None) -> str | None:
    return None if text is None else text.translate(_UNSTORABLE)

"""Count verdicts and decisions of the gate for statistics where attempts are not recorded."""

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from goop_mcp.errors import StoreError
from goop_mcp.memory.times import utc_now, written
from goop_mcp.protocols.agent_request.model import Request
from goop_mcp.redaction import redact
from goop_mcp.store.interface import Store
from goop_mcp.store.records import NewJudgement, Surface
from goop_mcp.validation.findings import Finding, Severity
from goop_mcp.validation.verdict import Verdict

if TYPE_CHECKING:
    from goop_mcp.services.gate import GateAnswer

__all__ = ["agent_named", "count_gate", "count_judgement", "judgement_of", "storable"]

_PATIENCE: Final = 2.0  # seconds; statistics must not delay an answer
_LONGEST_NAME: Final = 200
# No database stores NUL and lone surrogates.
_UNSTORABLE: Final[Mapping[int, str]] = {
    0: "\ufffd",
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
}
_log = logging.getLogger(__name__)


def judgement_of(
    verdict: Verdict,
    *,
    surface: Surface,
    now: str,
    agent: str | None = None,
    session_id: str | None = None,
    number: int | None = None,
    ended: str | None = None,
    result: Literal["accepted", "rejected"] | None = None,
    findings: Sequence[Finding] | None = None,
) -> NewJudgement:
    """Return the record of `verdict`: rule ids and names, without any text of the reply.

    `agent` is used if the envelope names no agent. `result` and `findings` replace those of the
    verdict, for a caller that judges it differently.
    """
    weighed = verdict.findings if findings is None else findings
    return NewJudgement(
        surface=surface,
        result=result or verdict.verdict,
        has_envelope=any(candidate.chosen for candidate in verdict.candidates),
        created_at=now,
        protocol=verdict.protocol,
        agent=_name(agent_named(verdict) or agent),
        session_id=_name(session_id),
        rules=tuple(
            sorted({finding.rule for finding in weighed if finding.severity is Severity.ERROR})
        ),
        number=number,
        ended=ended,
    )


def count_judgement(store: Store, judgement: NewJudgement, *, asked_for: bool = False) -> None:
    """Store `judgement`; a failure is only logged.

    A database is created only if recording was `asked_for`.
    """
    try:
        if asked_for or store.exists():
            store.write(lambda writing: writing.add_judgement(judgement), timeout=_PATIENCE)
    except StoreError as error:
        _log.warning("a judgement could not be counted: %s", error)


def agent_named(verdict: Verdict | None) -> str | None:
    """Return the agent that the envelope names as its author, None without one."""
    envelope = verdict.envelope if verdict is not None else None
    name = envelope.to_dict().get("agent") if envelope is not None else None
    return name if isinstance(name, str) and name else None


def storable(text: str | None) -> str | None:
    """Return `text` with U+FFFD for each character that no database stores."""
    return None if text is None else text.translate(_UNSTORABLE)


def _name(text: str | None) -> str | None:
    """Return a name from outside, shortened and without secrets; None without a name."""
    return storable(redact(" ".join(text.split())).text[:_LONGEST_NAME]) if text else None


def count_gate(store: Store, answer: "GateAnswer") -> None:
    """Count `answer` in the database, which is created if necessary.

    A failure is only logged, because the gate does not depend on the database.
    """
    request = answer.verdict.envelope
    judgement = judgement_of(
        answer.verdict,
        surface="gate",
        now=written(utc_now()),
        agent=request.target_agent if isinstance(request, Request) else None,
        session_id=request.session_id if isinstance(request, Request) else None,
        result="accepted" if answer.proceed else "rejected",
        findings=answer.findings,
    )
    count_judgement(store, judgement, asked_for=True)

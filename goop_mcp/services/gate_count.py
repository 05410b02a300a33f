"""Count the decisions of the gate for the statistics of the project."""

from goop_mcp.memory.times import utc_now, written
from goop_mcp.protocols.agent_request.model import Request
from goop_mcp.services.gate import GateAnswer
from goop_mcp.services.judgements import count_judgement, judgement_of
from goop_mcp.store.interface import Store

__all__ = ["count_gate"]


def count_gate(store: Store, answer: GateAnswer) -> None:
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

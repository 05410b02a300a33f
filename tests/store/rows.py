"""Complete rows, which tests change only in what they are about."""

from goop_mcp.store.interface import Store
from goop_mcp.store.records import (
    MemoryFilter,
    NewAttempt,
    NewConfirmation,
    NewEvent,
    NewJudgement,
    NewKeptDocument,
    NewKeptReply,
    NewKeptRun,
    NewMemory,
    NewReport,
    Operator,
    StoredMemory,
)
from goop_mcp.store.search_text import query_terms

NOW = "2026-01-15T10:30:00Z"

REPORT = NewReport(
    protocol="goop_report",
    idempotency_key="report-1",
    envelope='{"status": "COMPLETE"}',
    verdict='{"verdict": "accepted"}',
    decision='{"actions": ["continue_next"]}',
    created_at=NOW,
    agent="goop-executor",
    phase="execute",
    task_id="W1.T1",
    status="COMPLETE",
)
EVENT = NewEvent(
    kind="report",
    author="goop-executor",
    text="Finished **W1.T1**.",
    created_at=NOW,
    document="CHRONICLE.md",
)
ATTEMPT = NewAttempt(
    call_id="call-1",
    number=1,
    result="rejected",
    way="first",
    created_at="2026-01-15T10:30:00.000Z",
    agent="goop-executor",
    session_id="session-1",
    protocol="goop_report",
    rules=("goop_report/unknown-status",),
    repairs=("xml/unescaped",),
    seconds=1.5,
    tokens=120,
    message="Implement the login form.",
    reply="Größe: done.",
    ended="accepted",
)
REQUEST = NewConfirmation(
    action="lock_spec",
    arguments='{"reason": "größer"}',
    subject="a" * 64,
    summary="Lock SPEC.md.",
    round=1,
    asked_by="goop-orchestrator",
    asked_at=NOW,
)
SPEC = NewKeptDocument(
    name="SPEC.md", sha256="b" * 64, text="# Größe", round=1, step="lock", created_at=NOW
)
RUN = NewKeptRun(
    run="r-0123456789ab",
    name="tests",
    created_at=NOW,
    content='{"name": "tests", "tail": "größer"}',
    mac="f" * 64,
)
REPLY = NewKeptReply(
    agent="goop-executor", agent_key="session-1 agent-1", round=1, created_at=NOW, text="Größe"
)
JUDGEMENT = NewJudgement(
    surface="record_report",
    result="rejected",
    has_envelope=True,
    created_at="2026-01-15T10:30:00.000Z",
    protocol="goop_report",
    agent="goop-executor",
    session_id="session-1",
    rules=("goop_report/unknown-status",),
)


def new_memory(name: str) -> NewMemory:
    """Return a memory that differs from those of other names."""
    return NewMemory(
        uid=f"uid-{name}",
        type="note",
        title=f"About {name}",
        content=f"All about {name}.",
        importance=0.5,
        idempotency_key=f"key-{name}",
        fingerprint=f"print-{name}",
        created_at=NOW,
    )


def add(store: Store, *memories: NewMemory) -> list[StoredMemory]:
    """Store memories in one change."""
    return store.write(lambda writing: [writing.add_memory(memory) for memory in memories])


def add_named(store: Store, *names: str) -> list[int]:
    """Store one memory after the other, and return their ids."""
    return [add(store, new_memory(name))[0].id for name in names]


def found(
    store: Store,
    query: str,
    *,
    operator: Operator = "OR",
    wanted: MemoryFilter | None = None,
    limit: int = 10,
) -> list[int]:
    """Return the ids of what a query finds, best first."""
    words, wanted = query_terms(query), wanted or MemoryFilter()
    hits = store.read(
        lambda reading: reading.search(words, operator=operator, wanted=wanted, limit=limit)
    )

    return [hit.id for hit in hits]

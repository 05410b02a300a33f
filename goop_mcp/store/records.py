"""What the store keeps, as frozen values.

Times are UTC in ISO 8601, ids and revisions count from 1.
"""

from dataclasses import dataclass, field
from typing import Final, Literal

__all__ = [
    "MOST_OF_A_SKETCH",
    "AttemptResult",
    "Event",
    "MemoryFilter",
    "MemoryType",
    "MemoryWords",
    "NewAttempt",
    "NewEvent",
    "NewJudgement",
    "NewMemory",
    "NewReport",
    "Operator",
    "Projection",
    "SearchHit",
    "StoredAttempt",
    "StoredMemory",
    "StoredReport",
    "Surface",
]

MemoryType = Literal["decision", "observation", "note", "todo", "session_summary"]
Operator = Literal["AND", "OR"]
AttemptResult = Literal["accepted", "rejected", "failed", "cancelled"]
Surface = Literal["record_report", "hook", "gate"]

MOST_OF_A_SKETCH: Final = 64
"""How many memories that share one sketch are looked at, the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory to be added; redacted and within the limits already (STORAGE, section 3).

    `uid` names it across databases. `idempotency_key` and `fingerprint` (of normalised title and
    content) are each unique among the memories of a project that are not forgotten. `importance` is
    0 to 1. `sketches` are numbers below 2 ** 63 that memories of nearly the same words share.
    """

    uid: str
    type: MemoryType
    title: str
    content: str = field(repr=False)
    importance: float
    idempotency_key: str
    fingerprint: str
    created_at: str
    concepts: tuple[str, ...] = ()
    facts: tuple[str, ...] = field(default=(), repr=False)
    source_files: tuple[str, ...] = ()
    agent: str | None = None
    session_id: str | None = None
    sketches: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMemory:
    """A memory as it lies in the database.

    A forgotten one keeps id, uid, type and times; its texts are empty.
    """

    id: int
    uid: str
    type: MemoryType
    title: str
    content: str = field(repr=False)
    importance: float
    idempotency_key: str | None
    fingerprint: str | None
    created_at: str
    revision: int
    concepts: tuple[str, ...] = ()
    facts: tuple[str, ...] = field(default=(), repr=False)
    source_files: tuple[str, ...] = ()
    agent: str | None = None
    session_id: str | None = None
    sketches: tuple[int, ...] = ()
    forgotten_at: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryWords:
    """What a memory says, without what else is known of it."""

    id: int
    type: MemoryType
    title: str
    content: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Which memories count.

    Empty means no restriction; `concepts` asks for at least one of them, in any case.
    """

    types: tuple[MemoryType, ...] = ()
    concepts: tuple[str, ...] = ()
    min_importance: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A memory that was found and its place in the list, best first.

    `score` is comparable within one list only.
    """

    memory: StoredMemory
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReport:
    """An accepted envelope to be recorded, redacted already.

    `envelope`, `verdict` and `decision` are JSON.
    """

    protocol: str
    idempotency_key: str
    envelope: str = field(repr=False)
    verdict: str = field(repr=False)
    decision: str = field(repr=False)
    created_at: str
    agent: str | None = None
    phase: str | None = None
    task_id: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReport(NewReport):
    """A recorded envelope."""

    id: int
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """Something that happened, for the append-only chronicle.

    `kind` is a word such as report, decision, handoff, transition; `author` an agent's name or
    "human". `document` is the file the event is shown in (CHRONICLE.md, ADL.md), None for none;
    `text` is its Markdown there.
    """

    kind: str
    author: str
    text: str = field(repr=False)
    created_at: str
    document: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(NewEvent):
    """An event as it lies in the database."""

    id: int
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """What we last wrote to a file of the project (STORAGE, section 4).

    `path` is relative to the project, with `/`. `sha256` is of the bytes known to lie on disk, None
    before the first write; `pending_sha256` of the bytes that were about to replace them, None when
    nothing is under way.
    """

    path: str
    revision: int
    sha256: str | None = None
    pending_sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAttempt:
    """One message to an agent and how its reply was judged, for statistics.

    `call_id` is the same for the attempts of one call, which `number` counts from 1. `way` says how
    it was asked. `rules` are those that rejected the reply, `repairs` those by which its form was
    mended; each rule stands once. `seconds` is the time of the call; `tokens` is None where the
    agent did not say. `message` and `reply` are redacted, and None unless somebody asked for texts.
    `ended` says of the last attempt why the call ended, in the words of `goop_mcp.retry`,
    "accepted_at_last" where an acceptance came with the last reply that the policy allowed; None
    for the others.
    """

    call_id: str
    number: int
    result: AttemptResult
    way: str
    created_at: str
    agent: str | None = None
    session_id: str | None = None
    protocol: str | None = None
    rules: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    seconds: float = 0.0
    tokens: int | None = None
    message: str | None = field(default=None, repr=False)
    reply: str | None = field(default=None, repr=False)
    ended: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAttempt(NewAttempt):
    """An attempt as it lies in the database."""

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJudgement:
    """A reply or prompt that was judged where nobody keeps attempts, for statistics.

    `surface` says where: the tool record_report, a host's hook, the gate before a spawn, whose
    texts are prompts. `has_envelope` tells whether there was one, `rules` which ones rejected it. A
    hook says with `number` which reply of a turn it was, counted from 1, and with `ended` of the
    last one why the turn ended, as an attempt does.
    """

    surface: Surface
    result: Literal["accepted", "rejected"]
    has_envelope: bool
    created_at: str
    protocol: str | None = None
    agent: str | None = None
    session_id: str | None = None
    rules: tuple[str, ...] = ()
    number: int | None = None
    ended: str | None = None

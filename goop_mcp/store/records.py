"""The records that the store keeps.

Times are UTC in ISO 8601; ids and revisions count from 1.
"""

from typing import Final, Literal

from goop_mcp.structs import DataStruct

__all__ = [
    "MOST_CONFIRMATIONS",
    "MOST_KEPT_DOCUMENTS",
    "MOST_OF_A_SKETCH",
    "MOST_OPEN_CONFIRMATIONS",
    "REPORTED_BY",
    "AttemptResult",
    "Confirmation",
    "ConfirmationAnswer",
    "ConfirmationStatus",
    "Event",
    "KeptDocument",
    "KeptReply",
    "KeptRun",
    "KeptStep",
    "MemoryFilter",
    "MemoryType",
    "MemoryWords",
    "NewAttempt",
    "NewConfirmation",
    "NewEvent",
    "NewJudgement",
    "NewKeptDocument",
    "NewKeptReply",
    "NewKeptRun",
    "NewMemory",
    "NewReport",
    "Operator",
    "Projection",
    "Record",
    "RetireReason",
    "Round",
    "RoundOutcome",
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
RoundOutcome = Literal["accept", "accept_with_issues"]
RetireReason = Literal["withdrawn", "replanned", "rejected"]
ConfirmationAnswer = Literal["confirmed", "refused", "outdated"]
ConfirmationStatus = Literal["open", "confirmed", "refused", "outdated"]
KeptStep = Literal[
    "init", "interview", "lock", "unlock", "execute", "amend", "accept", "left", "checkpoint"
]

MOST_OF_A_SKETCH: Final = 64
"""How many memories that share one sketch are compared: the newest ones."""

MOST_CONFIRMATIONS: Final = 500
"""How many confirmations of a round are read: the newest ones."""

MOST_KEPT_DOCUMENTS: Final = 100
"""How many documents of a step are read with their texts: the last names."""

MOST_KEPT_REPLIES: Final = 50
"""How many last replies of agents a project keeps: the newest ones."""

MOST_BYTES_OF_KEPT_REPLIES: Final = 2 * 1024 * 1024
"""How many bytes of UTF-8 they have together."""

MOST_KEPT_RUNS: Final = 500
"""How many recorded runs a project keeps: the newest ones."""

MOST_BYTES_OF_KEPT_RUNS: Final = 16 * 1024 * 1024
"""How many bytes of UTF-8 their contents have together."""

MOST_KNOWN_RUNS: Final = 10_000
"""How many runs a project knows by id, those whose content was removed among them."""

REPORTED_BY: Final = "reported by "
"""With this `via` begins where an agent or a program chose and no person confirmed it."""

MOST_OPEN_CONFIRMATIONS: Final = 50
"""How many requests that wait for a person are listed: the oldest ones."""


# Texts of agents and people, which may be long or private: no log shows them with a record.
_NOT_SHOWN: Final = frozenset(
    {
        "arguments",
        "comment",
        "content",
        "decision",
        "envelope",
        "facts",
        "mac",
        "message",
        "reply",
        "summary",
        "text",
        "verdict",
    }
)


class Record(DataStruct, frozen=True):
    """What a row holds; its `repr` leaves out long texts and what agents wrote."""

    def __repr__(self) -> str:
        shown = [
            f"{name}={getattr(self, name)!r}"
            for name in self.__struct_fields__
            if name not in _NOT_SHOWN
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


class NewMemory(Record, frozen=True, kw_only=True):
    """A memory to be added, already redacted and within the limits.

    `uid` identifies it across databases. `idempotency_key` and `fingerprint` (of normalised title
    and content) are each unique among the memories of a project that are not forgotten.
    `importance` is 0 to 1. `sketches` are numbers below 2 ** 63; memories with nearly the same
    words share some of them.
    """

    uid: str
    type: MemoryType
    title: str
    content: str
    importance: float
    idempotency_key: str
    fingerprint: str
    created_at: str
    concepts: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    source_files: tuple[str, ...] = ()
    agent: str | None = None
    session_id: str | None = None
    sketches: tuple[int, ...] = ()


class StoredMemory(Record, frozen=True, kw_only=True):
    """A memory as stored in the database.

    A forgotten memory keeps id, uid, type and times; its texts are empty.
    """

    id: int
    uid: str
    type: MemoryType
    title: str
    content: str
    importance: float
    idempotency_key: str | None
    fingerprint: str | None
    created_at: str
    revision: int
    concepts: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    source_files: tuple[str, ...] = ()
    agent: str | None = None
    session_id: str | None = None
    sketches: tuple[int, ...] = ()
    forgotten_at: str | None = None


class MemoryWords(Record, frozen=True):
    """The text of a memory, without its other fields."""

    id: int
    type: MemoryType
    title: str
    content: str


class MemoryFilter(Record, frozen=True, kw_only=True):
    """Which memories count.

    Empty means no restriction; a memory needs at least one of `concepts`, regardless of case.
    """

    types: tuple[MemoryType, ...] = ()
    concepts: tuple[str, ...] = ()
    min_importance: float = 0.0


class SearchHit(Record, frozen=True):
    """The id and revision of a memory that was found, and its score.

    The more and the rarer the words that it has, the higher is the score. Those of one transaction
    may be compared and added up.
    """

    id: int
    revision: int
    score: float


class NewReport(Record, frozen=True, kw_only=True):
    """An accepted envelope to be recorded, already redacted.

    `envelope`, `verdict` and `decision` are JSON. `round` is the number of the round it belongs to.
    """

    protocol: str
    idempotency_key: str
    envelope: str
    verdict: str
    decision: str
    created_at: str
    agent: str | None = None
    phase: str | None = None
    task_id: str | None = None
    status: str | None = None
    round: int = 1


class StoredReport(NewReport, frozen=True, kw_only=True):
    """A recorded envelope.

    `retired` is why it no longer counts, None while it does: a person withdrew it, its task was
    planned again, or the round's acceptance was refused.
    """

    id: int
    revision: int
    retired: RetireReason | None = None


class Round(Record, frozen=True, kw_only=True):
    """A round of a project: the work from one plan to its acceptance.

    A project without any row is in round 1, which is open since its beginning: `opened_at` is None
    and `first_revision` 0. Otherwise `first_revision` is the revision that opened the round.
    `outcome`, `closed_at` and `closed_revision` are None while the round is open. `plan_sha256` is
    the digest of the plan with which it was closed, None without one.
    """

    number: int = 1
    name: str | None = None
    opened_at: str | None = None
    first_revision: int = 0
    closed_at: str | None = None
    closed_revision: int | None = None
    outcome: RoundOutcome | None = None
    plan_sha256: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether work still counts for the round."""
        return self.closed_at is None


class NewEvent(Record, frozen=True, kw_only=True):
    """An event for the append-only chronicle.

    `kind` is report, decision, handoff, transition or similar; `author` an agent's name or "human".
    `document` is the file the event is shown in (CHRONICLE.md, ADL.md), None for none; `text` is
    its Markdown there.
    """

    kind: str
    author: str
    text: str
    created_at: str
    document: str | None = None


class Event(NewEvent, frozen=True, kw_only=True):
    """An event as stored in the database."""

    id: int
    revision: int


class Projection(Record, frozen=True, kw_only=True):
    """What goop-mcp last wrote to a file of the project.

    `path` is relative to the project, with `/`. `sha256` is of the bytes known to be on disk, None
    before the first write; `pending_sha256` is of the bytes that are about to replace them, None
    when no write is in progress.
    """

    path: str
    revision: int
    sha256: str | None = None
    pending_sha256: str | None = None


class NewAttempt(Record, frozen=True, kw_only=True):
    """One message to an agent and how its reply was judged, for statistics.

    `call_id` is the same for the attempts of one call, which `number` counts from 1. `way` is the
    strategy of the request. `rules` are the rules that rejected the reply, `repairs` those that
    repaired its form; each rule occurs once. `seconds` is the duration of the call; `tokens` is
    None when the agent did not report it. `message` and `reply` are redacted, and None unless texts
    are recorded. `ended` is, for the last attempt, why the call ended, in the terms of
    `goop_mcp.retry`; "accepted_at_last" when only the last reply that the policy allowed was
    accepted; None for the other attempts.
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
    message: str | None = None
    reply: str | None = None
    ended: str | None = None


class StoredAttempt(NewAttempt, frozen=True, kw_only=True):
    """An attempt as stored in the database."""

    id: int


class NewJudgement(Record, frozen=True, kw_only=True):
    """A reply or prompt that was judged where no attempts are recorded, for statistics.

    `surface` is where: the tool record_report, a host's hook, or the gate before a spawn, which
    judges prompts. `has_envelope` is whether there was an envelope, `rules` the rules that rejected
    it. A hook sets `number`, the number of the reply in its turn, counted from 1, and for the last
    reply `ended`, why the turn ended, as for attempts.
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


class NewConfirmation(Record, frozen=True, kw_only=True):
    """A step that waits for the answer of a person.

    `arguments` are those of the step, a JSON object. `subject` is a digest or number of what is to
    be confirmed: the answer counts only while it is the same. `subject_key` distinguishes requests
    for the same action, such as two decisions; `summary` is what the person reads.
    """

    action: str
    arguments: str
    subject: str
    summary: str
    round: int
    asked_by: str
    asked_at: str
    subject_key: str = ""


class Confirmation(NewConfirmation, frozen=True, kw_only=True):
    """A request for a confirmation as stored; `revision` is that of the request.

    `via` is how the answer came, such as "terminal anna". It, `comment` and `answered_at` are None
    while the request is open.
    """

    id: int
    revision: int
    status: ConfirmationStatus
    via: str | None = None
    comment: str | None = None
    answered_at: str | None = None

    @property
    def is_reported(self) -> bool:
        """Whether the step was done without the answer of a person, as the project allows it."""
        return (self.via or "").startswith(REPORTED_BY)

    @property
    def outcome(self) -> str:
        """What became of the request, in a word: `confirmed` only if a person did so."""
        return "reported" if self.status == "confirmed" and self.is_reported else self.status


class NewKeptDocument(Record, frozen=True, kw_only=True):
    """The text of a people's document as it was when a step judged it, with its SHA-256."""

    name: str
    sha256: str
    text: str
    round: int
    step: KeptStep
    created_at: str


class KeptDocument(NewKeptDocument, frozen=True, kw_only=True):
    """A kept document as stored in the database."""

    id: int
    revision: int


class NewKeptReply(Record, frozen=True, kw_only=True):
    """The last reply of an agent, redacted.

    `agent` is its name, `agent_key` distinguishes those of one name that work at the same time.
    `round` is the one in which it replied, `created_at` when.
    """

    agent: str
    agent_key: str
    round: int
    created_at: str
    text: str


class KeptReply(NewKeptReply, frozen=True, kw_only=True):
    """A kept reply as stored in the database; the newest has the largest `id`."""

    id: int


class NewKeptRun(Record, frozen=True, kw_only=True):
    """A recorded run of a check.

    `run` is its id, such as "r-7f3a91c204be", and `name` that of the check. `content` is the run as
    JSON, redacted, and `mac` authenticates it.
    """

    run: str
    name: str
    created_at: str
    content: str
    mac: str


class KeptRun(NewKeptRun, frozen=True, kw_only=True):
    """A recorded run as stored; the content of one that was removed is ""."""

    id: int

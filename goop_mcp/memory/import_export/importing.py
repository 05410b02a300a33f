"""Import memories of a file: redacted, each once, with a remark on every line that is skipped."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Final, Literal
from uuid import uuid4

from goop_mcp.memory.drafts import MEMORY_TYPES, MemoryRefusedError, PreparedMemory, prepare
from goop_mcp.memory.import_export.entries import Entry, LineRemark, Reader
from goop_mcp.memory.import_export.jsonl import read_jsonl
from goop_mcp.memory.import_export.markdown import read_markdown
from goop_mcp.memory.importance import ImportanceScale
from goop_mcp.memory.saving import new_memory
from goop_mcp.memory.times import Clock, utc_now, written
from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.workflow.memory_rules import REDACTED

__all__ = ["ExchangeFormat", "ImportReport", "import_memories"]

ExchangeFormat = Literal["jsonl", "markdown"]

_READERS: Final[dict[ExchangeFormat, Reader]] = {"jsonl": read_jsonl, "markdown": read_markdown}
MOST_LISTED: Final = 1000
"""How many skipped lines and how many remarks are listed; the others are counted."""

# Other writers wait for one transaction, so it must not hold too many entries.
_ENTRIES_A_TRANSACTION: Final = 200

Outcome = Literal["saved", "duplicate", "forgotten", "unread"]


@dataclass(slots=True)
class ImportReport:
    """The outcome of an import.

    Counts the memories that were saved, existed before, or were forgotten before, and the lines
    that were skipped. `unread` lists the first of the skipped lines and why, `remarks` what was
    changed or left out on other lines; `left_out` counts what these two do not list.
    """

    saved: int = 0
    duplicates: int = 0
    forgotten: int = 0
    redactions: int = 0
    skipped: int = 0
    unread: list[LineRemark] = field(default_factory=list)
    remarks: list[LineRemark] = field(default_factory=list)
    left_out: int = 0

    def leave_out(self, line: LineRemark) -> None:
        """Add a line that was skipped."""
        self.skipped += 1
        self._list(self.unread, line)

    def remark(self, line: LineRemark) -> None:
        """Add a remark on a line that was imported."""
        self._list(self.remarks, line)

    def _list(self, into: list[LineRemark], line: LineRemark) -> None:
        if len(into) < MOST_LISTED:
            into.append(line)
        else:
            self.left_out += 1

    def to_dict(self) -> dict[str, object]:
        """Return the report as JSON values."""
        return {
            "saved": self.saved,
            "duplicates": self.duplicates,
            "forgotten": self.forgotten,
            "redactions": self.redactions,
            "skipped": self.skipped,
            "unread": [{"line": each.line, "message": each.message} for each in self.unread],
            "remarks": [{"line": each.line, "message": each.message} for each in self.remarks],
            "left_out": self.left_out,
        }


@dataclass(frozen=True, slots=True)
class _Ready:
    entry: Entry
    prepared: PreparedMemory


@dataclass(frozen=True, slots=True)
class _Added:
    outcome: Outcome
    remark: str = ""


def import_memories(
    store: Store,
    text: str | Iterable[str],
    *,
    format: ExchangeFormat = "jsonl",
    scale: ImportanceScale = "ours",
    clock: Clock = utc_now,
    timeout: float = 30.0,
) -> ImportReport:
    """Save the memories of `text`, a string or lines, that do not exist yet.

    A second import of the same file adds nothing: a memory is identified by its uid, or else by its
    text. Forgotten memories are not restored. `scale` is the scale of importance in the file,
    "packages" for data of the original packages. Raises the errors of the store; what was saved
    before the error stays.
    """
    report = ImportReport()
    lines = text.split("\n") if isinstance(text, str) else text
    ready = _ready(_READERS[format](lines), scale, report)
    while some := list(islice(ready, _ENTRIES_A_TRANSACTION)):
        # Counted only after the commit, so that the report holds nothing that was rolled back.
        outcomes = store.write(partial(_add_all, some, clock), timeout=timeout)
        _count(some, outcomes, report)

    report.unread.sort(key=lambda remark: remark.line)
    report.remarks.sort(key=lambda remark: remark.line)

    return report


def _ready(
    found: Iterable[Entry | LineRemark], scale: ImportanceScale, report: ImportReport
) -> Iterator[_Ready]:
    """Yield the entries that may be saved, and add remarks on all others to `report`."""
    for entry in found:
        if isinstance(entry, LineRemark):
            report.leave_out(entry)
            continue

        try:
            prepared = prepare(entry.draft, scale=scale, types=MEMORY_TYPES)
        except MemoryRefusedError as error:
            report.leave_out(LineRemark(entry.line, str(error)))
            continue

        for remark in entry.remarks:
            report.remark(remark)
        for finding in prepared.findings:
            # Redactions are counted instead.
            if finding.rule != REDACTED.id:
                report.remark(LineRemark(entry.line, finding.message))

        yield _Ready(entry, prepared)


def _add_all(some: Sequence[_Ready], clock: Clock, writing: WriteTransaction) -> list[_Added]:
    return [_add(each, clock, writing) for each in some]


def _add(ready: _Ready, clock: Clock, writing: WriteTransaction) -> _Added:
    entry, prepared = ready.entry, ready.prepared
    known = writing.memory_by_uid(entry.uid) if entry.uid is not None else None
    # Somebody forgot this memory on purpose; an old export must not restore it.
    if known is not None and known.forgotten_at is not None:
        return _Added("forgotten")
    if known is not None and known.fingerprint != prepared.fingerprint:
        return _Added(
            "unread",
            f"memory {known.id} has this uid and another text; it was kept as it is",
        )

    if known is not None or writing.memory_by_fingerprint(prepared.fingerprint) is not None:
        return _Added("duplicate")

    # Keys are unique in a project, but files of several projects may use the same one. The memory
    # is worth more than its key, so it is saved with a key derived from its text.
    holder = writing.memory_by_key(prepared.idempotency_key)
    if holder is not None:
        prepared = replace(prepared, idempotency_key=f"words:{prepared.fingerprint}")

    uid, created_at = entry.uid or uuid4().hex, entry.created_at or written(clock())
    writing.add_memory(new_memory(prepared, uid=uid, created_at=created_at))
    remark = f"idempotency_key left out: memory {holder.id} holds it" if holder is not None else ""

    return _Added("saved", remark)


def _count(some: Sequence[_Ready], outcomes: Sequence[_Added], report: ImportReport) -> None:
    """Add the outcomes of a committed transaction to `report`."""
    for ready, added in zip(some, outcomes, strict=True):
        if added.remark:
            remark = LineRemark(ready.entry.line, added.remark)
            if added.outcome == "unread":
                report.leave_out(remark)
            else:
                report.remark(remark)

        if added.outcome == "saved":
            report.saved += 1
            report.redactions += ready.prepared.redactions

        report.duplicates += added.outcome == "duplicate"
        report.forgotten += added.outcome == "forgotten"

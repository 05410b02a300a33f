"""A snapshot of a project: its documents and the recorded reports."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from weakref import WeakKeyDictionary

from goop_mcp.operations.workplace import Workplace
from goop_mcp.store.interface import Reading, Store
from goop_mcp.store.records import MemoryFilter, NewReport, StoredMemory, StoredReport
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workflow.gates import GateFacts
from goop_mcp.workspace.drift import gate_facts
from goop_mcp.workspace.goopspec_database import with_work
from goop_mcp.workspace.layout import CHRONICLE, HANDOFF, document_uri
from goop_mcp.workspace.project import Project, read_project
from goop_mcp.workspace.projection_text import PEOPLES_KINDS
from goop_mcp.workspace.recorded import Records, ReportLedger
from goop_mcp.workspace.rendered import recorded_documents, render_documents
from goop_mcp.workspace.state import ProjectState

__all__ = ["HANDOFF_KIND", "ProjectPicture", "SessionSources", "envelope_of", "take_picture"]

HANDOFF_KIND = "handoff"
"""The kind of the events from which HANDOFF.md is built."""

_MOST_MEMORIES = 50
# The reports of each open database that were read before.
_ledgers: WeakKeyDictionary[Store, ReportLedger] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSources:
    """The sources of a session handoff: reports and memories since the last one, oldest first."""

    picture: "ProjectPicture"
    reports: Sequence[StoredReport] = ()
    memories: Sequence[StoredMemory] = ()


@dataclass(frozen=True, kw_only=True)
class ProjectPicture:
    """The content of the folder, and the recorded reports."""

    project: Project
    ledger: ReportLedger = field(default_factory=ReportLedger)

    @cached_property
    def records(self) -> Records:
        """The reports combined with the database of GoopSpec 1.x, if there is one."""
        return with_work(self.ledger.records, self.project.work)

    @cached_property
    def facts(self) -> GateFacts:
        """The facts for the gates."""
        return gate_facts(self.project, self.records)

    def with_reports(self, reading: Reading, new: NewReport) -> "ProjectPicture":
        """Return the snapshot with the reports recorded since, and `new` as the newest."""
        later = reading.reports(after_revision=self.ledger.revision)
        values = {each.name: getattr(new, each.name) for each in fields(new)}
        # The revision that this transaction will have.
        revision = reading.revision() + 1
        newest = StoredReport(id=0, revision=revision, **values)

        return replace(
            self, ledger=self.ledger.with_reports([*reversed(later), newest], revision=revision)
        )

    def with_state(self, state: ProjectState) -> "ProjectPicture":
        """Return the snapshot with another state.json."""
        return replace(self, project=replace(self.project, state=state))

    def with_chronicle(self) -> "ProjectPicture":
        """Return the snapshot with a CHRONICLE.md, which is about to be written."""
        missing = tuple(name for name in self.project.missing if name != CHRONICLE)
        return replace(self, project=replace(self.project, missing=missing))

    def without_handoff(self) -> "ProjectPicture":
        """Return the snapshot without HANDOFF.md, which is about to be replaced."""
        return replace(self, project=replace(self.project, handoff=None))

    def since_handoff(self, reading: Reading) -> SessionSources:
        """Return the sources of the next session handoff."""
        handoffs = reading.event_revisions(HANDOFF, without=PEOPLES_KINDS, limit=1)
        last = max(handoffs, default=0)
        memories = [
            each
            for each in reading.memories(MemoryFilter(), limit=_MOST_MEMORIES)
            if each.revision > last
        ]

        return SessionSources(
            picture=self,
            reports=reading.reports(after_revision=last)[::-1],
            memories=memories[::-1],
        )


def take_picture(workplace: Workplace) -> ProjectPicture:
    """Return a snapshot of the project; nothing is created. Raises StoreError."""
    if not workplace.store.exists():
        return ProjectPicture(project=read_project(workplace.files))

    project = read_project(workplace.files, entries_are_known=workplace.writes_files)

    def ask(reading: Reading) -> ProjectPicture:
        shown = project
        if not workplace.writes_files and project.exists:
            shown = read_project(
                workplace.files, rendered=render_documents(reading, workplace.files)
            )
        elif not workplace.writes_files:
            # Without a folder nothing can contradict the documents, and rendering them takes long,
            # so that only their URIs are given.
            paths = {name: document_uri(name) for name in recorded_documents(reading)}
            shown = replace(project, paths=paths)

        return ProjectPicture(project=shown, ledger=_ledger(workplace.store, reading))

    return workplace.store.read(ask)


def _ledger(store: Store, reading: Reading) -> ReportLedger:
    """Return the ledger of all reports; only those recorded since the last call are read."""
    revision, known = reading.revision(), _ledgers.get(store)
    # A restored database may have replaced the one that was read before. The ledger is valid only
    # if its newest report is still there with the same number.
    if known is not None and known.newest is not None and known.revision <= revision:
        same = reading.report_by_key(known.newest.idempotency_key)
        if same is not None and same.id == known.newest.id:
            later = reading.reports(after_revision=known.revision)
            ledger = known.with_reports(reversed(later), revision=revision)
            _ledgers[store] = ledger

            return ledger

    ledger = ReportLedger().with_reports(reversed(reading.last_reports()), revision=revision)
    _ledgers[store] = ledger

    return ledger


def envelope_of(report: StoredReport) -> Mapping[str, JsonValue]:
    """Return the envelope of a recorded report as JSON values."""
    values = json.loads(report.envelope)
    return values if isinstance(values, Mapping) else {}

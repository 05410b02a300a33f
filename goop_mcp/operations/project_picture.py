"""A project at one moment: its documents and what its database holds of reports, drawn together."""

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
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.goopspec_database import with_work
from goop_mcp.workspace.layout import CHRONICLE, HANDOFF, document_uri
from goop_mcp.workspace.project import Project, read_project
from goop_mcp.workspace.projection_text import PEOPLES_KINDS
from goop_mcp.workspace.recorded import Records, ReportLedger
from goop_mcp.workspace.rendered import recorded_documents, render_documents
from goop_mcp.workspace.state import ProjectState

__all__ = ["HANDOFF_KIND", "ProjectPicture", "SessionSources", "envelope_of", "take_picture"]

HANDOFF_KIND = "handoff"
"""The kind of the events that HANDOFF.md is made of."""

_MOST_MEMORIES = 50
# What is known of the reports of each open database.
_ledgers: WeakKeyDictionary[Store, ReportLedger] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSources:
    """What a session handoff is made of; reports and memories are those since the last one, oldest first."""

    picture: "ProjectPicture"
    reports: Sequence[StoredReport] = ()
    memories: Sequence[StoredMemory] = ()


@dataclass(frozen=True, kw_only=True)
class ProjectPicture:
    """What the folder says, and what the recorded reports say."""

    project: Project
    ledger: ReportLedger = field(default_factory=ReportLedger)

    @cached_property
    def records(self) -> Records:
        """What the reports and a database of GoopSpec 1.x say together."""
        return with_work(self.ledger.records, self.project.work)

    @cached_property
    def facts(self) -> GateFacts:
        """What the gates look at."""
        return gate_facts(self.project, self.records)

    def with_reports(self, reading: Reading, new: NewReport) -> "ProjectPicture":
        """Return the picture with the reports that others have recorded since, and `new` as the newest."""
        later = reading.reports(after_revision=self.ledger.revision)
        values = {each.name: getattr(new, each.name) for each in fields(new)}
        revision = reading.revision() + 1
        newest = StoredReport(id=0, revision=revision, **values)

        return replace(
            self, ledger=self.ledger.with_reports([*reversed(later), newest], revision=revision)
        )

    def with_state(self, state: ProjectState) -> "ProjectPicture":
        """Return the picture with another state.json."""
        return replace(self, project=replace(self.project, state=state))

    def with_chronicle(self) -> "ProjectPicture":
        """Return the picture with a CHRONICLE.md where there was none: one that is about to be written."""
        missing = tuple(name for name in self.project.missing if name != CHRONICLE)
        return replace(self, project=replace(self.project, missing=missing))

    def without_handoff(self) -> "ProjectPicture":
        """Return the picture with no HANDOFF.md: one that is about to be replaced."""
        return replace(self, project=replace(self.project, handoff=None))

    def since_handoff(self, reading: Reading) -> SessionSources:
        """Return what the next session handoff is made of."""
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
    """Return the project as it is now; nothing is created. Raises StoreError."""
    if not workplace.store.exists():
        return ProjectPicture(project=read_project(workplace.files))

    project = read_project(workplace.files, entries_are_known=workplace.writes_files)

    def ask(reading: Reading) -> ProjectPicture:
        shown = (
            project if workplace.writes_files else _with_rendered(project, reading, workplace.files)
        )
        return ProjectPicture(project=shown, ledger=_ledger(workplace.store, reading))

    return workplace.store.read(ask)


def _ledger(store: Store, reading: Reading) -> ReportLedger:
    """Return the ledger of what `reading` holds; only what was recorded since the last time is read.

    Another database may stand at the same place by now, such as one that was restored: then all is read again.
    """
    revision, known = reading.revision(), _ledgers.get(store)
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


def _with_rendered(project: Project, reading: Reading, files: ProjectFiles) -> Project:
    """Return the project with what is recorded in its documents, or where there is no folder with their addresses.

    Without what people keep there is nothing that the texts could disagree with, and long ones take time to read.
    """
    if project.exists:
        return read_project(files, rendered=render_documents(reading, files))
    return replace(
        project, paths={name: document_uri(name) for name in recorded_documents(reading)}
    )


def envelope_of(report: StoredReport) -> Mapping[str, JsonValue]:
    """Return the envelope of a recorded report as JSON values."""
    values = json.loads(report.envelope)
    return values if isinstance(values, Mapping) else {}

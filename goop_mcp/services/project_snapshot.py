"""A snapshot of a project: its documents and the recorded reports."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from weakref import WeakKeyDictionary

from goop_mcp.services.project_context import ProjectContext
from goop_mcp.store.interface import ReadTransaction, Store
from goop_mcp.store.records import Event, MemoryFilter, NewReport, Round, StoredMemory, StoredReport
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workflow.gates import GateFacts
from goop_mcp.workspace.consistency import gate_facts
from goop_mcp.workspace.documents.chronicle import Chronicle, with_state_block
from goop_mcp.workspace.goopspec_database import with_work
from goop_mcp.workspace.layout import CHRONICLE, HANDOFF, document_uri
from goop_mcp.workspace.project import Project, read_project
from goop_mcp.workspace.projection_text import GIVEN_KIND, HIDDEN_KINDS, RESUMED_KIND
from goop_mcp.workspace.report_index import Records, ReportIndex
from goop_mcp.workspace.state import ProjectState
from goop_mcp.workspace.virtual_documents import recorded_documents, render_documents

__all__ = ["HANDOFF_KIND", "ProjectSnapshot", "SessionSources", "envelope_of", "take_snapshot"]

HANDOFF_KIND = "handoff"
"""The kind of the events from which HANDOFF.md is built."""

_MOST_MEMORIES = 50
_MOST_REPORTS = 1_000
# The reports of the present round that were read before, of each open database.
_report_indexes: WeakKeyDictionary[Store, ReportIndex] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSources:
    """The sources of a session handoff, oldest first.

    They begin where a session last resumed from a handoff, or else with the present round: the
    newest 1,000 reports, the memories, `given`, which are the fields that callers gave for earlier
    handoffs (events of GIVEN_KIND), and `notes`, what people added to them.
    """

    snapshot: "ProjectSnapshot"
    reports: Sequence[StoredReport] = ()
    memories: Sequence[StoredMemory] = ()
    given: Sequence[Event] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class ProjectSnapshot:
    """The content of the folder, the present round, and its reports."""

    project: Project
    round: Round = field(default_factory=Round)
    report_index: ReportIndex = field(default_factory=ReportIndex)

    @cached_property
    def records(self) -> Records:
        """The reports combined with the database of GoopSpec 1.x, if there is one."""
        return with_work(self.report_index.records, self.project.work)

    @cached_property
    def facts(self) -> GateFacts:
        """The facts for the gates."""
        return gate_facts(self.project, self.records)

    def with_reports(self, reading: ReadTransaction, new: NewReport) -> "ProjectSnapshot":
        """Return the snapshot with the reports recorded since, and `new` as the newest."""
        values = {each.name: getattr(new, each.name) for each in fields(new)}
        # The revision that this transaction will have.
        revision = reading.revision() + 1
        newest = StoredReport(id=0, revision=revision, **values)
        before = _brought_up_to_date(self.report_index, reading)

        return replace(
            self,
            round=reading.round(),
            report_index=before.with_reports([newest], revision=revision),
        )

    def with_state(self, state: ProjectState) -> "ProjectSnapshot":
        """Return the snapshot with another state.json."""
        return replace(self, project=replace(self.project, state=state))

    def with_chronicle(self, state_block: str) -> "ProjectSnapshot":
        """Return the snapshot with the CHRONICLE.md that is about to show `state_block`."""
        missing = tuple(name for name in self.project.missing if name != CHRONICLE)
        chronicle = with_state_block(self.project.chronicle or Chronicle(), state_block)
        return replace(self, project=replace(self.project, missing=missing, chronicle=chronicle))

    def without_handoff(self) -> "ProjectSnapshot":
        """Return the snapshot without HANDOFF.md, which is about to be replaced."""
        return replace(self, project=replace(self.project, handoff=None))

    def since_handoff(self, reading: ReadTransaction) -> SessionSources:
        """Return the sources of the next session handoff.

        A handoff that no session has resumed from is replaced by one that knows all it said.
        """
        last = max(_last_resumed(reading), self.round.first_revision - 1)
        events = reading.events(
            document=HANDOFF, after_revision=last, kinds=(GIVEN_KIND, "imported")
        )
        # A note that was added after the last handoff is copied to the next one when that is shown.
        handoffs = reading.event_revisions(HANDOFF, without=HIDDEN_KINDS, limit=1)
        shown = max(handoffs, default=0)
        memories = [
            each
            for each in reading.memories(MemoryFilter(), limit=_MOST_MEMORIES)
            if each.revision > last
        ]

        return SessionSources(
            snapshot=self,
            reports=reading.reports(
                after_revision=last, round=self.round.number, limit=_MOST_REPORTS
            )[::-1],
            memories=memories[::-1],
            given=[each for each in events if each.kind == GIVEN_KIND],
            notes=[
                each.text for each in events if each.kind != GIVEN_KIND and each.revision <= shown
            ],
        )


def take_snapshot(project_context: ProjectContext) -> ProjectSnapshot:
    """Return a snapshot of the project; nothing is created. Raises StoreError."""
    if not project_context.store.exists():
        return ProjectSnapshot(project=read_project(project_context.files))

    project = read_project(project_context.files, entries_are_known=project_context.writes_files)

    def ask(reading: ReadTransaction) -> ProjectSnapshot:
        shown = project
        if not project_context.writes_files and project.exists:
            shown = read_project(
                project_context.files, rendered=render_documents(reading, project_context.files)
            )
        elif not project_context.writes_files:
            # Without a folder nothing can contradict the documents, and rendering them takes long,
            # so that only their URIs are given.
            paths = {name: document_uri(name) for name in recorded_documents(reading)}
            shown = replace(project, paths=paths)

        # From a handoff that a session has resumed from nobody starts any more.
        handoffs = reading.event_revisions(HANDOFF, without=HIDDEN_KINDS, limit=1)
        if _last_resumed(reading) > max(handoffs, default=0):
            shown = replace(shown, handoff=None)

        store = project_context.store
        known = _report_indexes.get(store, ReportIndex())
        report_index = _report_indexes[store] = _brought_up_to_date(known, reading)

        return ProjectSnapshot(project=shown, round=reading.round(), report_index=report_index)

    return project_context.store.read(ask)


def _last_resumed(reading: ReadTransaction) -> int:
    """Return the revision at which a session last resumed from a handoff, 0 if none ever did."""
    resumed = reading.events(document=HANDOFF, kinds=(RESUMED_KIND,))
    return resumed[-1].revision if resumed else 0


def _brought_up_to_date(known: ReportIndex, reading: ReadTransaction) -> ReportIndex:
    """Return the index of the reports of the present round; only those not yet read are read."""
    revision, changed_at = reading.revision(), reading.reports_changed_at()
    round = reading.round().number
    # Another round or retired reports make the index invalid. A restored database may have replaced
    # the one that was read before, so the newest report must still be there with the same number.
    if (
        known.newest is not None
        and known.changed_at == changed_at
        and known.newest.round == round
        and known.revision <= revision
        and (same := reading.report_by_key(known.newest.idempotency_key)) is not None
        and same.id == known.newest.id
    ):
        later = reading.reports(after_revision=known.revision, round=round)
        return known.with_reports(reversed(later), revision=revision)

    last = reading.last_reports(round=round)

    return ReportIndex(changed_at=changed_at).with_reports(reversed(last), revision=revision)


def envelope_of(report: StoredReport) -> Mapping[str, JsonValue]:
    """Return the envelope of a recorded report as JSON values."""
    values = json.loads(report.envelope)
    return values if isinstance(values, Mapping) else {}

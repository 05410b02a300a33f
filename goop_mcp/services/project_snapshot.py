"""A snapshot of a project: its documents and the recorded reports."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from weakref import WeakKeyDictionary

from goop_mcp.errors import WorkspaceError
from goop_mcp.services.decided import (
    MadeDecision,
    Rejection,
    made_decisions,
    rejection_of,
    standing_decisions,
)
from goop_mcp.services.open_questions import OpenQuestion, open_questions
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.store.interface import ReadTransaction, Store
from goop_mcp.store.records import (
    Confirmation,
    NewReport,
    Round,
    StoredReport,
)
from goop_mcp.validation.findings import Finding
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workflow.gates import GATES, Bypass, GateFacts, GateName
from goop_mcp.workspace.consistency import (
    NOTHING_CONFIRMED,
    RoundRecords,
    find_drift,
    gate_facts,
    round_claims,
)
from goop_mcp.workspace.document_lookup import find_document
from goop_mcp.workspace.documents.chronicle import Chronicle, with_state_block
from goop_mcp.workspace.documents.spec import read_spec
from goop_mcp.workspace.file_changes import LEFT, pending_spec
from goop_mcp.workspace.goopspec_database import with_work
from goop_mcp.workspace.layout import (
    BLUEPRINT,
    CHRONICLE,
    HANDOFF,
    REQUIREMENTS,
    SPEC,
    STATE,
)
from goop_mcp.workspace.project import Project, read_project
from goop_mcp.workspace.projection_text import HIDDEN_KINDS, RESUMED_KIND
from goop_mcp.workspace.projections import newest_state_block
from goop_mcp.workspace.replacing import sha256
from goop_mcp.workspace.report_claims import RoundClaims
from goop_mcp.workspace.report_index import Records, ReportIndex
from goop_mcp.workspace.state import ProjectState
from goop_mcp.workspace.state_writing import interrupted_change
from goop_mcp.workspace.virtual_documents import find_shared_document, read_shared_project

__all__ = [
    "ProjectSnapshot",
    "bypass_for",
    "envelope_of",
    "snapshot_in",
    "take_snapshot",
    "work_digest",
]

# The reports of the present round that were read before, of each open database.
_report_indexes: WeakKeyDictionary[Store, ReportIndex] = WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True)
class ProjectSnapshot:
    """The content of the folder, the present round and its recorded reports.

    `round` is the newest round, which may be closed. `decisions` are those on blockers that count
    in it, `questions` what was asked and is not answered, each oldest first; `made` are all
    decisions of the round in words, newest first. `rejection` is what a person last stated of the
    result, if it was rejected. `sources_on_disk` are the texts of people's documents, also of
    those that a closed round left and that count as not written yet.
    """

    project: Project
    round: Round = field(default_factory=Round)
    report_index: ReportIndex = field(default_factory=ReportIndex)
    round_records: RoundRecords = NOTHING_CONFIRMED
    decisions: tuple[MadeDecision, ...] = ()
    made: tuple[str, ...] = ()
    rejection: Rejection | None = None
    questions: tuple[OpenQuestion, ...] = ()
    sources_on_disk: Mapping[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def records(self) -> Records:
        """The reports combined with the database of GoopSpec 1.x, if there is one.

        A blocker that a person has decided on is none any more.
        """
        records = self.report_index.records
        if self.decisions:
            ended = {each.task: each.revision for each in self.decisions if each.ends_blocker}
            records = records.without_decided(ended)
        return with_work(records, self.project.work)

    @property
    def open_questions(self) -> tuple[OpenQuestion, ...]:
        """The questions, without those that a blocker asks."""
        blocked = self.records.blocked
        return tuple(each for each in self.questions if each.key not in blocked)

    @property
    def phase(self) -> str | None:
        """The phase of state.json, None without a readable one."""
        return self.project.state.phase if self.project.state is not None else None

    @cached_property
    def facts(self) -> GateFacts:
        """The facts for the gates."""
        facts = gate_facts(self.project, self.records, self.round_records)
        closed = self.round.number - self.round.is_open
        left = [name for name in self.sources_on_disk if name not in self.project.sources]
        return replace(facts, left_over=dict.fromkeys(left, closed))

    @property
    def claims(self) -> RoundClaims:
        """What the must-haves and the tasks of the round rest on."""
        return round_claims(self.project.spec, self.records)

    @cached_property
    def drift(self) -> tuple[Finding, ...]:
        """The contradictions of documents, state and recorded reports."""
        return find_drift(self.project, self.records, self.round_records)

    def with_reports(self, reading: ReadTransaction, new: NewReport) -> "ProjectSnapshot":
        """Return the snapshot with the reports recorded since, and `new` as the newest."""
        values = {each.name: getattr(new, each.name) for each in fields(new)}
        # The revision that this transaction will have, and the number that the report will have.
        revision = reading.revision() + 1
        last = reading.reports(include_retired=True, limit=1)
        newest = StoredReport(id=last[0].id + 1 if last else 1, revision=revision, **values)
        before = _brought_up_to_date(self.report_index, reading)
        if not reading.round().is_open:
            # A report that comes too late counts nowhere.
            return replace(self, round=reading.round(), report_index=before)

        return replace(
            self,
            round=reading.round(),
            report_index=before.with_reports([newest], revision=revision),
        )

    def with_state(self, state: ProjectState) -> "ProjectSnapshot":
        """Return the snapshot with another state.json, which may be in another phase."""
        before = self.project.state
        confirmed = self.round_records
        if before is not None and before.phase != state.phase:
            # The newest report is of the phase before, and contradicts nothing.
            confirmed = replace(confirmed, has_moved=True)

        return replace(self, project=replace(self.project, state=state), round_records=confirmed)

    def text_of_document(
        self, project_context: ProjectContext, reading: ReadTransaction, name: str
    ) -> str | None:
        """Return the text of the document `name` as readers see it, None without one."""
        files = project_context.files
        with suppress(WorkspaceError):
            if not project_context.writes_files:
                return find_shared_document(reading, files, name)
            return files.read_text(find_document(files, name, state=self.project.state))

        return None

    def with_spec(self, text: str) -> "ProjectSnapshot":
        """Return the snapshot with another text of SPEC.md, which is about to be written."""
        sources = {**self.project.sources, SPEC: text}
        return replace(self, project=replace(self.project, spec=read_spec(text), sources=sources))

    def with_chronicle(self, state_block: str) -> "ProjectSnapshot":
        """Return the snapshot with the CHRONICLE.md that is about to show `state_block`."""
        missing = tuple(name for name in self.project.missing if name != CHRONICLE)
        chronicle = with_state_block(self.project.chronicle or Chronicle(), state_block)
        return replace(self, project=replace(self.project, missing=missing, chronicle=chronicle))

    def closed(self, reading: ReadTransaction) -> "ProjectSnapshot":
        """Return the snapshot after its round was closed: idle, and without reports and plan."""
        before = self.project
        state = before.state
        if state is not None:
            state = replace(state, phase="idle", spec_locked=False, current_wave=0, total_waves=0)
        project = Project(
            exists=before.exists, has_folder=before.has_folder, paths=before.paths, state=state
        )

        return ProjectSnapshot(project=project, round=reading.round(), made=self.made)

    def with_late_report(self) -> "ProjectSnapshot":
        """Return the snapshot with a report that arrived after its round was closed."""
        records = replace(self.round_records, late_in=self.round.number)
        return replace(self, round_records=records)

    def without_handoff(self) -> "ProjectSnapshot":
        """Return the snapshot without HANDOFF.md, which is about to be replaced."""
        return replace(self, project=replace(self.project, handoff=None))


def take_snapshot(project_context: ProjectContext) -> ProjectSnapshot:
    """Return a snapshot of the project; nothing is created. Raises StoreError."""
    if not project_context.store.exists():
        return ProjectSnapshot(project=read_project(project_context.files))
    store = project_context.store
    snapshot = store.read(lambda reading: snapshot_in(project_context, reading))
    # Not within a transaction that changes rows, which may be rolled back.
    _report_indexes[store] = snapshot.report_index

    return snapshot


def snapshot_in(project_context: ProjectContext, reading: ReadTransaction) -> ProjectSnapshot:
    """Return the project as this transaction sees it, with the files as they are now."""
    files = project_context.files
    project = (
        read_project(files, entries_are_known=True)
        if project_context.writes_files
        else read_shared_project(reading, files)
    )

    project = _as_recorded(project, reading, project_context)
    round = reading.round()
    store, on_disk = project_context.store, project.sources
    known = _report_indexes.get(store, ReportIndex())
    report_index = _brought_up_to_date(known, reading)

    confirmed = reading.confirmations(round=round.number)

    return ProjectSnapshot(
        project=_of_this_round(project, reading, round),
        report_index=report_index,
        round=round,
        round_records=_round_records(project, report_index.newest, reading, confirmed),
        decisions=standing_decisions(confirmed),
        made=made_decisions(confirmed),
        rejection=rejection_of(confirmed),
        questions=open_questions(reading),
        sources_on_disk=on_disk,
    )


def _as_recorded(project: Project, reading: ReadTransaction, context: ProjectContext) -> Project:
    """Return `project` with what is recorded and not written yet, by a writer that was killed.

    Its rows count already, so that its files must not say the opposite until the next change writes
    them.
    """
    plan = interrupted_change(reading, context.files) if context.writes_files else None
    if plan is not None:
        block = newest_state_block(reading, CHRONICLE)
        chronicle = project.chronicle
        if block is not None:
            chronicle = with_state_block(chronicle or Chronicle(), block.text)
        project = replace(project, state=plan.planned.after, chronicle=chronicle)

    spec = pending_spec(reading, context.files)
    if spec is None or spec.path != project.paths.get(SPEC):
        return project

    sources = {**project.sources, SPEC: spec.text}

    return replace(project, spec=read_spec(spec.text), sources=sources)


def _of_this_round(project: Project, reading: ReadTransaction, round: Round) -> Project:
    """Return `project` without the documents that a closed round left as they are.

    A plan of the last round would make its tasks those of the next one.
    """
    closed = round.number - round.is_open
    if closed < 1:
        return project

    left = {each.name: each.sha256 for each in reading.kept_documents(step=LEFT, round=closed)}
    old = {
        name for name, text in project.sources.items() if left.get(name) == sha256(text.encode())
    }
    if not old:
        return project

    return replace(
        project,
        spec=None if SPEC in old else project.spec,
        blueprint=None if BLUEPRINT in old else project.blueprint,
        interview=None if REQUIREMENTS in old else project.interview,
        sources={name: text for name, text in project.sources.items() if name not in old},
    )


def _round_records(
    project: Project,
    newest: StoredReport | None,
    reading: ReadTransaction,
    confirmed: Sequence[Confirmation],
) -> RoundRecords:
    locked, round = None, reading.round()
    if project.state is not None and project.state.spec_locked:
        kept = [
            each
            for step in ("lock", "amend")
            if (each := reading.kept_document(SPEC, step=step, round=round.number)) is not None
        ]
        locked = max(kept, key=lambda each: each.revision).text if kept else None

    bypasses = {}
    for answer in confirmed:
        # A closed round needs no gate any more; its merge may still follow.
        if round.is_open and answer.action == "skip_gate":
            name = GateName(answer.subject_key)
            reason = json.loads(answer.arguments).get("reason", "")
            if (bypass := bypass_for(name, reason)) is not None:
                bypasses[name] = bypass

    moved = newest is not None and reading.document_revision(STATE) >= newest.revision

    handoffs = reading.event_revisions(HANDOFF, without=HIDDEN_KINDS, limit=1)
    written = max(handoffs, default=0)
    resumed = reading.events(
        after_revision=written, document=HANDOFF, kinds=(RESUMED_KIND,), limit=1
    )

    return RoundRecords(
        locked_spec=locked,
        bypasses=bypasses,
        merge_confirmed=_merge_is_confirmed(project, reading, round, confirmed),
        has_moved=moved,
        # The handoff that closes a round is used when the next one opens.
        has_resumed=bool(resumed) or written < round.first_revision,
    )


def _merge_is_confirmed(
    project: Project, reading: ReadTransaction, round: Round, confirmed: Sequence[Confirmation]
) -> bool:
    """Whether a person has confirmed the merge of the work as it is now, which is done."""
    asked = {each.subject for each in confirmed if each.action == "confirm_merge"}
    phase = project.state.phase if project.state is not None else None
    if not asked or (round.is_open and phase != "accept"):
        return False
    return work_digest(reading, round) in asked


def work_digest(reading: ReadTransaction, round: Round) -> str:
    """Return a digest of the reports that count in `round`: another one is other work."""
    newest = reading.reports(round=round.number, limit=1)
    parts = (round.number, reading.report_count(round=round.number), *(each.id for each in newest))
    return sha256(json.dumps(parts).encode())


def bypass_for(name: GateName, reason: str) -> Bypass | None:
    """Return why the gate may be skipped, by the first words of `reason`; None if it may not.

    Where the user's word is enough, any reason will do.
    """
    allowed = GATES[name].bypasses
    if Bypass.USER_SAYS_SO in allowed:
        return Bypass.USER_SAYS_SO
    return next((each for each in allowed if reason.strip().lower().startswith(each.value)), None)


def _brought_up_to_date(known: ReportIndex, reading: ReadTransaction) -> ReportIndex:
    """Return the index of the reports of the present round; only those not yet read are read."""
    revision, changed_at = reading.revision(), reading.reports_changed_at()
    newest_round = reading.round()
    if not newest_round.is_open:
        # Late reports are kept in the closed round and count nowhere.
        return ReportIndex(changed_at=changed_at).with_reports((), revision=revision)

    round = newest_round.number
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

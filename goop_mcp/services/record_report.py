"""Record an agent's report: judge it, verify its claims, decide, and store it in one transaction.

What is acknowledged is in the database; the files of the project are derived from it.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal

from goop_mcp.messages import warning
from goop_mcp.redaction import redact_structure
from goop_mcp.routing import Action, Decision, RoutingContext, route
from goop_mcp.routing.adapters import ADAPTERS
from goop_mcp.routing.expecting import expectations_of
from goop_mcp.routing.views import ReportView
from goop_mcp.services.check_workspace import examine_in_project, verify_claims
from goop_mcp.services.counters import (
    count_reply,
    counted_reply,
    decide_again,
    decide_and_count,
)
from goop_mcp.services.judgements import judgement_of
from goop_mcp.services.open_questions import OpenQuestion, open_questions
from goop_mcp.services.project_context import Change, ProjectContext
from goop_mcp.services.project_snapshot import ProjectSnapshot, take_snapshot
from goop_mcp.services.report_identity import Known, ReportWords, named_work, words_of
from goop_mcp.services.round_closing import close_round
from goop_mcp.services.route_reply import judge_reply
from goop_mcp.services.session_contents import NOTHING_GIVEN, compose_handoff
from goop_mcp.services.session_handoff import handoff_event
from goop_mcp.services.session_sources import session_sources
from goop_mcp.services.shareable_verdicts import shareable_decision
from goop_mcp.services.state_block import (
    gate_ahead,
    next_command,
    search_ahead_of_block,
    state_block_of,
)
from goop_mcp.services.stop_hooks.policy import StopPolicy, read_policy
from goop_mcp.services.unverified import NOT_ASKED, SWITCHED_OFF, with_unverified
from goop_mcp.services.waiting import Waiting, waiting_on
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.records import (
    Event,
    NewEvent,
    NewJudgement,
    NewReport,
    Round,
    StoredReport,
    Surface,
)
from goop_mcp.validation.evidence_rules import NOT_CHECKED
from goop_mcp.validation.findings import Finding, Mode, Severity
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workflow.gates import GateName, judge_gate
from goop_mcp.workflow.task_ids import normal_task_id
from goop_mcp.workspace.checkpoints import checkpoint_id
from goop_mcp.workspace.claimed_files import Looked
from goop_mcp.workspace.document_lookup import has_session
from goop_mcp.workspace.documents.entries import adl_text, chronicle_text
from goop_mcp.workspace.file_changes import GuardedWrite, plan_checkpoint
from goop_mcp.workspace.layout import ADL, CHRONICLE, FOLDER, HANDOFF
from goop_mcp.workspace.report_claims import claims_of_envelope
from goop_mcp.workspace.report_effects import entry_of_report, log_of_report, progress_of
from goop_mcp.workspace.report_index import work_of
from goop_mcp.workspace.state import ProjectState
from goop_mcp.workspace.state_writing import StatePlan, plan_state

__all__ = ["Judged", "RecordedReport", "Written", "record_report"]

_NO_FILES = (
    "no file was written, as many machines share the database, which holds documents and state"
)

# A failure that an accepted report only explains is listed with the failed checks.
_AGAINST_CHECKS: Final = frozenset({"evidence/check-failed"})

Status = Literal["recorded", "duplicate", "rejected", "no_report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Where a report was judged, for statistics; `number` and `ended` are those of NewJudgement.

    `counts` is False where its attempts are recorded, which count by themselves. `goes_on` states
    that the caller knows what comes next, as the graph of a run does, and nobody is asked for it.
    """

    surface: Surface
    number: int | None = None
    ended: str | None = None
    counts: bool = True
    goes_on: bool = False


JUDGED_BY_TOOL: Final = Judged(surface="record_report")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The records of a report, and the documents that show them.

    `revision` and `report` (its number) are those of the first report for a duplicate, and None if
    nothing was recorded. `chronicle` and `log` are the new entries of CHRONICLE.md and ADL.md.
    `state` is state.json after the change, None if it was not changed. `files` are the documents
    that were written, `resources` the URIs of the entries if no files are written.
    """

    revision: int | None = None
    report: int | None = None
    chronicle: str | None = field(default=None, repr=False)
    log: tuple[str, ...] = field(default=(), repr=False)
    state: ProjectState | None = field(default=None, repr=False)
    phase_before: str | None = None
    handoff: bool = False
    files: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what was written as JSON values."""
        state: dict[str, Any] | None = None
        if self.state is not None:
            state = {
                "phase": self.state.phase,
                "phase_before": self.phase_before,
                "current_wave": self.state.current_wave,
                "total_waves": self.state.total_waves,
                "last_activity": self.state.last_activity,
                "revision": self.state.revision,
            }

        return {
            "revision": self.revision,
            "report": self.report,
            "chronicle": self.chronicle,
            "log": list(self.log),
            "state": state,
            "handoff": self.handoff,
            "files": list(self.files),
            "resources": list(self.resources),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedReport:
    """The result for a report: recorded, duplicate, rejected, or an envelope without a report.

    Verdict and decision are without secrets; `redactions` is the number of those in the envelope.
    `findings` are contradictions between the documents, the state and the reports of the project.
    `remarks` are messages about the files. `waits` is what a person has to answer now.
    """

    status: Status
    verdict: Verdict
    decision: Decision
    written: Written = field(default_factory=Written)
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()
    redactions: int = 0
    waits: Waiting | None = None

    @property
    def claims(self) -> dict[str, int]:
        """How many claims of the recorded report rest on each tier; empty if none is recorded."""
        return self.verdict.tiers if self.status in {"recorded", "duplicate"} else {}

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values."""
        values = {
            "status": self.status,
            # Without the verdict it would be in the answer twice, and it is the largest part of it.
            "verdict": self.verdict.to_dict(),
            # The verdict stands once, above.
            "decision": {
                name: value for name, value in self.decision.to_dict().items() if name != "verdict"
            },
            "ask_with": self.waits.call if self.waits is not None else None,
            "claims": self.claims,
            "written": self.written.to_dict(),
            "findings": [finding.to_dict() for finding in self.findings],
            "remarks": list(self.remarks),
            "redactions": self.redactions,
        }
        # Some secrets are recognisable only here, where names and texts are adjacent.
        return redact_structure(values)[0]


def record_report(
    text: str,
    context: RoutingContext,
    project_context: ProjectContext,
    *,
    protocol: str = "auto",
    mode: Mode = "lenient",
    check_workspace: bool = True,
    looked: Looked | None = None,
    verdict: Verdict | None = None,
    judged: Judged = JUDGED_BY_TOOL,
    occurrence: str = "",
    guard: Callable[[WriteTransaction], None] | None = None,
    work: str | None = None,
    rules: Sequence[Rule] = (),
    why_not: str = NOT_ASKED,
    now: str,
) -> RecordedReport:
    """Judge `text`, verify its claims in the project, decide, and record it if it is accepted.

    The context is completed from the project. `check_workspace` False skips the verification, as
    the setting of that name does, and the verdict says `why_not`, unless that is "";
    `looked` receives the number of files checked so far. `verdict` is that on `text` of a caller
    that has judged it already, its claims included; None judges here. A repeated report is a
    duplicate and writes nothing; of a rejected one only the verdict is counted, as `judged`. A
    report with the name of an `occurrence` repeats only one with that name: an agent may come back
    to what it reported before something else. `guard` is called in the transaction that records,
    which its error prevents. `work`, such as `report 7`, is what a report without a task goes on
    with, if anything. `rules` are those of `validate`. `now` is ISO 8601 in UTC. Raises
    ContextError, StoreError, RuleFailedError and, for a reply of a closed round,
    ReportArgumentError; then nothing was recorded.
    """
    is_on = _policy(project_context).check_workspace
    # Who has judged it already says by itself whether the claims were verified.
    verifies = check_workspace and (is_on or verdict is not None)
    # Hooks and runners have seen the agent reply; others give a text that may be an old one.
    was_seen = judged.surface == "hook" or guard is not None
    if verdict is None and verifies:
        verdict, envelope, known = _judge_and_verify(
            text,
            context,
            project_context,
            protocol=protocol,
            mode=mode,
            looked=looked,
            occurrence=occurrence,
            was_seen=was_seen,
            rules=rules,
        )
    else:
        if verdict is None:
            verdict = judge_reply(
                text,
                context,
                protocol=protocol,
                mode=mode,
                home=project_context.files.root,
                rules=rules,
                judged_by=project_context.judged_by(),
            )
            verdict = with_unverified(verdict, why_not if is_on else SWITCHED_OFF)
        envelope, known = _look_up(verdict, project_context, occurrence, was_seen=was_seen)

    if known.same is not None:
        # What was found then is what the record rests on, its evidence included.
        recorded = Verdict.from_dict(json.loads(known.same.verdict))
        verdict = replace(
            verdict,
            findings=recorded.findings,
            evidence=recorded.evidence,
            unverified=recorded.unverified,
        )

    if not verdict.evidence and verdict.envelope is not None:
        # Where nothing but the reply was looked at, that is what the record says of each claim.
        items = claims_of_envelope(verdict.protocol, verdict.envelope.to_dict())
        verdict = replace(verdict, evidence=items)

    # The text that was read may contain secrets, and nobody needs it any more.
    # Also a matter of memory: the answer may be kept by the caller, and the reply has up to 2 MiB.
    verdict = replace(verdict, read_text="", span=None)
    decision = shareable_decision(route(verdict, context), text)
    # Without secrets, so that decisions by stored counters need not be redacted once more.
    decide = partial(route, decision.verdict)
    # What a report means for the project is read by the adapter of its protocol.
    adapter = ADAPTERS.get(decision.verdict.protocol or "")
    read = adapter.read(decision.verdict) if adapter is not None else None
    # A request asks for work and reports nothing, so that it has no view.
    view = redact_structure(read)[0] if isinstance(read, ReportView) else None
    if envelope is None or view is None or not _is_kept(decision):
        return _not_recorded(
            verdict,
            decision,
            envelope,
            context,
            project_context,
            decide=decide,
            text=text,
            judged=judged,
            now=now,
        )

    if known.same is not None:
        reply = counted_reply(verdict, context, text)
        decision, questions = project_context.store.read(
            lambda reading: (decide_again(reading, reply, decide), open_questions(reading))
        )
        return _duplicate(known.same, decision, envelope, questions)

    recording = _Recording(
        project_context,
        context,
        decision,
        view,
        envelope,
        text=text,
        is_verified=verifies,
        judged=judged,
        was_seen=was_seen,
        guard=guard,
        work=work,
        now=now,
    )
    # One transaction: report, documents, state and counters are stored together or not at all.
    answer, shown = project_context.write(recording.change, now=now)
    remarks = (*answer.remarks, *((_NO_FILES,) if answer.written.resources else ()), *shown.remarks)
    done = replace(answer.written, state=shown.state, files=shown.files)
    # They quote documents and the state, and are not stored.
    findings = redact_structure(answer.findings)[0]

    return replace(answer, written=done, remarks=remarks, findings=findings)


def _policy(project_context: ProjectContext) -> StopPolicy:
    judged_by = project_context.judged_by()
    root = str(project_context.files.root)
    return read_policy(root)[0] if judged_by is None else judged_by.policy


def _look_up(
    verdict: Verdict, project_context: ProjectContext, occurrence: str, *, was_seen: bool
) -> tuple[ReportWords | None, Known]:
    """Return the envelope of an accepted reply, and what is known of it."""
    envelope = words_of(verdict, occurrence)
    if envelope is None or not project_context.store.exists():
        return envelope, Known()
    return envelope, project_context.store.read(partial(envelope.find, was_seen=was_seen))


def _judge_and_verify(
    text: str,
    context: RoutingContext,
    project_context: ProjectContext,
    *,
    protocol: str,
    mode: Mode,
    looked: Looked | None,
    occurrence: str,
    was_seen: bool,
    rules: Sequence[Rule],
) -> tuple[Verdict, ReportWords | None, Known]:
    """Judge `text` once, and verify its claims unless the same report was recorded before.

    The claims of a recorded report were true then; the files of today may have changed.
    """
    home, judged_by = project_context.files.root, project_context.judged_by()
    examined = examine_in_project(
        text,
        home,
        protocol=protocol,
        mode=mode,
        expected=expectations_of(context),
        rules=rules,
        judged_by=judged_by,
    )
    verdict = examined.verdict()
    envelope, known = _look_up(verdict, project_context, occurrence, was_seen=was_seen)
    if known.same is None:
        verdict = verify_claims(
            examined,
            home,
            store=project_context.store,
            session_state=context.session_state,
            looked=looked,
            judged_by=judged_by,
        )
        # What is untrue is not recorded.
        envelope = envelope if verdict.accepted else None

    return verdict, envelope, known


def _not_recorded(
    verdict: Verdict,
    decision: Decision,
    envelope: ReportWords | None,
    context: RoutingContext,
    project_context: ProjectContext,
    *,
    decide: Callable[[RoutingContext], Decision],
    text: str,
    judged: Judged,
    now: str,
) -> RecordedReport:
    """Return the answer to a reply that is not a report or is refused, and count a refused one.

    What it makes a person decide is shown in CHRONICLE.md.
    """
    status: Status = "rejected" if not _is_kept(decision) or envelope is None else "no_report"
    # A typing error in a folder that has nothing to do with a project leaves no trace in it.
    # A database is created for the counters only where there is a project.
    counts = status == "rejected" or bool(decision.state_changes)
    if not counts or not (project_context.store.exists() or project_context.files.exists(FOLDER)):
        return RecordedReport(status=status, verdict=decision.verdict, decision=decision)

    judgement = _judgement(decision, context, judged, now=now)
    is_listed = status == "rejected" and judged.counts
    counted = count_reply(
        project_context.store,
        verdict,
        context,
        decide,
        text=text,
        surface=judged.surface,
        judgement=lambda decided: _decided(judgement, decided) if is_listed else None,
        shown_in=lambda: project_context,
        now=now,
    )

    return RecordedReport(
        status=status,
        verdict=counted.decision.verdict,
        decision=counted.decision,
        written=Written(files=counted.files, resources=counted.resources),
        remarks=counted.remarks,
        waits=_waits(counted.decision, counted.questions),
    )


def _waits(decision: Decision, questions: Sequence[OpenQuestion]) -> Waiting | None:
    """Return what `decision` asks a person, the newest of the open `questions`; None if nothing.

    It may ask what is not kept: in a closed round, or where a graph knows what comes next.
    """
    if Action.ASK_USER not in decision.actions or not questions:
        return None
    newest = questions[-1]
    return waiting_on(newest) if newest.rule == decision.rule else None


class _Recording:
    """Records one report in a transaction."""

    def __init__(
        self,
        project_context: ProjectContext,
        context: RoutingContext,
        decision: Decision,
        view: ReportView,
        envelope: ReportWords,
        *,
        text: str,
        is_verified: bool,
        judged: Judged,
        was_seen: bool,
        guard: Callable[[WriteTransaction], None] | None,
        work: str | None,
        now: str,
    ) -> None:
        self.is_verified, self.was_seen, self.guard = is_verified, was_seen, guard
        self.work = work
        self.session_documents: tuple[str, ...] = ()
        self.project_context, self.session, self.judged = (
            project_context,
            context.session_id,
            judged,
        )
        self.view, self.envelope, self.now = view, envelope, now
        self.verdict = decision.verdict
        # The decision quotes both, and within the transaction nothing is searched for secrets.
        self.context = redact_structure(context)[0]
        self.reply = counted_reply(self.verdict, self.context, text, changes=decision.state_changes)
        self.judgement = _judgement(decision, context, judged, now=now)
        self.before = take_snapshot(project_context)
        search_ahead_of_block(self.before, view.task_id and normal_task_id(view.task_id))

    def change(self, writing: WriteTransaction) -> Change[RecordedReport]:
        """Add all rows of the report, unless somebody else has recorded it meanwhile."""
        # The check before the transaction saves work; only this one, under the lock, is reliable.
        known = self.envelope.find(writing, was_seen=self.was_seen)
        if known.same is not None:
            decision = decide_again(writing, self.reply, partial(route, self.verdict))
            questions = open_questions(writing)
            same = _duplicate(known.same, decision, self.envelope, questions)
            return Change(answer=same, shows=False)
        if self.guard is not None:
            self.guard(writing)

        # The decision depends on the project with this report, and is stored with the report.
        row = self._row(writing.round().number, known.key)
        snapshot = self.before.with_reports(writing, row)
        decision = decide_and_count(
            writing,
            self.reply,
            lambda context: self._decide(snapshot, context),
            surface=self.judged.surface,
            work=snapshot.report_index.work,
            goes_on=self.judged.goes_on,
        )
        # What the decision asks is part of where the project stands.
        snapshot = replace(snapshot, questions=open_questions(writing))
        kept = {key: value for key, value in decision.to_dict().items() if key != "verdict"}
        kept |= {"same_words": known.mark} if known.mark else {}
        stored = writing.add_report(replace(row, decision=_json(kept)))
        if self.judged.counts:
            writing.add_judgement(_decided(self.judgement, decision))
        # After the round was closed a report is kept and shown, and decides nothing any more.
        late = None if snapshot.round.is_open else snapshot.round
        chronicle, log = self._show_entries(writing, late, known.mark)
        state, extra = self._progress(writing, snapshot) if late is None else (None, ())
        if state is not None:
            snapshot = snapshot.with_state(state.planned.after)

        handoff = late is None and {Action.SAVE_STATE, Action.NEW_SESSION} <= set(decision.actions)
        if handoff:
            sources = session_sources(snapshot, writing)
            text = compose_handoff(
                NOTHING_GIVEN, sources, decided_command=decision.next_command, now=self.now
            )
            self._add(writing, handoff_event(text, author=self._author, now=self.now))

        # Compare the documents as they will be when they show the report.
        block = state_block_of(snapshot, writing, is_elsewhere=self._is_elsewhere)
        shown = snapshot.with_chronicle(block)
        if handoff:
            shown = shown.without_handoff()

        if late is not None:
            shown = shown.with_late_report()

        written = Written(
            revision=stored.revision,
            report=stored.id,
            chronicle=chronicle,
            log=log,
            phase_before=state.planned.before.phase if state is not None else None,
            handoff=handoff,
            resources=self.project_context.addresses(
                CHRONICLE, *([ADL] if log else ()), *([HANDOFF] if handoff else ())
            ),
        )
        answer = RecordedReport(
            status="recorded",
            verdict=decision.verdict,
            decision=decision,
            written=written,
            findings=shown.drift,
            remarks=(f"{known.mark[0].upper()}{known.mark[1:]}.",) if known.mark else (),
            redactions=self.envelope.redactions,
            waits=_waits(decision, snapshot.questions),
        )

        return Change(
            answer=answer,
            state=state,
            extra=extra,
            state_block=block,
            documents=self.session_documents,
        )

    def _show_entries(
        self, writing: WriteTransaction, late: Round | None, mark: str | None
    ) -> tuple[str, tuple[str, ...]]:
        """Add the entry of CHRONICLE.md and those of ADL.md, and return their texts."""
        observed, refuted = self._checked()
        # What nobody has verified is shown as a claim.
        if self.is_verified:
            unverified = [each for each in self.verdict.findings if each.rule == NOT_CHECKED.id]
            claimed = [each.found or each.message for each in unverified]
        else:
            claimed = [
                *(each.path for each in self.view.files),
                *(each.sha for each in self.view.commits if each.sha),
                *(f"memory {each.title!r}" for each in self.view.memories),
            ]

        entry = entry_of_report(
            self.view,
            time=self.now,
            asked=self.context.expected_agent,
            claimed=claimed,
            observed=observed,
            refuted=refuted,
        )
        marks = [f"late: round {late.number} is closed"] if late is not None else []
        marks += [mark] if mark is not None else []
        if marks:
            entry = replace(entry, action=f"{entry.action} ({'; '.join(marks)})")

        chronicle = self._show(writing, "report", chronicle_text(entry), CHRONICLE)
        log = tuple(
            self._show(writing, each.kind.lower(), adl_text(each), ADL)
            for each in log_of_report(self.view, time=self.now)
        )

        return chronicle, log

    def _progress(
        self, writing: WriteTransaction, snapshot: ProjectSnapshot
    ) -> tuple[StatePlan | None, tuple[GuardedWrite, ...]]:
        """Return the change of the state that the report causes, and the files that follow it."""
        place = self.project_context.state
        before = place.read(writing)
        # It is missing, unreadable or read-only.
        if not isinstance(before, ProjectState) or not before.writable:
            return None, ()

        facts = snapshot.with_state(before).facts
        change = progress_of(self.view, before, facts, blueprint=snapshot.project.blueprint)
        if self._is_checkpoint:
            id = checkpoint_id(now=self.now, revision=writing.next_revision())
            change = replace(change, values={**change.values, "activeCheckpointId": id})

        # Another program may change counters meanwhile; only a move depends on the state seen here.
        seen = before.token if change.phase is not None else None
        state = plan_state(writing, place, change, now=self.now, author=self._author, seen=seen)

        extra: tuple[GuardedWrite, ...] = ()
        if state.planned.after.phase == "idle" != snapshot.phase:
            # The acceptance was confirmed by another program, which knows no rounds.
            context = self.project_context
            extra = close_round(writing, context, snapshot, outcome="accept", now=self.now)
        if self._is_checkpoint:
            note, task = self.view.summary, self.view.task_id
            _, file = plan_checkpoint(
                writing, state.planned.after, task=task, note=note, now=self.now
            )
            extra = (*extra, file) if self.project_context.writes_files else extra

        return state, extra

    @property
    def _is_checkpoint(self) -> bool:
        return self.view.native_status == "CHECKPOINT"

    def _checked(self) -> tuple[frozenset[str], dict[str, str]]:
        """Return the names of the checks that a host saw pass, and what it saw of failed ones."""
        seen = {item.path for item in self.verdict.evidence if item.tier != "claimed"}
        against = {
            finding.path: finding.message
            for finding in self.verdict.findings
            if finding.rule in _AGAINST_CHECKS and finding.severity is not Severity.INFO
        }
        if not seen and not against:
            return frozenset(), {}

        # Only reports of this protocol list checks, in the order of their elements.
        places = [
            (check.name, f"/goop_report/verification/check[{number}]")
            for number, check in enumerate(self.view.checks, 1)
        ]
        return (
            frozenset(name for name, path in places if path in seen),
            {name: against[path] for name, path in places if path in against},
        )

    @property
    def _is_elsewhere(self) -> bool:
        return not (self.project_context.writes_files or self.before.project.exists)

    @property
    def _author(self) -> str:
        return self.view.agent or "an agent"

    def _row(self, round: int, key: str) -> NewReport:
        view = self.view
        # The envelope has its own column.
        verdict = self.verdict.to_dict()
        kept = {
            key: value for key, value in verdict.items() if key not in ("envelope", "repaired_text")
        }
        return NewReport(
            protocol=self.verdict.protocol or "",
            idempotency_key=key,
            envelope=self.envelope.text,
            verdict=_json(kept),
            decision="{}",
            created_at=self.now,
            agent=view.agent,
            phase=view.phase,
            task_id=view.task_id
            or named_work(self.work, view.summary, self.before.report_index.records),
            status=view.native_status,
            round=round,
        )

    def _decide(self, snapshot: ProjectSnapshot, context: RoutingContext) -> Decision:
        state = snapshot.project.state
        if context.execution_gate is None and snapshot.facts.total_tasks:
            gate = judge_gate(GateName.EXECUTION, snapshot.facts)
            context = replace(context, execution_gate=gate.passed)
        if state is not None and state.profile == "v1":
            context = replace(context, profile="v1")
        if state is not None and state.phase != "idle" and context.next_command is None:
            # By the state after this report, which may end its phase.
            moved = progress_of(
                self.view, state, snapshot.facts, blueprint=snapshot.project.blueprint
            )
            after = snapshot.with_state(replace(state, phase=moved.phase or state.phase))
            ahead = gate_ahead(after.project, after.facts)
            context = replace(context, next_command=next_command(after.project, ahead))

        decision = route(self.verdict, context)
        if snapshot.round.is_open:
            return decision

        # What the report asks for belonged to a round that is closed: a person says whether it is
        # reopened. Questions and blockers stay, so that nothing of the report is lost.
        reason = f"Round {snapshot.round.number} is closed: the report changes nothing."
        return replace(
            decision,
            actions=(Action.ASK_USER,),
            reason=reason,
            message=warning(reason, command="/goop-discuss"),
            next_agent=None,
            instruction=None,
            next_command="/goop-discuss",
            new_session=None,
            retry=None,
        )

    def _show(self, writing: WriteTransaction, kind: str, text: str, document: str) -> str:
        event = NewEvent(
            kind=kind, author=self._author, text=text, created_at=self.now, document=document
        )
        return self._add(writing, event).text

    def _add(self, writing: WriteTransaction, event: NewEvent) -> Event:
        """Add `event`, and once more for the same document of the named session."""
        session = self.session
        if session is not None and has_session(self.project_context.files, session):
            own = f"sessions/{session}/{event.document}"
            self.session_documents = tuple(dict.fromkeys((*self.session_documents, own)))
            writing.add_event(replace(event, document=own))

        return writing.add_event(event)


def _is_kept(decision: Decision) -> bool:
    """Whether the report is accepted, by its verdict and by the caller's policy."""
    # The rows of repeated errors ask a person: the reply is as wrong as when a repair was asked.
    refusing = {Action.REQUEST_REPAIR, Action.REJECT}
    refused = bool(refusing & set(decision.actions)) or decision.rule in ("R3", "R4b")

    return decision.verdict.accepted and not refused


def _duplicate(
    known: StoredReport,
    decision: Decision,
    envelope: ReportWords,
    questions: Sequence[OpenQuestion],
) -> RecordedReport:
    work = work_of(known)
    return RecordedReport(
        status="duplicate",
        verdict=decision.verdict,
        decision=decision,
        written=Written(revision=known.revision, report=known.id),
        redactions=envelope.redactions,
        waits=_waits(decision, [each for each in questions if each.key == work]),
    )


def _judgement(
    decision: Decision, context: RoutingContext, judged: Judged, *, now: str
) -> NewJudgement:
    return judgement_of(
        decision.verdict,
        surface=judged.surface,
        now=now,
        agent=context.expected_agent,
        session_id=context.session_id,
        number=judged.number,
        ended=judged.ended,
        result=_result(decision),
    )


def _decided(judgement: NewJudgement, decision: Decision) -> NewJudgement:
    """Return the judgement by a decision that also depends on the stored counters."""
    return replace(judgement, result=_result(decision))


def _result(decision: Decision) -> Literal["accepted", "rejected"]:
    return "accepted" if _is_kept(decision) else "rejected"


def _json(values: dict[str, Any] | Sequence[Any]) -> str:
    return json.dumps(values, sort_keys=True)

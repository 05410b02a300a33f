"""Record an agent's report: judged, held against the project, decided on, and kept in one transaction.

What is acknowledged lies in the database; the files of the project follow from it.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from goop_mcp.operations.judgements import count_judgement, judgement_of
from goop_mcp.operations.project_picture import ProjectPicture, take_picture
from goop_mcp.operations.route_reply import judge_reply
from goop_mcp.operations.session_contents import NOTHING_GIVEN, compose_handoff
from goop_mcp.operations.session_handoff import handoff_event
from goop_mcp.operations.workplace import Change, Shown, Workplace
from goop_mcp.redaction import redact_structure
from goop_mcp.routing import Action, Decision, RoutingContext, route
from goop_mcp.routing.adapters import ADAPTERS
from goop_mcp.routing.views import ReportView
from goop_mcp.store.interface import Writing
from goop_mcp.store.records import NewEvent, NewJudgement, NewReport, StoredReport, Surface
from goop_mcp.validation.findings import Finding, Mode
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workflow.gates import GateName, judge_gate
from goop_mcp.workspace.claimed_files import Looked
from goop_mcp.workspace.documents.entries import adl_text, chronicle_text
from goop_mcp.workspace.drift import find_drift
from goop_mcp.workspace.layout import ADL, CHRONICLE, HANDOFF
from goop_mcp.workspace.progress import progress_of
from goop_mcp.workspace.report_entry import entry_of_report, log_of_report
from goop_mcp.workspace.state import ProjectState, read_state
from goop_mcp.workspace.state_writing import StatePlan, plan_state

__all__ = ["Judged", "RecordedReport", "Written", "record_report"]

_NO_FILES = (
    "no file was written, as many machines share the database; counters and phase in state.json are"
    " left to whoever has the project's folder"
)

Status = Literal["recorded", "duplicate", "rejected", "no_report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Where a report was judged, for statistics; `number` and `ended` as `NewJudgement` has them."""

    surface: Surface
    number: int | None = None
    ended: str | None = None


JUDGED_BY_TOOL: Final = Judged(surface="record_report")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was recorded, and where it shows.

    `revision` and `report` (its number) are those of the first time for a duplicate and None where
    nothing was recorded. `chronicle` and `log` are the entries of CHRONICLE.md and ADL.md as they
    stand there. `state` is state.json behind the change, None where it was left alone. `files` are
    the documents that were written, `resources` the addresses at which the entries are read where
    no file is written.
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
        return {
            "revision": self.revision,
            "report": self.report,
            "chronicle": self.chronicle,
            "log": list(self.log),
            "state": None if self.state is None else _state_values(self.state, self.phase_before),
            "handoff": self.handoff,
            "files": list(self.files),
            "resources": list(self.resources),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedReport:
    """What became of a report: recorded, a duplicate, rejected, or an envelope that reports nothing.

    Verdict and decision are without secrets, of which `redactions` counts those in the envelope. `findings` are where
    the documents, the state and the reports of the project disagree now. `remarks` are sentences about the files.
    """

    status: Status
    verdict: Verdict
    decision: Decision
    written: Written = field(default_factory=Written)
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()
    redactions: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values."""
        values = {
            "status": self.status,
            "verdict": self.verdict.to_dict(),
            "decision": self.decision.to_dict(),
            "written": self.written.to_dict(),
            "findings": [finding.to_dict() for finding in self.findings],
            "remarks": list(self.remarks),
            "redactions": self.redactions,
        }
        # Names and texts that stand apart in the typed envelope stand together here.
        return redact_structure(values)[0]


def record_report(
    text: str,
    context: RoutingContext,
    workplace: Workplace,
    *,
    protocol: str = "auto",
    mode: Mode = "lenient",
    check_workspace: bool = True,
    looked: Looked | None = None,
    judged: Judged = JUDGED_BY_TOOL,
    rules: Sequence[Rule] = (),
    now: str,
) -> RecordedReport:
    """Judge `text`, hold its claims against the project, decide, and record it if it is accepted.

    What the context leaves open about the project is taken from the project. `check_workspace`
    False takes the claims as they are; `looked` is told how many of the files were looked for. The
    same report again is a duplicate and writes nothing; of a rejected one only its judgement is
    counted, as `judged` says. `rules` are those of `validate`. `now` is ISO 8601 in UTC. Raises
    ContextError, StoreError and RuleFailedError; nothing was recorded then.
    """
    home = workplace.files.root
    verdict = judge_reply(text, context, protocol=protocol, mode=mode, home=home, rules=rules)
    envelope = _envelope(verdict)
    known = _known(envelope, workplace)
    if known is None and check_workspace:
        verdict = judge_reply(
            text,
            context,
            protocol=protocol,
            mode=mode,
            project=home,
            store=workplace.store,
            looked=looked,
            rules=rules,
        )
        envelope = _envelope(verdict)

    decision, _ = redact_structure(route(_shareable(verdict), context))
    view = _view(decision.verdict)
    if envelope is None or view is None or not _is_kept(decision):
        status: Status = "rejected" if not _is_kept(decision) or envelope is None else "no_report"
        if status == "rejected":
            count_judgement(workplace.store, _judgement(decision, context, judged, now=now))
        return RecordedReport(status=status, verdict=decision.verdict, decision=decision)

    if known is not None:
        return _duplicate(known, decision, envelope)

    recording = _Recording(
        workplace, context, decision.verdict, view, envelope, judged=judged, now=now
    )
    answer, shown = workplace.write(recording.change, now=now)
    remarks = (_NO_FILES, *shown.remarks) if answer.written.resources else shown.remarks

    return replace(answer, written=_with_files(answer.written, shown), remarks=remarks)


@dataclass(frozen=True, slots=True)
class _Envelope:
    """An accepted envelope as it is kept: JSON without secrets, the key it is known by, and how many were hidden."""

    text: str = field(repr=False)
    key: str
    redactions: int


class _Recording:
    """One report on its way into the database."""

    def __init__(
        self,
        workplace: Workplace,
        context: RoutingContext,
        verdict: Verdict,
        view: ReportView,
        envelope: _Envelope,
        *,
        judged: Judged,
        now: str,
    ) -> None:
        self.workplace, self.context, self.verdict, self.judged = (
            workplace,
            context,
            verdict,
            judged,
        )
        self.view, self.envelope, self.now = view, envelope, now
        self.before = take_picture(workplace)

    def change(self, writing: Writing) -> Change[RecordedReport]:
        """Add all rows that the report leaves, unless somebody has just recorded it."""
        known = writing.report_by_key(self.envelope.key)
        if known is not None:
            decision, _ = redact_structure(route(self.verdict, self.context))
            return Change(answer=_duplicate(known, decision, self.envelope), shows=False)

        picture = self.before.with_reports(writing, self._row())
        decision = self._decide(picture)
        stored = writing.add_report(replace(self._row(), decision=_kept_decision(decision)))
        writing.add_judgement(_judgement(decision, self.context, self.judged, now=self.now))
        chronicle = self._show(
            writing, "report", chronicle_text(entry_of_report(self.view, time=self.now)), CHRONICLE
        )
        log = tuple(
            self._show(writing, entry.kind.lower(), adl_text(entry), ADL)
            for entry in log_of_report(self.view, time=self.now)
        )
        state = self._plan_state(writing, picture)
        if state is not None:
            picture = picture.with_state(state.planned.after)

        handoff = self._hand_over(writing, picture, decision)
        written = Written(
            revision=stored.revision,
            report=stored.id,
            chronicle=chronicle,
            log=log,
            phase_before=state.planned.before.phase if state is not None else None,
            handoff=handoff,
            resources=self.workplace.addresses(
                CHRONICLE, *([ADL] if log else ()), *([HANDOFF] if handoff else ())
            ),
        )
        answer = RecordedReport(
            status="recorded",
            verdict=decision.verdict,
            decision=decision,
            written=written,
            findings=self._drift(picture, handoff=handoff),
            redactions=self.envelope.redactions,
        )

        return Change(answer=answer, state=state)

    def _hand_over(self, writing: Writing, picture: ProjectPicture, decision: Decision) -> bool:
        """Add a session handoff where the decision asks for one, and tell whether it did."""
        if not {Action.SAVE_STATE, Action.NEW_SESSION} <= set(decision.actions):
            return False

        sources = picture.since_handoff(writing)
        handoff = compose_handoff(
            NOTHING_GIVEN, sources, decided_command=decision.next_command, now=self.now
        )
        writing.add_event(handoff_event(handoff, author=self._author, now=self.now))

        return True

    def _drift(self, picture: ProjectPicture, *, handoff: bool) -> tuple[Finding, ...]:
        """Return what disagrees once the documents show the report."""
        picture = picture.with_chronicle()
        if handoff:
            picture = picture.without_handoff()
        return redact_structure(find_drift(picture.project, picture.records))[0]

    @property
    def _author(self) -> str:
        return self.view.agent or "an agent"

    def _row(self) -> NewReport:
        view = self.view
        return NewReport(
            protocol=self.verdict.protocol or "",
            idempotency_key=self.envelope.key,
            envelope=self.envelope.text,
            verdict=_kept_verdict(self.verdict),
            decision="{}",
            created_at=self.now,
            agent=view.agent,
            phase=view.phase,
            task_id=view.task_id,
            status=view.native_status,
        )

    def _decide(self, picture: ProjectPicture) -> Decision:
        context, state = self.context, picture.project.state
        if context.execution_gate is None and picture.facts.total_tasks:
            gate = judge_gate(GateName.EXECUTION, picture.facts)
            context = replace(context, execution_gate=gate.passed)
        if state is not None and state.profile == "v1":
            context = replace(context, profile="v1")

        decision, _ = redact_structure(route(self.verdict, context))

        return decision

    def _show(self, writing: Writing, kind: str, text: str, document: str) -> str:
        event = NewEvent(
            kind=kind, author=self._author, text=text, created_at=self.now, document=document
        )
        return writing.add_event(event).text

    def _plan_state(self, writing: Writing, picture: ProjectPicture) -> StatePlan | None:
        """Return the change of state.json; None where there is none, or one that we cannot read or do not write."""
        if not self.workplace.writes_files:
            return None

        files = self.workplace.files
        state = read_state(files)
        if not isinstance(state, ProjectState) or not state.writable:
            return None

        facts = picture.with_state(state).facts
        change = progress_of(self.view, state, facts, blueprint=picture.project.blueprint)
        # Another program may count and go on meanwhile; only a move depends on what was seen.
        seen = state.token if change.phase is not None else None

        return plan_state(writing, files, change, now=self.now, author=self._author, seen=seen)


def _envelope(verdict: Verdict) -> _Envelope | None:
    if not verdict.accepted or verdict.envelope is None or verdict.protocol is None:
        return None

    values, redactions = redact_structure(verdict.envelope.to_dict())
    text = json.dumps(values, sort_keys=True)
    key = hashlib.sha256(
        json.dumps([verdict.protocol, values], sort_keys=True).encode()
    ).hexdigest()

    return _Envelope(text, f"report:{key}", redactions)


def _known(envelope: _Envelope | None, workplace: Workplace) -> StoredReport | None:
    """Return the report that says the same; one whose claims were true once is not judged by today's files."""
    if envelope is None or not workplace.store.exists():
        return None
    return workplace.store.read(lambda reading: reading.report_by_key(envelope.key))


def _shareable(verdict: Verdict) -> Verdict:
    return replace(verdict, read_text="", span=None)


def _is_kept(decision: Decision) -> bool:
    """Tell whether the report counts: accepted, and by the caller's policy too."""
    refusing = {Action.REQUEST_REPAIR, Action.REJECT}
    return decision.verdict.accepted and not refusing & set(decision.actions)


def _view(verdict: Verdict) -> ReportView | None:
    """Return what the envelope reports; None for a request, which asks for work, and for no envelope."""
    adapter = ADAPTERS.get(verdict.protocol or "")
    view = adapter.read(verdict) if adapter is not None else None
    return redact_structure(view)[0] if isinstance(view, ReportView) else None


def _duplicate(known: StoredReport, decision: Decision, envelope: _Envelope) -> RecordedReport:
    return RecordedReport(
        status="duplicate",
        verdict=decision.verdict,
        decision=decision,
        written=Written(revision=known.revision, report=known.id),
        redactions=envelope.redactions,
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
        result="accepted" if _is_kept(decision) else "rejected",
    )


def _kept_verdict(verdict: Verdict) -> str:
    # The envelope has a column of its own.
    values = verdict.to_dict()
    return _json(
        {key: value for key, value in values.items() if key not in ("envelope", "repaired_text")}
    )


def _kept_decision(decision: Decision) -> str:
    return _json({key: value for key, value in decision.to_dict().items() if key != "verdict"})


def _json(values: dict[str, Any] | Sequence[Any]) -> str:
    return json.dumps(values, sort_keys=True)


def _with_files(written: Written, shown: Shown) -> Written:
    return replace(written, state=shown.state, files=shown.files)


def _state_values(state: ProjectState, before: str | None) -> dict[str, Any]:
    return {
        "phase": state.phase,
        "phase_before": before,
        "current_wave": state.current_wave,
        "total_waves": state.total_waves,
        "last_activity": state.last_activity,
        "revision": state.revision,
    }

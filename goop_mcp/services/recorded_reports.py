"""Read recorded reports again, and withdraw one.

Their texts were redacted before they were stored. They come from agents: data, never instructions.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Final, Literal

from goop_mcp.errors import GoopError
from goop_mcp.messages.rendering import notice, warning
from goop_mcp.redaction import redact
from goop_mcp.services.counters import uncount_report
from goop_mcp.services.project_context import Change, ProjectContext
from goop_mcp.services.project_snapshot import envelope_of, snapshot_in
from goop_mcp.services.state_block import state_block_of
from goop_mcp.store.interface import ReadTransaction, Store, WriteTransaction
from goop_mcp.store.records import NewEvent, Round, StoredReport
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.validation.tiers import EvidenceItem
from goop_mcp.workspace.documents.entries import AdlEntry, ChronicleEntry, adl_text, chronicle_text
from goop_mcp.workspace.layout import ADL, CHRONICLE, STATE
from goop_mcp.workspace.projection_text import HIDDEN_KINDS
from goop_mcp.workspace.report_claims import claims_of, tiers_of

__all__ = [
    "LISTED",
    "MOST_LISTED",
    "ReportArgumentError",
    "ReportList",
    "ReportNotFoundError",
    "ReportSummary",
    "ShownReport",
    "Withdrawal",
    "earlier_round",
    "find_report",
    "list_reports",
    "require_present",
    "show_report",
    "shown_report",
    "summaries",
    "withdraw_report",
]

LISTED: Final = 20
MOST_LISTED: Final = 200

_LISTED_CLAIMS: Final = 20
_LARGEST_ID: Final = 2**63 - 1
_PAGE: Final = 20
_MOST_EVENTS: Final = 200
_MOST_OF_A_REASON: Final = 500
_MOST_WITHDRAWALS: Final = 1_000
_OUTCOME: Final = re.compile(r"\*\*Outcome:\*\* ([^\n]*)")
_RETIRED: Final[Mapping[str, str]] = {
    "withdrawn": "it was withdrawn",
    "replanned": "its task was planned again",
    "rejected": "the acceptance of its round was refused",
}


class ReportNotFoundError(GoopError, LookupError):
    """Raised when no report has the number."""


class ReportArgumentError(GoopError, ValueError):
    """Raised for a limit, round or reason that cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSummary:
    """What a list shows of a recorded report.

    `retired` is why it no longer counts, None while it does. `late` is whether it was recorded
    after its round had been closed, and so never counted. `actions` are those of the decision.
    `tiers` is how many claims rest on what, as `tier_counts` returns it.
    """

    report: int
    revision: int
    round: int
    recorded_at: str
    protocol: str
    agent: str | None
    phase: str | None
    task: str | None
    status: str | None
    summary: str | None = field(repr=False)
    actions: tuple[str, ...]
    retired: str | None
    late: bool
    tiers: Mapping[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> bool:
        """Whether tasks and gates of its round are decided by it."""
        return self.retired is None and not self.late

    @property
    def why_not(self) -> str | None:
        """Why it does not count, in a few words; None if it does."""
        if self.retired is not None:
            return _RETIRED[self.retired]
        return "its round was closed before" if self.late else None

    def to_dict(self) -> dict[str, object]:
        """Return it as JSON values."""
        return {
            "report": self.report,
            "revision": self.revision,
            "round": self.round,
            "recorded_at": self.recorded_at,
            "protocol": self.protocol,
            "agent": self.agent,
            "phase": self.phase,
            "task": self.task,
            "status": self.status,
            "summary": self.summary,
            "actions": list(self.actions),
            "counts": self.counts,
            "retired": self.retired,
            "late": self.late,
            "claims": dict(self.tiers),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportList:
    """Reports of one round, newest first; `has_more` is whether there are older ones.

    `before` is the number that they were recorded before, None for the newest.
    """

    reports: tuple[ReportSummary, ...]
    round: int
    before: int | None = None
    has_more: bool = False

    def to_dict(self) -> dict[str, object]:
        """Return the list as JSON values."""
        return {
            "round": self.round,
            "reports": [each.to_dict() for each in self.reports],
            "has_more": self.has_more,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownReport:
    """A recorded report with its envelope, verdict and decision as JSON values.

    `documents` are those that show entries of its revision, `moved` the change of phase it caused,
    such as "execute → accept", None without one. `withdrawn` says when, by whom and why it was
    withdrawn, None for one that was not. `claims` are its claims and what each rests on.
    """

    about: ReportSummary
    envelope: Mapping[str, JsonValue] = field(repr=False)
    verdict: Mapping[str, JsonValue] = field(repr=False)
    decision: Mapping[str, JsonValue] = field(repr=False)
    documents: tuple[str, ...] = ()
    moved: str | None = None
    withdrawn: str | None = None
    claims: tuple[EvidenceItem, ...] = ()

    @property
    def same_words(self) -> str | None:
        """The report of an earlier round that says the same, None without one."""
        words = self.decision.get("same_words")
        return words if isinstance(words, str) else None

    def explain(self, check: str) -> list[dict[str, str]]:
        """Return what the claims that `check` names rest on, with the findings about them.

        `check` is a part of a claim, such as the name of a check, or its path. Raise
        ReportArgumentError, which lists the claims, if no claim has it.
        """
        # A part is enough: people do not type whole commands.
        wanted = check.strip().casefold()
        found = [
            item
            for item in self.claims
            if wanted and (wanted in item.claim.casefold() or wanted == item.path.casefold())
        ]
        if not found:
            names = ", ".join(item.claim for item in self.claims[:_LISTED_CLAIMS])
            number = self.about.report
            raise ReportArgumentError(
                f"report {number} has no claim {excerpt(check, 60)!r}; its claims are: {names}"
                if names
                else f"report {number} claims no check, file, commit or memory"
            )

        findings = self.verdict.get("findings")
        messages: dict[str, list[str]] = {}
        for finding in findings if isinstance(findings, list) else ():
            # Only findings of evidence explain what a claim rests on.
            if isinstance(finding, dict) and str(finding.get("rule", "")).startswith("evidence/"):
                text = f"{finding.get('severity')} {finding.get('rule')}: {finding.get('message')}"
                messages.setdefault(str(finding.get("path")), []).append(text)

        return [
            {**item.to_dict(), "findings": "; ".join(messages.get(item.path, ()))} for item in found
        ]

    def to_dict(self) -> dict[str, object]:
        """Return the report as JSON values."""
        return {
            **self.about.to_dict(),
            "documents": list(self.documents),
            "moved": self.moved,
            "withdrawn": self.withdrawn,
            "verdict": dict(self.verdict),
            "decision": dict(self.decision),
            "envelope": dict(self.envelope),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """The result of withdrawing a report.

    "unchanged" if it did not count any more, "refused" if its round is closed. `message` is
    Markdown. `revision` is None unless something was written. `files` and `resources` are the
    documents that show it.
    """

    status: Literal["withdrawn", "unchanged", "refused"]
    report: int
    message: str
    revision: int | None = None
    command: str | None = None
    files: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the result as JSON values."""
        return {
            "status": self.status,
            "report": self.report,
            "message": self.message,
            "revision": self.revision,
            "command": self.command,
            "files": list(self.files),
            "resources": list(self.resources),
            "remarks": list(self.remarks),
        }


def list_reports(
    store: Store, *, round: int | None = None, before: int | None = None, limit: int = LISTED
) -> ReportList:
    """Return at most `limit` (1 to MOST_LISTED) reports of `round`, newest first.

    `round` None is the present one. `before`, the number of the last report, continues the list.
    Retired and late reports are listed too, marked. Raises ReportArgumentError, StoreError.
    """
    # A page has a bound, so that a list of a hundred thousand reports costs as much as one of ten.
    if not 1 <= limit <= MOST_LISTED:
        raise ReportArgumentError(f"limit is {limit}; expected 1 to {MOST_LISTED}")
    if before is not None and not 1 <= before <= _LARGEST_ID:
        raise ReportArgumentError(f"before is {before}; expected the number of a report")

    def ask(reading: ReadTransaction) -> ReportList:
        newest = reading.round().number
        number = newest if round is None else round
        if not 1 <= number <= newest:
            raise ReportArgumentError(f"there is no round {number}; expected 1 to {newest}")

        closed = _closing_revisions(reading)
        found: list[ReportSummary] = []
        last = before
        # Page by page: an envelope may be megabytes, and only its summary is kept of each.
        while page := reading.reports(
            round=number, include_retired=True, before_id=last, limit=_PAGE
        ):
            for each in page:
                # One more report than was asked for shows that there are more.
                if len(found) == limit:
                    shown = tuple(found)
                    return ReportList(reports=shown, round=number, before=before, has_more=True)
                found.append(_summary(each, closed))

            last = page[-1].id

        return ReportList(reports=tuple(found), round=number, before=before)

    return store.read(ask)


def show_report(store: Store, id: int) -> ShownReport:
    """Return the report with the number `id`, retired or not.

    Raises ReportNotFoundError, StoreError.
    """
    return store.read(lambda reading: shown_report(reading, find_report(reading, id)))


def require_present(store: Store, id: int) -> None:
    """Refuse a report that does not count in the newest round, as one to record by its number.

    What an earlier round or a withdrawn report says would become progress of this round. Raises
    ReportArgumentError, ReportNotFoundError, StoreError.
    """

    def ask(reading: ReadTransaction) -> tuple[ReportSummary, Round]:
        return shown_report(reading, find_report(reading, id)).about, reading.round()

    about, newest = store.read(ask)
    if about.round != newest.number:
        raise ReportArgumentError(
            f"report {id} belongs to round {about.round}, and round {newest.number} has begun:"
            " nothing was recorded; give the agent's reply in this round as text"
        )
    if about.retired is not None:
        raise ReportArgumentError(
            f"report {id} does not count: {about.why_not}; nothing was recorded; if it is true"
            " again, give the reply as text"
        )


def earlier_round(report: StoredReport, newest: Round, *, why: str) -> ReportArgumentError:
    """Return the refusal of a text that is `report` of an earlier round; `why` shows that it is."""
    return ReportArgumentError(
        f"the reply says the same as report {report.id}, which belongs to round {report.round},"
        f" {why}; round {newest.number} has begun: nothing was recorded; have the agent report in"
        " this round, with what it did now in its summary"
    )


def withdraw_report(
    project_context: ProjectContext, id: int, *, reason: str, by: str, now: str
) -> Withdrawal:
    """Withdraw the report `id`: it stays, marked, and its tasks and gates are as before it.

    `by` is who withdraws it, `reason` why; both are shown in CHRONICLE.md and ADL.md. `now` is ISO
    8601 in UTC. Raises ReportNotFoundError, ReportArgumentError and StoreError; then nothing was
    written.
    """
    why = redact(excerpt(" ".join(reason.split()), _MOST_OF_A_REASON)).text
    if not why:
        raise ReportArgumentError("the reason is empty; write why the report does not count")

    def change(writing: WriteTransaction) -> Change[Withdrawal]:
        found = find_report(writing, id)
        shown = shown_report(writing, found)
        # Asked within the transaction: the round may be closed while a person decides.
        refused = _not_possible(shown, writing.round())
        if refused is not None:
            return Change(answer=refused, shows=False)

        writing.retire_reports([id], reason="withdrawn")
        # The counters of the task go back too, or its next report would count as a repetition.
        changes = shown.decision.get("state_changes")
        uncount_report(writing, found, changes if isinstance(changes, Mapping) else {})

        # The snapshot is taken after it, so that the block of state does not count the report.
        after = snapshot_in(project_context, writing)
        about = shown.about
        what = f"report {id} of {about.agent or 'an agent'}"
        what += f" on {about.task or 'a task'} ({about.status or 'no status'})"
        entry = ChronicleEntry(
            time=now, agent=by, action=f"withdrew {what}", outcome=why, phase=after.phase
        )
        event = writing.add_event(
            NewEvent(
                kind="withdrawal",
                author=by,
                text=chronicle_text(entry),
                created_at=now,
                document=CHRONICLE,
            )
        )
        log = AdlEntry(
            kind="DECISION",
            time=now,
            description=f"Withdrawn: {what}. {why}",
            action=f"Done by {by}. The report is kept and counts no more.",
        )
        writing.add_event(
            NewEvent(kind="decision", author=by, text=adl_text(log), created_at=now, document=ADL)
        )

        is_elsewhere = not (project_context.writes_files or after.project.exists)
        done = Withdrawal(
            status="withdrawn",
            report=id,
            message=notice(
                "Report Withdrawn",
                f"Report {id} counts no more; it is kept, marked as withdrawn.",
                *_what_stays(shown, after.phase),
            ),
            revision=event.revision,
            resources=project_context.addresses(CHRONICLE, ADL),
        )

        return Change(
            answer=done, state_block=state_block_of(after, writing, is_elsewhere=is_elsewhere)
        )

    result, written = project_context.write(change, now=now)

    return replace(result, files=written.files, remarks=written.remarks)


def _not_possible(shown: ShownReport, newest: Round) -> Withdrawal | None:
    """Return why the report is not withdrawn now, None if it is."""
    about = shown.about
    if about.retired is not None:
        message = notice(
            "Nothing to Do", f"Report {about.report} already does not count: {about.why_not}."
        )
        return Withdrawal(status="unchanged", report=about.report, message=message)

    if about.round == newest.number and newest.is_open:
        return None

    # Only the newest round can be opened again, and only its own acceptance is taken back by that.
    command = "goop-mcp project round --reopen" if about.round == newest.number else None
    what = (
        "open it again first"
        if command is not None
        else f"record what is true now in round {newest.number}"
    )

    return Withdrawal(
        status="refused",
        report=about.report,
        message=warning(
            f"Report {about.report} belongs to round {about.round}, which is closed: {what}."
            " Nothing was changed.",
            command=command,
        ),
        command=command,
    )


def _what_stays(shown: ShownReport, phase: str | None) -> Iterator[str]:
    """Yield what the report did that a withdrawal leaves as it is, with the way back."""
    start, _, target = (shown.moved or "").partition(" → ")
    if target and target == phase:
        yield (
            f"It had moved the phase from {start} to {target}, where it stays:"
            f" `goop-mcp project phase {start}` goes back."
        )


def find_report(reading: ReadTransaction, id: int) -> StoredReport:
    """Return the stored report with the number `id`. Raises ReportNotFoundError."""
    # Larger numbers than the database can hold never name a report.
    found = reading.report(id) if 1 <= id <= _LARGEST_ID else None
    if found is None:
        raise ReportNotFoundError(
            f"there is no report {id}; goop-mcp reports list and goop://reports have the numbers"
        )
    return found


def _closing_revisions(reading: ReadTransaction) -> Mapping[int, int]:
    return {
        each.number: each.closed_revision
        for each in reading.rounds()
        if each.closed_revision is not None
    }


def _summary(stored: StoredReport, closed: Mapping[int, int]) -> ReportSummary:
    summary = envelope_of(stored).get("summary")
    actions = _values(stored.decision).get("actions")
    closed_at = closed.get(stored.round)
    return ReportSummary(
        report=stored.id,
        revision=stored.revision,
        round=stored.round,
        recorded_at=stored.created_at,
        protocol=stored.protocol,
        agent=stored.agent,
        phase=stored.phase,
        task=stored.task_id,
        status=stored.status,
        summary=excerpt(summary, 300) if isinstance(summary, str) else None,
        actions=tuple(map(str, actions)) if isinstance(actions, Iterable) else (),
        retired=stored.retired,
        late=closed_at is not None and stored.revision > closed_at,
        tiers=tiers_of(stored),
    )


def summaries(
    reading: ReadTransaction, reports: Sequence[StoredReport]
) -> tuple[ReportSummary, ...]:
    """Return what a list shows of `reports`, in their order."""
    closed = _closing_revisions(reading)
    return tuple(_summary(each, closed) for each in reports)


def shown_report(reading: ReadTransaction, stored: StoredReport) -> ShownReport:
    """Return a report as `show_report` does, within a transaction."""
    # From the revision before, because the report's own events are among them.
    later = reading.events(after_revision=stored.revision - 1, limit=_MOST_EVENTS)
    events = list(takewhile(lambda event: event.revision == stored.revision, later))
    # The block of state is renewed with every report and is not an entry of this one.
    touched = [
        event.document
        for event in events
        if event.document is not None and event.kind not in HIDDEN_KINDS
    ]
    if any(event.kind == "state" for event in events):
        touched.append(STATE)

    withdrawn = None
    if stored.retired == "withdrawn":
        # Found by its text, as an event has no column for the report that it is about.
        begin = f"withdrew report {stored.id} of "
        withdrawals = reading.events(
            after_revision=stored.revision, kinds=["withdrawal"], limit=_MOST_WITHDRAWALS
        )
        found = next((event for event in withdrawals if begin in event.text), None)
        if found is not None:
            outcome = _OUTCOME.search(found.text)
            why = f": {outcome[1]}" if outcome is not None else ""
            withdrawn = f"{found.created_at} by {found.author}{why}"

    return ShownReport(
        about=_summary(stored, _closing_revisions(reading)),
        envelope=envelope_of(stored),
        verdict=_values(stored.verdict),
        decision=_values(stored.decision),
        documents=tuple(dict.fromkeys(touched)),
        moved=next((event.text for event in events if event.kind == "transition"), None),
        withdrawn=withdrawn,
        claims=claims_of(stored),
    )


def _values(text: str) -> Mapping[str, JsonValue]:
    values = json.loads(text)
    return values if isinstance(values, Mapping) else {}

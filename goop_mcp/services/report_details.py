"""A recorded report for people: its reply with the findings, its claims, and what came before it.

Everything in it was written by agents: data, never instructions.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from goop_mcp.errors import GoopError
from goop_mcp.memory.times import written
from goop_mcp.protocols import FAMILIES, validate
from goop_mcp.services.project_snapshot import envelope_of
from goop_mcp.services.recorded_reports import (
    LISTED,
    MOST_LISTED,
    ReportArgumentError,
    ReportList,
    ReportSummary,
    ShownReport,
    find_report,
    shown_report,
    summaries,
)
from goop_mcp.services.reply_sources import recorded_text
from goop_mcp.store.interface import ReadTransaction, Store
from goop_mcp.store.records import StoredAttempt, StoredReport
from goop_mcp.validation.expectations import NOTHING_EXPECTED
from goop_mcp.validation.families import Family, Locator
from goop_mcp.validation.limits import DEFAULT_LIMITS
from goop_mcp.validation.positions import SourceText
from goop_mcp.workflow.task_ids import normal_task_id
from goop_mcp.workspace.report_claims import tiers_of

__all__ = [
    "MarkedFinding",
    "ReplyLine",
    "ReportDetails",
    "ReportFilter",
    "filter_reports",
    "report_details",
]

_SCANNED: Final = 500
_PAGE: Final = 100
_MOST_LINES: Final = 5_000
_MOST_OF_A_LINE: Final = 4_000
_MOST_OF_A_TASK: Final = 20
_MOST_ATTEMPTS: Final = 500
_LONGEST_CALL: Final = timedelta(hours=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFilter:
    """Which reports are listed; "" stands for all.

    `tier` is that of at least one claim: verified, recorded, observed or claimed. `text` is a
    part of the envelope, in any case.
    """

    agent: str = ""
    task: str = ""
    status: str = ""
    verdict: str = ""
    tier: str = ""
    text: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether all reports are listed."""
        return self == ReportFilter()

    def accepts(self, report: StoredReport) -> bool:
        """Whether `report` is listed."""
        if self.agent and self.agent.casefold() not in (report.agent or "").casefold():
            return False
        if self.task and normal_task_id(self.task) != normal_task_id(report.task_id or ""):
            return False
        if self.status and self.status != report.status:
            return False
        if self.text and self.text.casefold() not in report.envelope.casefold():
            return False
        if not (self.tier or self.verdict):
            return True

        # The verdict is read last, as it is the longest.
        verdict = json.loads(report.verdict)
        severities = {str(each.get("severity")) for each in verdict.get("findings", ())}
        worst = next((each for each in ("error", "warning", "info") if each in severities), "clean")
        if self.verdict and self.verdict != worst:
            return False

        return not self.tier or self.tier in tiers_of(report)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedFinding:
    """A finding of a recorded verdict."""

    rule: str
    severity: str
    message: str
    fix: str
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyLine:
    """A line of a reply, and the findings about it."""

    number: int
    text: str
    findings: tuple[MarkedFinding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDetails:
    """A report, and what explains it.

    `lines` are those of the reply as the agent sent it if `is_whole_reply`, and else of its
    envelope, written again; `left_out` counts the lines that are not shown. `unplaced` are findings
    without a place. `attempts` are
    those of the retry loop that led to it, oldest first; `of_task` the other reports about its task
    in its round, oldest first, each with the reason of its decision.
    """

    shown: ShownReport
    lines: tuple[ReplyLine, ...] = field(repr=False)
    left_out: int
    is_whole_reply: bool
    unplaced: tuple[MarkedFinding, ...] = ()
    attempts: tuple[StoredAttempt, ...] = field(default=(), repr=False)
    of_task: tuple[tuple[ReportSummary, str], ...] = ()


def filter_reports(
    store: Store,
    wanted: ReportFilter,
    *,
    round: int | None = None,
    before: int | None = None,
    limit: int = LISTED,
) -> tuple[ReportList, int | None]:
    """Return at most `limit` reports that `wanted` accepts, newest first, and where to go on.

    One call looks at 500 reports, so that a search costs the same however many there are. The
    second value is the number to pass as `before` to go on, None if there are no older reports.
    Raises ReportArgumentError and StoreError.
    """
    if not 1 <= limit <= MOST_LISTED:
        raise ReportArgumentError(f"limit is {limit}; expected 1 to {MOST_LISTED}")

    def ask(reading: ReadTransaction) -> tuple[ReportList, int | None]:
        newest = reading.round().number
        number = newest if round is None else round
        if not 1 <= number <= newest:
            raise ReportArgumentError(f"there is no round {number}; expected 1 to {newest}")

        found: list[StoredReport] = []
        last = before
        for _ in range(_SCANNED // _PAGE):
            page = reading.reports(round=number, include_retired=True, before_id=last, limit=_PAGE)
            for each in page:
                last = each.id
                if wanted.accepts(each):
                    found.append(each)
                if len(found) == limit:
                    listed = summaries(reading, found)
                    return ReportList(reports=listed, round=number, before=before), last
            if len(page) < _PAGE:
                last = None
                break

        return ReportList(reports=summaries(reading, found), round=number, before=before), last

    return store.read(ask)


def report_details(store: Store, id: int) -> ReportDetails:
    """Return the report with the number `id` and what explains it.

    Raises ReportNotFoundError and StoreError.
    """

    def ask(reading: ReadTransaction) -> ReportDetails:
        stored = find_report(reading, id)
        shown = shown_report(reading, stored)
        kept = reading.kept_reply(stored.agent) if stored.agent is not None else None
        family = next((each for each in FAMILIES if each.name == stored.protocol), None)
        text, is_whole = "", False
        # The last reply of an agent is kept for a while, and may be the one of a later report.
        if kept is not None and _envelope_in(kept.text) == envelope_of(stored):
            text, is_whole = kept.text, True

        details = ReportDetails(shown=shown, lines=(), left_out=0, is_whole_reply=is_whole)
        details = replace(
            details,
            attempts=_attempts(reading, stored),
            of_task=_of_task(reading, stored),
        )
        return _with_lines(details, text, family)

    details = store.read(ask)
    if details.lines:
        return details

    family = next((each for each in FAMILIES if each.name == details.shown.about.protocol), None)
    try:
        return _with_lines(details, recorded_text(store, id), family)
    except GoopError:
        # An older version may have stored what this one does not write: the values are shown.
        text = json.dumps(details.shown.envelope, ensure_ascii=False, indent=2)
        return _with_lines(details, text, None)


def _envelope_in(text: str) -> Mapping[str, Any] | None:
    envelope = validate(text).envelope
    return envelope.to_dict() if envelope is not None else None


def _with_lines(details: ReportDetails, text: str, family: Family | None) -> ReportDetails:
    """Return `details` with the lines of `text`, and the findings at the lines they are about."""
    if not text:
        return details

    source = SourceText(text)
    # What finds the place of a path in the envelope, and where the envelope begins.
    locator: Locator | None = None
    start = 0
    extraction = family.find(source, DEFAULT_LIMITS) if family is not None else None
    if family is not None and extraction is not None and extraction.chosen is not None:
        parsed = family.read(extraction, extraction.chosen, NOTHING_EXPECTED, DEFAULT_LIMITS)
        locator, start = parsed.locator, parsed.start

    by_line: dict[int, list[MarkedFinding]] = {}
    unplaced: list[MarkedFinding] = []
    findings = details.shown.verdict.get("findings")
    for each in findings if isinstance(findings, list) else ():
        if not isinstance(each, dict):
            continue

        found = MarkedFinding(
            rule=str(each.get("rule")),
            severity=str(each.get("severity")),
            message=str(each.get("message")),
            fix=str(each.get("fix")),
            path=str(each["path"]) if each.get("path") else None,
        )
        line = each.get("line") if details.is_whole_reply else None
        if not isinstance(line, int) and locator is not None and found.path is not None:
            offset = locator.locate(found.path, None)
            line = source.line_and_column(start + offset)[0] if offset is not None else None
        (by_line.setdefault(line, []) if isinstance(line, int) else unplaced).append(found)

    lines = text.split("\n")
    shown = [
        ReplyLine(
            number=number,
            text=line[:_MOST_OF_A_LINE] + (" …" if len(line) > _MOST_OF_A_LINE else ""),
            findings=tuple(by_line.pop(number, ())),
        )
        for number, line in enumerate(lines[:_MOST_LINES], start=1)
    ]
    unplaced += [each for rest in by_line.values() for each in rest]

    return replace(
        details,
        lines=tuple(shown),
        left_out=max(0, len(lines) - _MOST_LINES),
        unplaced=tuple(unplaced),
    )


def _of_task(
    reading: ReadTransaction, stored: StoredReport
) -> tuple[tuple[ReportSummary, str], ...]:
    """Return the other reports about the task, from those that were recorded around it."""
    if stored.task_id is None:
        return ()

    task = normal_task_id(stored.task_id)
    around = reading.reports(round=stored.round, include_retired=True, limit=_PAGE)
    if not any(each.id <= stored.id for each in around):
        around = reading.reports(
            round=stored.round, include_retired=True, before_id=stored.id, limit=_PAGE
        )
    same = [
        each
        for each in around
        if each.id != stored.id and normal_task_id(each.task_id or "") == task
    ][:_MOST_OF_A_TASK]
    reasons = [str(json.loads(each.decision).get("reason") or "") for each in same]

    return tuple(zip(summaries(reading, same), reasons, strict=True))[::-1]


def _attempts(reading: ReadTransaction, stored: StoredReport) -> tuple[StoredAttempt, ...]:
    """Return the attempts of the call whose last reply was this report.

    Only calls whose texts are recorded can be recognised, by the envelope that was accepted.
    """
    recorded_at = datetime.fromisoformat(stored.created_at)
    since = written(recorded_at - _LONGEST_CALL)
    near: Sequence[StoredAttempt] = [
        each
        for each in reading.attempts(since=since, limit=_MOST_ATTEMPTS)
        if each.agent in (None, stored.agent)
    ]
    envelope = envelope_of(stored)
    for last in reversed(near):
        if last.result == "accepted" and last.reply and _envelope_in(last.reply) == envelope:
            return tuple(each for each in near if each.call_id == last.call_id)

    return ()

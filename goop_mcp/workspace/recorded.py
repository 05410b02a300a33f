"""What recorded reports say of tasks: only the last report of each counts."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from goop_mcp.store.records import StoredReport
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workflow.task_ids import normal_task_id
from goop_mcp.workspace.documents.marks import must_haves_in

__all__ = ["Records", "ReportLedger", "read_records"]

_VERIFIERS = frozenset({"goop-verifier", "verifier", "wave-verifier", "goop-wave-verifier"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What the reports say, by task ids as we write them.

    A task is done when its last report is COMPLETE and no check in it failed. `blockers` are those
    of last reports that are BLOCKED, and those that unfinished tasks name. `phase` and `last_at`
    (ISO 8601) are those of the newest report, None without one.
    """

    done: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    verified: bool = False
    passed_must_haves: frozenset[str] = frozenset()
    phase: str | None = None
    last_at: str | None = None


class _Standing(NamedTuple):
    """What the last report of a task says, or of an agent where it names no task."""

    task: str | None
    status: str | None
    has_failed: bool
    blocker: str | None


class ReportLedger:
    """What all reports up to one say together. Does not change: `with_reports` returns another.

    Each report is read once, when it is added, so that the cost of the next one does not grow with
    those before.
    """

    def __init__(self) -> None:
        """Begin without any report."""
        self.newest: StoredReport | None = None
        self.revision = 0
        # The task that was reported last stands last.
        self._standings: dict[str, _Standing] = {}
        self._verification: Mapping[str, JsonValue] | None = None
        self._phase: str | None = None

    def with_reports(self, reports: Iterable[StoredReport], *, revision: int) -> "ReportLedger":
        """Return the ledger with `reports`, oldest first; `revision` is that of the project they bring it to."""
        later = ReportLedger()
        later.newest, later.revision = self.newest, revision
        later._verification, later._phase = self._verification, self._phase
        standings = dict(self._standings)

        for report in reports:
            envelope = _envelope(report)
            task = normal_task_id(report.task_id) if report.task_id else None
            # Reports without a task follow each other: a later one of the same agent takes the
            # place of an earlier one.
            key = task or f"({report.agent})"
            standings.pop(key, None)
            standings[key] = _Standing(
                task, report.status, _failed(envelope), _blocker(report, envelope)
            )
            if report.agent in _VERIFIERS:
                later._verification = envelope

            later._phase = report.phase or later._phase
            later.newest = report

        later._standings = standings

        return later

    @cached_property
    def records(self) -> Records:
        """What the reports say; those without a task count for phase and blockers only."""
        done: list[str] = []
        unfinished: list[str] = []
        failed: list[str] = []
        blockers: list[str] = []

        # Newest first, in one pass: a long project has thousands of tasks, and each report asks for
        # this.
        for each in reversed(self._standings.values()):
            if each.blocker is not None:
                blockers.append(each.blocker)
            if each.task is None:
                continue
            if each.has_failed:
                failed.append(each.task)

            is_done = each.status == "COMPLETE" and not each.has_failed
            (done if is_done else unfinished).append(each.task)

        verification = self._verification

        return Records(
            done=tuple(done),
            open=tuple(unfinished),
            failed=tuple(failed),
            blockers=tuple(blockers),
            verified=verification is not None and not _failed(verification),
            passed_must_haves=_passed(verification),
            phase=self._phase,
            last_at=self.newest.created_at if self.newest is not None else None,
        )


def read_records(reports: Iterable[StoredReport]) -> Records:
    """Return what `reports`, newest first, say together.

    The newest of each task, agent and phase are enough: the others count for nothing.
    """
    return ReportLedger().with_reports(reversed(list(reports)), revision=0).records


def _envelope(report: StoredReport) -> Mapping[str, JsonValue]:
    values = json.loads(report.envelope)
    return values if isinstance(values, Mapping) else {}


def _checks(envelope: Mapping[str, JsonValue]) -> Sequence[Mapping[str, JsonValue]]:
    checks = envelope.get("verification")
    if not isinstance(checks, Sequence) or isinstance(checks, str):
        return ()
    return [check for check in checks if isinstance(check, Mapping)]


def _failed(envelope: Mapping[str, JsonValue]) -> bool:
    return any(check.get("passed") is False for check in _checks(envelope))


def _passed(envelope: Mapping[str, JsonValue] | None) -> frozenset[str]:
    checks = _checks(envelope or {})
    return frozenset(
        id
        for check in checks
        if check.get("passed") is True
        for id in must_haves_in(str(check.get("name")))
    )


def _blocker(report: StoredReport, envelope: Mapping[str, JsonValue]) -> str | None:
    """Return what stands in the way; a finished task has nobody left who could take its blocker back."""
    if report.status == "COMPLETE":
        return None

    handoff = envelope.get("handoff")
    text = handoff.get("blockers") if isinstance(handoff, Mapping) else None
    if isinstance(text, str):
        return text
    return (
        f"{report.agent or 'an agent'} is blocked and does not say by what"
        if report.status == "BLOCKED"
        else None
    )

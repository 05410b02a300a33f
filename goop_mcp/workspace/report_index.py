"""The status of tasks by the reports of a round: the last report of each task counts."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from goop_mcp.store.records import StoredReport
from goop_mcp.validation.check_texts import shows_no_result
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.validation.tiers import CLAIM_TIERS, ClaimTier
from goop_mcp.workflow.agents import VERIFIERS
from goop_mcp.workflow.task_ids import is_report_key, normal_task_id, report_key
from goop_mcp.workspace.documents.status_markers import must_haves_in
from goop_mcp.workspace.report_claims import claims_of, tiers_of

__all__ = [
    "Blocker",
    "Records",
    "ReportIndex",
    "blocker_of",
    "checks_without_result",
    "claimed_checks",
    "finishes_task",
    "names_of",
    "work_of",
]

_COMPLETE = "COMPLETE"
_BLOCKED = "BLOCKED"


class Blocker(NamedTuple):
    """What a report is blocked by; `revision`, `agent` and `at` (ISO 8601) are its report's."""

    text: str
    revision: int
    agent: str | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The reports combined, with task ids in our spelling.

    A task is done if its last report is COMPLETE, no check in it failed and each passed one shows a
    result. `blocked` are the blockers of last reports that are BLOCKED, and those that unfinished
    tasks name, newest first, by the task, or by `report 7` if the report names no
    task. `stopped` are the tasks whose last report is BLOCKED, until somebody decides.
    `verification_report` is the number of the verifier's last report, `passed_must_haves` maps
    those that it reports as passed to the tier of the check, `task_claims` the tiers of claims in
    last reports of tasks to their number, None without one. `phase` and `last_at` (ISO 8601) are
    those of the newest report, None without one.
    """

    done: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    blocked: Mapping[str, Blocker] = field(default_factory=dict)
    stopped: frozenset[str] = frozenset()
    verified: bool = False
    verification_report: int | None = None
    passed_must_haves: Mapping[str, str] = field(default_factory=dict)
    task_claims: Mapping[str, int] | None = None
    phase: str | None = None
    last_at: str | None = None

    @property
    def blockers(self) -> tuple[str, ...]:
        """The texts of all blockers."""
        return tuple(each.text for each in self.blocked.values())

    def without_decided(self, decided: Mapping[str, int]) -> "Records":
        """Return the records without the blockers that a person has decided on.

        `decided` maps tasks to the revision of the decision: a later report may block again. Older
        decisions name the agent of a report without a task, in parentheses.
        """
        left = {
            key: each
            for key, each in self.blocked.items()
            if each.revision > max(decided.get(name, 0) for name in names_of(key, each.agent))
        }
        return replace(self, blocked=left, stopped=self.stopped & left.keys())

    @property
    def unfinished(self) -> Mapping[str, str]:
        """The tasks that are not done as people read them: open, failed (a check) or blocked."""
        stopped = dict.fromkeys(self.stopped, "blocked")
        return dict.fromkeys(self.open, "open") | dict.fromkeys(self.failed, "failed") | stopped

    @property
    def standings(self) -> Mapping[str, str]:
        """The status of each reported task: done, failed (a check of it) or open."""
        unfinished = dict.fromkeys(self.open, "open") | dict.fromkeys(self.failed, "failed")
        return unfinished | dict.fromkeys(self.done, "done")


class ReportIndex:
    """The reports of a round up to a revision, combined; retired ones do not count.

    Immutable: `with_reports` returns another index. Each report is read once, when it is added, so
    that the cost of a report does not grow with the number of earlier ones. The index is valid as
    long as the database gives the same `changed_at` (`ReadTransaction.reports_changed_at`).
    """

    def __init__(self, *, changed_at: int = 0) -> None:
        """Begin without any report."""
        self.newest: StoredReport | None = None
        self.revision = 0
        self.changed_at = changed_at
        # By task or by the work of a report without one, in the order of the last reports, the
        # newest at the end.
        self._done: dict[str, None] = {}
        self._open: dict[str, None] = {}
        self._failed: dict[str, None] = {}
        self._stopped: dict[str, None] = {}
        self._blocked: dict[str, Blocker] = {}
        self._tiers: dict[str, Mapping[str, int]] = {}
        # What the tiers of all tasks add up to.
        self._claims: Counter[str] = Counter()
        self._verification: Mapping[str, JsonValue] | None = None
        self._verification_report: int | None = None
        self._verified_must_haves: Mapping[str, str] = {}
        self._phase: str | None = None

    def with_reports(self, reports: Iterable[StoredReport], *, revision: int) -> "ReportIndex":
        """Return the index with `reports`, oldest first; `revision` is that of the project."""
        later = copy(self)
        # What was computed of the reports before.
        later.__dict__.pop("records", None)
        later.revision = revision
        for name in ("done", "open", "failed", "stopped", "blocked", "tiers", "claims"):
            setattr(later, f"_{name}", copy(getattr(self, f"_{name}")))
        for report in reports:
            later._add(report)

        return later

    def _add(self, report: StoredReport) -> None:
        """Put `report`, the newest one, in place of the last one about its work."""
        values = json.loads(report.envelope)
        envelope = values if isinstance(values, Mapping) else {}
        key, blocker = work_of(report), blocker_of(report, envelope)
        for each in (self._done, self._open, self._failed, self._stopped, self._blocked):
            each.pop(key, None)
        self._claims.subtract(self._tiers.pop(key, {}))
        # Without a task, only what blocks counts.
        if blocker is not None:
            at = report.created_at
            self._blocked[key] = Blocker(blocker, report.revision, report.agent, at)
        if not is_report_key(key):
            (self._done if finishes_task(report, envelope) else self._open)[key] = None
            if _failed(envelope):
                self._failed[key] = None
            if report.status == _BLOCKED:
                self._stopped[key] = None
            self._tiers[key] = tiers_of(report, envelope)
            self._claims.update(self._tiers[key])
        if report.agent in VERIFIERS:
            self._verification, self._verification_report = envelope, report.id
            self._verified_must_haves = _must_haves(report, envelope)

        self._phase = report.phase or self._phase
        self.newest = report

    @property
    def work(self) -> str | None:
        """What the newest report is about, None without one."""
        return work_of(self.newest) if self.newest is not None else None

    @cached_property
    def records(self) -> Records:
        """The reports combined; those without a task count for phase and blockers only."""
        verification = self._verification
        claims: dict[str, int] = {
            tier: self._claims[tier] for tier in CLAIM_TIERS if self._claims[tier]
        }

        return Records(
            done=tuple(reversed(self._done)),
            open=tuple(reversed(self._open)),
            failed=tuple(reversed(self._failed)),
            blocked=dict(reversed(self._blocked.items())),
            stopped=frozenset(self._stopped),
            verified=verification is not None
            and not _failed(verification)
            and not checks_without_result(verification),
            verification_report=self._verification_report,
            passed_must_haves=self._verified_must_haves,
            task_claims=claims if self._done or self._open else None,
            phase=self._phase,
            last_at=self.newest.created_at if self.newest is not None else None,
        )


def work_of(report: StoredReport) -> str:
    """Return what `report` is about: its task, or its own work if it names none (D-110)."""
    return normal_task_id(report.task_id) if report.task_id else report_key(report.id)


def names_of(key: str, agent: str | None) -> tuple[str, ...]:
    """Return the names of the work `key`: without a task, its agent in parentheses as well."""
    return (key, f"({agent})") if is_report_key(key) else (key,)


def finishes_task(report: StoredReport, envelope: Mapping[str, JsonValue]) -> bool:
    """Whether `report`, the last one of its task, finishes it.

    It does if it is COMPLETE, no check failed, and each passed one shows a result.
    """
    return (
        report.status == _COMPLETE and not _failed(envelope) and not checks_without_result(envelope)
    )


def checks_without_result(envelope: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return the names of the passed checks whose texts show that nothing ran."""
    return tuple([str(each.get("name")) for each in _checks(envelope) if _shows_nothing(each)])


def _shows_nothing(check: Mapping[str, JsonValue]) -> bool:
    text = check.get("evidence")
    return check.get("passed") is True and isinstance(text, str) and shows_no_result(text)


def claimed_checks(report: StoredReport, envelope: Mapping[str, JsonValue]) -> Iterator[str]:
    """Yield "check NAME passed" for each passed check that nobody saw.

    What was seen is in the verdict that was recorded with `report`: the tiers of its evidence.
    """
    for check, tier in _checks_with_tiers(report, envelope):
        if check.get("passed") is True and tier == "claimed":
            yield f"check {check.get('name')} passed"


def _must_haves(report: StoredReport, envelope: Mapping[str, JsonValue]) -> dict[str, str]:
    """Return the must-haves that passed checks of `report` name, with the tier of the check.

    The weakest of several checks counts, as the must-have rests on all of them.
    """
    found: dict[str, str] = {}
    for check, tier in _checks_with_tiers(report, envelope):
        if check.get("passed") is True and not _shows_nothing(check):
            for id in must_haves_in(str(check.get("name"))):
                found[id] = max(found.get(id, tier), tier, key=CLAIM_TIERS.index)

    return found


def _checks_with_tiers(
    report: StoredReport, envelope: Mapping[str, JsonValue]
) -> Iterator[tuple[Mapping[str, JsonValue], ClaimTier]]:
    tiers = {item.path: item.tier for item in claims_of(report, envelope)}
    for number, check in enumerate(_checks(envelope), 1):
        yield check, tiers.get(f"/goop_report/verification/check[{number}]", "claimed")


def _checks(envelope: Mapping[str, JsonValue]) -> Sequence[Mapping[str, JsonValue]]:
    checks = envelope.get("verification")
    if not isinstance(checks, Sequence) or isinstance(checks, str):
        return ()
    return [check for check in checks if isinstance(check, Mapping)]


def _failed(envelope: Mapping[str, JsonValue]) -> bool:
    return any(check.get("passed") is False for check in _checks(envelope))


def blocker_of(report: StoredReport, envelope: Mapping[str, JsonValue]) -> str | None:
    """Return the blocker of a report, None without one.

    A finished task has none: nobody would ever withdraw it.
    """
    if report.status == _COMPLETE:
        return None

    # Agents name blockers also in reports that are only partial.

    handoff = envelope.get("handoff")
    text = handoff.get("blockers") if isinstance(handoff, Mapping) else None
    if isinstance(text, str):
        return text
    return (
        f"{report.agent or 'an agent'} is blocked and does not say by what"
        if report.status == _BLOCKED
        else None
    )

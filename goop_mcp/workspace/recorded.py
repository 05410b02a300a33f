"""What recorded reports say of tasks: only the last report of each counts."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from goop_mcp.store.records import StoredReport
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workflow.task_ids import normal_task_id
from goop_mcp.workspace.documents.marks import must_haves_in

__all__ = ["Records", "read_records"]

_VERIFIERS = frozenset({"goop-verifier", "verifier", "wave-verifier", "goop-wave-verifier"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What the reports say, by task ids as we write them.

    A task is done when its last report is COMPLETE and no check in it failed. `blockers` are those of last reports
    that are BLOCKED. `phase` and `last_at` (ISO 8601) are those of the newest report, None without one.
    """

    done: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    verified: bool = False
    passed_must_haves: frozenset[str] = frozenset()
    phase: str | None = None
    last_at: str | None = None


def read_records(reports: Iterable[StoredReport]) -> Records:
    """Return what `reports`, newest first, say together; those without a task count for phase and blockers only.

    The newest of each task, agent and phase are enough: the others count for nothing.
    """
    listed = [(report, _envelope(report)) for report in reports]
    last: dict[str, tuple[StoredReport, Mapping[str, JsonValue]]] = {}
    for report, envelope in listed:
        # Reports without a task follow each other: a later one of the same agent takes the place of an earlier one.
        last.setdefault(normal_task_id(report.task_id) if report.task_id else f"({report.agent})", (report, envelope))
    tasks = {id: each for id, each in last.items() if each[0].task_id}
    failed = tuple(id for id, (_, envelope) in tasks.items() if _failed(envelope))
    done = tuple(id for id, (report, _) in tasks.items() if report.status == "COMPLETE" and id not in failed)
    verification = next((envelope for report, envelope in listed if report.agent in _VERIFIERS), None)
    return Records(
        done=done,
        open=tuple(id for id in tasks if id not in done),
        failed=failed,
        blockers=tuple(_blocker(report, envelope) for report, envelope in last.values() if report.status == "BLOCKED"),
        verified=verification is not None and not _failed(verification),
        passed_must_haves=_passed(verification),
        phase=next((report.phase for report, _ in listed if report.phase), None),
        last_at=listed[0][0].created_at if listed else None,
    )


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
        id for check in checks if check.get("passed") is True for id in must_haves_in(str(check.get("name")))
    )


def _blocker(report: StoredReport, envelope: Mapping[str, JsonValue]) -> str:
    handoff = envelope.get("handoff")
    text = handoff.get("blockers") if isinstance(handoff, Mapping) else None
    return text if isinstance(text, str) else f"{report.agent or 'an agent'} is blocked and does not say by what"

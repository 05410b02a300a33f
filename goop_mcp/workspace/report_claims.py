"""What the claims of recorded reports rest on."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from goop_mcp import protocols
from goop_mcp.errors import GoopError
from goop_mcp.store.records import StoredReport
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.validation.tiers import (
    CLAIM_TIERS,
    EvidenceItem,
    claimed_items,
    tier_counts,
    tiers_in_words,
)

__all__ = ["RoundClaims", "claims_of", "claims_of_envelope", "tiers_of"]


def claims_of(
    report: StoredReport, envelope: Mapping[str, JsonValue] | None = None
) -> tuple[EvidenceItem, ...]:
    """Return what each claim of a recorded report rests on.

    It is in the verdict; of a report that was recorded before verdicts had it, or without a look at
    anything but the reply, each claim rests on the report alone. `envelope` is that of the report
    if a caller has read it already.
    """
    verdict = json.loads(report.verdict)
    evidence = verdict.get("evidence") if isinstance(verdict, Mapping) else None
    items = tuple(
        EvidenceItem(
            path=str(item.get("path", "")),
            claim=str(item.get("claim", "")),
            tier=item["tier"],
            source=str(item.get("source", "")),
            detail=str(item.get("detail", "")),
        )
        for item in (evidence if isinstance(evidence, list) else ())
        if isinstance(item, Mapping) and item.get("tier") in CLAIM_TIERS
    )
    if items:
        return items
    return claims_of_envelope(
        report.protocol, json.loads(report.envelope) if envelope is None else envelope
    )


def claims_of_envelope(
    protocol: str | None, envelope: Mapping[str, Any]
) -> tuple[EvidenceItem, ...]:
    """Return the claims of an envelope, each resting on the report alone."""
    family = next((each for each in protocols.FAMILIES if each.name == protocol), None)
    try:
        return (
            () if family is None else claimed_items(family.claims(family.envelope_from(envelope)))
        )
    except (GoopError, ValueError):
        # An older version may have stored what this one does not read.
        return ()


def tiers_of(
    report: StoredReport, envelope: Mapping[str, JsonValue] | None = None
) -> dict[str, int]:
    """Return how many claims of a recorded report rest on each tier, as `tier_counts` does."""
    return tier_counts(item.tier for item in claims_of(report, envelope))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundClaims:
    """What the work of a round rests on, for those who accept it.

    `must_haves` maps those that the last verification or SPEC.md calls passed to the tier of the
    check, of `of` in SPEC.md; `report` is the number of that verification, None without one.
    `tasks` are the numbers of claims in the last reports of tasks by tier, None without a report.
    """

    must_haves: Mapping[str, str] = field(default_factory=dict)
    of: int = 0
    report: int | None = None
    tasks: Mapping[str, int] | None = None

    @property
    def about_must_haves(self) -> str:
        """Say it of the must-haves: "2 must-haves claimed, 0 observed (report 7)"."""
        number = len(self.must_haves)
        if not self.of:
            return "no must-haves"

        parts = [f"{number} {'must-have' if number == 1 else 'must-haves'} claimed"]
        if number != self.of:
            parts = [
                f"{number} of {self.of} {'must-have' if self.of == 1 else 'must-haves'} claimed"
            ]
        # Each is claimed, so that only what is more than that is counted; none is worth a word too.
        for tier in ("recorded", "observed"):
            ids = [id for id, found in self.must_haves.items() if found == tier]
            names = f" ({', '.join(ids)})" if 0 < len(ids) < number else ""
            if ids or tier == "observed":
                parts.append(f"{len(ids)} {tier}{names}")

        return ", ".join(parts) + (f" (report {self.report})" if self.report is not None else "")

    @property
    def about_tasks(self) -> str | None:
        """Say it of the last reports of tasks: "3 verified, 7 only claimed"; None without one."""
        return None if self.tasks is None else tiers_in_words(self.tasks)

    @property
    def sentence(self) -> str:
        """Say both on one line, with a period."""
        tasks = f" Tasks: {self.about_tasks}." if self.tasks is not None else ""
        return f"{self.about_must_haves[:1].upper()}{self.about_must_haves[1:]}.{tasks}"

    def to_dict(self) -> dict[str, Any]:
        """Return the tier of each must-have, its report, and the claims of tasks by tier."""
        return {
            "must_haves": dict(self.must_haves),
            "report": self.report,
            "tasks": dict(self.tasks or {}),
        }

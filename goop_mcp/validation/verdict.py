"""The verdict, which has the same shape on every surface."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, Protocol, Self

from msgspec.structs import replace

from goop_mcp.structs import DataStruct
from goop_mcp.validation.findings import Finding, Mode, Repair, Severity, excerpt
from goop_mcp.validation.plain_values import model_from
from goop_mcp.validation.tiers import (
    REQUIREMENTS,
    TIERS,
    EvidenceItem,
    Requirement,
    Tier,
    tier_counts,
)

__all__ = [
    "REQUIREMENTS",
    "TIERS",
    "Candidate",
    "Envelope",
    "EvidenceItem",
    "Requirement",
    "Tier",
    "Unverified",
    "Verdict",
]

_SHOWN_VERSION = 20


class Envelope(Protocol):
    """The typed model of any protocol."""

    @property
    def partial(self) -> bool:
        """Whether it was cut off: it is shown as far as it was read, and not judged further."""
        ...  # pragma: no cover

    def to_dict(self) -> dict[str, Any]:
        """Return the model as JSON values, in the specification's own names."""
        ...  # pragma: no cover


class Candidate(DataStruct, frozen=True, kw_only=True):
    """One envelope-like block, `line` counting from 1, and why it was or was not chosen."""

    protocol: str
    line: int
    chosen: bool
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Return the candidate as JSON values."""
        return {
            "protocol": self.protocol,
            "line": self.line,
            "chosen": self.chosen,
            "why": self.why,
        }


class Unverified(DataStruct, frozen=True, kw_only=True):
    """How many of the claims of an accepted reply were compared with nothing, and why (D-106).

    `claims` is their number, from 1 to `of`, the number of all: files, commits, memories and
    checks. `why` is one clause.
    """

    claims: int
    of: int
    why: str

    @property
    def sentence(self) -> str:
        """The share and the reason, for people."""
        return f"not verified: {self.claims} of {self.of} claims, because {self.why}"

    def to_dict(self) -> dict[str, Any]:
        """Return the share and the reason as JSON values."""
        return {"claims": self.claims, "of": self.of, "why": self.why}


class Verdict(DataStruct, frozen=True, kw_only=True):
    """The judgement on one reply.

    `verdict` is "rejected" exactly if a finding has severity "error". `findings` are in order of
    position and limited in number; `omitted` counts the rest. `envelope` is the part that could be
    read, also of a rejected reply. `repaired_text` is the envelope written again if lenient mode
    repaired its form. `feedback` is None exactly if the reply is accepted. `span` is the place of
    the envelope in `read_text`, in characters: the text as given, or before a host escaped it.
    `evidence` says what each claim rests on; it is empty where only the reply was looked at.
    `changed_severities` names the rules that a project or a person gave another severity, such as
    "goop_report/unknown-status: warning (goop-mcp.toml)", whether or not one was violated.
    `unverified` is the share of the claims that a surface of a project compared with nothing, None
    from `validate` and where all were compared.
    """

    verdict: Literal["accepted", "rejected"]
    protocol: str | None
    version: str | None
    mode: Mode
    findings: tuple[Finding, ...] = ()
    repairs: tuple[Repair, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    envelope: Envelope | None = None
    repaired_text: str | None = None
    feedback: str | None = None
    omitted: int = 0
    evidence: tuple[EvidenceItem, ...] = ()
    changed_severities: tuple[str, ...] = ()
    unverified: Unverified | None = None
    span: tuple[int, int] | None = None
    read_text: str = ""

    def __repr__(self) -> str:
        """Show the judgement and counts, but nothing of the reply, because logs keep such texts."""
        version = None if self.version is None else excerpt(self.version, _SHOWN_VERSION)
        counts = {f"{each}s": len(self.of_severity(each)) for each in Severity} | {
            "repairs": len(self.repairs)
        }
        shown = {"verdict": self.verdict, "protocol": self.protocol, "version": version, **counts}
        return f"Verdict({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def __bool__(self) -> bool:
        """Return whether the reply may be acted upon, for `if validate(reply):`."""
        return self.accepted

    @property
    def accepted(self) -> bool:
        """Whether the reply may be acted upon."""
        return self.verdict == "accepted"

    def of_severity(self: Self, severity: Severity) -> tuple[Finding, ...]:
        """Return the findings of one severity, in order of position."""
        return tuple(finding for finding in self.findings if finding.severity is severity)

    @property
    def tiers(self) -> dict[str, int]:
        """The number of claims that rest on each tier, the strongest first; empty without any."""
        return tier_counts(item.tier for item in self.evidence)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON values; what follows `omitted` only if there is any."""
        values: dict[str, Any] = {
            "verdict": self.verdict,
            "protocol": self.protocol,
            "version": self.version,
            "mode": self.mode,
            "findings": [finding.to_dict() for finding in self.findings],
            "repairs": [
                {
                    "rule": r.rule,
                    "message": r.message,
                    "line": r.line,
                    "before": r.before,
                    "after": r.after,
                }
                for r in self.repairs
            ],
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "envelope": None if self.envelope is None else self.envelope.to_dict(),
            "repaired_text": self.repaired_text,
            "feedback": self.feedback,
            "omitted": self.omitted,
        }
        # Without evidence the JSON is what it was before there was any.
        if self.evidence:
            values["evidence"] = [item.to_dict() for item in self.evidence]
        if self.changed_severities:
            values["changed_severities"] = [*self.changed_severities]
        if self.unverified is not None:
            values["unverified"] = self.unverified.to_dict()

        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the verdict that `to_dict` wrote, with its typed envelope.

        Values that are not part of the JSON are lost: `span` and `read_text`, and whether
        extensions of a report were XML. Raise ValueError, which names the place, for anything else.
        """
        if not isinstance(values, Mapping):
            raise ValueError("the verdict is not an object; expected what to_dict wrote")

        written = values.get("envelope")
        verdict = model_from(cls, {**values, "envelope": None})
        if verdict.accepted and verdict.of_severity(Severity.ERROR):
            raise ValueError(
                "the verdict is accepted although there are errors; expected what to_dict wrote"
            )

        if written is None:
            return verdict

        # The families import this module, so they are loaded by name when they are needed.
        families = {each.name: each for each in import_module("goop_mcp.protocols").FAMILIES}
        if verdict.protocol not in families:
            raise ValueError(
                f"protocol is {verdict.protocol!r}; expected one of {', '.join(families)}"
            )

        return replace(verdict, envelope=families[verdict.protocol].envelope_from(written))

"""What the claims of an envelope rest on: the tiers, and their words on every surface."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, get_args

from goop_mcp.structs import DataStruct
from goop_mcp.validation.claims import CheckClaim, Claims, CommitClaim, FileClaim, MemoryClaim
from goop_mcp.validation.findings import excerpt

__all__ = [
    "CLAIM_TIERS",
    "NO_CLAIMS_IN_WORDS",
    "REQUIREMENTS",
    "TIERS",
    "ClaimTier",
    "EvidenceItem",
    "Requirement",
    "Tier",
    "claimed",
    "claimed_items",
    "tier_counts",
    "tier_in_words",
    "tiers_in_words",
]

Tier = Literal["claimed", "observed", "recorded"]
"""What a check rests on: the report alone, what a host saw, or a run that we recorded."""

TIERS: tuple[Tier, ...] = get_args(Tier)
"""All tiers of a check, the weakest first; a caller may require one."""

Requirement = Literal["claimed", "readable", "observed", "recorded"]
"""What a passed check of a complete task must rest on.

A tier; or "readable": observed, where everything that the agent did could be read, and the report
alone where it could not.
"""

REQUIREMENTS: tuple[Requirement, ...] = get_args(Requirement)
"""All of them, the weakest first."""

ClaimTier = Literal["claimed", "observed", "recorded", "verified"]
"""What any claim rests on: as a Tier, or what the project itself shows of it."""

CLAIM_TIERS: Final[tuple[ClaimTier, ...]] = ("verified", "recorded", "observed", "claimed")
"""All tiers of claims, in the order in which people read them."""

NO_CLAIMS_IN_WORDS = "no claims"
"""What `tiers_in_words` returns for a report that claims no check, file, commit or memory."""

_WORDS: Mapping[str, str] = {"claimed": "only claimed"}
_SHOWN = 60


class EvidenceItem(DataStruct, frozen=True, kw_only=True):
    """What one claim of the envelope rests on.

    `path` is the XPath or JSON pointer of the claim and `claim` what it says in short, such as
    "check tests passed". `source` says where the evidence is found ("transcript line 31", "the
    project"), "" for a claim that rests on the report alone. `detail` is one clause about it.
    """

    path: str
    claim: str
    tier: ClaimTier
    source: str = ""
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the item as JSON values."""
        return {
            "path": self.path,
            "claim": self.claim,
            "tier": self.tier,
            "source": self.source,
            "detail": self.detail,
        }


def claimed(claim: CheckClaim | FileClaim | CommitClaim | MemoryClaim) -> EvidenceItem:
    """Return what `claim` says, resting on the report alone."""
    if isinstance(claim, CheckClaim):
        name = excerpt(claim.name, _SHOWN) or "a check"
        text = f"check {name!r} {'passed' if claim.passed else 'failed'}"
    elif isinstance(claim, FileClaim):
        text = f"file {excerpt(claim.path, _SHOWN)!r} {claim.kind}"
    elif isinstance(claim, CommitClaim):
        text = f"commit {excerpt(claim.sha, 12)!r}"
    else:
        text = f"memory {excerpt(claim.title, _SHOWN)!r}"

    return EvidenceItem(path=claim.where, claim=text, tier="claimed")


def claimed_items(claims: Claims) -> tuple[EvidenceItem, ...]:
    """Return the checks, files, commits and memories of `claims`, resting on the report alone."""
    found = claims.compared()
    # What a request asks for is no claim yet.
    files = [file for file in found.files if file.kind not in ("promised", "optional")]
    return (
        *map(claimed, found.checks),
        *map(claimed, files),
        *map(claimed, found.commits),
        *map(claimed, found.memories),
    )


def tier_counts(tiers: Iterable[str]) -> dict[str, int]:
    """Return how many of `tiers` there are of each, in the order of CLAIM_TIERS; absent is 0."""
    found = [*tiers]
    return {tier: number for tier in CLAIM_TIERS if (number := found.count(tier))}


def tier_in_words(tier: str) -> str:
    """Return the word for a tier: "verified" (in the project), or "only claimed"."""
    return _WORDS.get(tier, tier)


def tiers_in_words(counts: Mapping[str, int]) -> str:
    """Return counts for people and agents: "2 verified, 1 observed, 3 only claimed"."""
    return (
        ", ".join(
            f"{counts[tier]} {tier_in_words(tier)}" for tier in CLAIM_TIERS if counts.get(tier)
        )
        or NO_CLAIMS_IN_WORDS
    )

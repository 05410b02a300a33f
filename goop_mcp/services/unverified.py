"""Say which claims of an accepted reply were compared with nothing (D-106)."""

from typing import Final

from msgspec.structs import replace

from goop_mcp.protocols import FAMILIES
from goop_mcp.validation.tiers import claimed_items
from goop_mcp.validation.verdict import Unverified, Verdict

__all__ = [
    "NOT_ASKED",
    "NO_PROJECT",
    "SWITCHED_OFF",
    "number_of_claims",
    "with_unverified",
]

NOT_ASKED: Final = "nothing was compared with the project"
NO_PROJECT: Final = "there is neither a git repository nor a folder .goopspec here"
SWITCHED_OFF: Final = "check_workspace is false in the settings of the project"


def with_unverified(verdict: Verdict, why: str) -> Verdict:
    """Return `verdict` with the share of its claims that no evidence shows, and `why`.

    The verdict is one on the text, or on the text and evidence. It stays as it is without a reason,
    and where it rejects: nothing is done because of such a reply.
    """
    number = number_of_claims(verdict)
    shown = sum(item.tier != "claimed" for item in verdict.evidence)
    if not why or not verdict.accepted or number <= shown:
        return verdict

    return replace(verdict, unverified=Unverified(claims=number - shown, of=number, why=why))


def number_of_claims(verdict: Verdict) -> int:
    """Return how many files, commits, memories and checks the envelope claims, as tiers count."""
    family = next((each for each in FAMILIES if each.name == verdict.protocol), None)
    if verdict.envelope is None or family is None:
        return 0

    return len(claimed_items(family.claims(verdict.envelope)))

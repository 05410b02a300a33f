"""Read the two lists: all requirements, and those that are deferred."""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement; `source` is its place in the specification, `check` how it is verified."""

    id: str
    family: str
    text: str
    source: str
    check: str


@dataclass(frozen=True, slots=True)
class Deferral:
    """One id that no test proves yet; `reason` names the capability that is missing."""

    id: str
    reason: str


@cache
def load_ledger() -> dict[str, Requirement]:
    """Return every requirement by id, in file order. Raise ValueError for a duplicate id."""
    ledger: dict[str, Requirement] = {}
    for line in (FOLDER / "requirements.jsonl").read_text(encoding="utf-8").splitlines():
        entry = Requirement(**json.loads(line))
        if entry.id in ledger:
            raise ValueError(f"requirement {entry.id} stands twice in requirements.jsonl")

        ledger[entry.id] = entry

    return ledger


def load_deferrals() -> list[Deferral]:
    """Return the entries of `deferred.toml` in file order, with duplicates and unknown ids."""
    return list(_deferrals((FOLDER / "deferred.toml").read_text(encoding="utf-8")))


def deferred_reasons() -> dict[str, str]:
    """Return the reason of each deferred id."""
    return {deferral.id: deferral.reason for deferral in load_deferrals()}


def nearest_id(wrong_id: str) -> str | None:
    """Return the id of the ledger that looks most like `wrong_id`; None when none does."""
    matches = get_close_matches(wrong_id, load_ledger(), n=1, cutoff=0.5)
    return matches[0] if matches else None


def _deferrals(toml_text: str) -> Iterator[Deferral]:
    for group in tomllib.loads(toml_text).values():
        for requirement_id in group["ids"]:
            yield Deferral(requirement_id, group["reason"].strip())

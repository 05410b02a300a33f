"""Verify claims about saved memories, by their titles."""

import re
import unicodedata
from collections.abc import Sequence

from goop_mcp.errors import GoopError
from goop_mcp.redaction import redact
from goop_mcp.store.interface import ReadTransaction, Store
from goop_mcp.store.records import MemoryFilter
from goop_mcp.validation.claims import Claims, MemoryClaim
from goop_mcp.validation.evidence_rules import MEMORY_NOT_FOUND, NOT_CHECKED
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.rules import Problem
from goop_mcp.workflow.memory_titles import LONGEST_TITLE, cut_title

__all__ = ["check_memories"]

_SHOWN = 60
_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 16
_HITS = 200


def check_memories(claims: Claims, store: Store | None) -> tuple[list[Problem], set[str]]:
    """Return a problem for each claimed memory that was not saved, and the places of those saved.

    There is at least one such claim.

    An unreachable database never blocks a reply; it is reported as an info.
    """
    memories = claims.memories
    if store is None:
        return [_not_checked(memories, "no project memory is known")], set()

    try:
        if not store.exists():
            return [_not_checked(memories, "the project has no memory yet")], set()

        saved = store.read(lambda reading: [_is_saved(claim.title, reading) for claim in memories])
    except (GoopError, OSError):
        return [_not_checked(memories, "the project memory cannot be read")], set()

    problems = []
    unknown = [claim for claim, known in zip(memories, saved, strict=True) if known is None]
    if unknown:
        problems.append(_not_checked(unknown, "too many memories have the words of the title"))

    for claim, known in zip(memories, saved, strict=True):
        if known is not False:
            continue

        title = redact(claim.title).text
        message = (
            f"no memory is called {excerpt(title, _SHOWN)!r}; expected one saved under this title"
        )
        problems.append(MEMORY_NOT_FOUND.problem(message, path=claim.where, found=excerpt(title)))

    verified = {claim.where for claim, known in zip(memories, saved, strict=True) if known}
    return problems, verified


def _is_saved(title: str, reading: ReadTransaction) -> bool | None:
    """Return whether a memory has this title; None if there are too many to look through."""
    # A memory is saved without secrets, so its title is looked up without them.
    plain = " ".join(redact(title).text.split())
    wanted = {_compared(plain), _compared(cut_title(plain)[0])}
    # Full-text search finds candidates by whole words; the last word of a long title may be cut.
    words = _WORD.findall(unicodedata.normalize("NFC", plain[:LONGEST_TITLE]))[:_MOST_WORDS]
    words = words[:-1] if len(plain) > LONGEST_TITLE and len(words) > 1 else words
    # A title may consist of words that are not indexed; then only the newest can be looked through.
    if words and reading.can_find(words):
        hits = reading.search(words, operator="AND", wanted=MemoryFilter(), limit=_HITS)
        found = reading.memories_with_ids([hit.id for hit in hits])
    else:
        found = reading.memories(MemoryFilter(), limit=_HITS)

    if any(_compared(each.title) in wanted for each in found):
        return True
    # A full list may lack the memory: of frequent words, the search ranks only the newest.
    return None if len(found) >= _HITS else False


def _compared(title: str) -> str:
    """Return the form in which titles compare equal, whatever their blanks, case and cut end."""
    plain = " ".join(unicodedata.normalize("NFC", title).split())
    return plain[:LONGEST_TITLE].rstrip(" .…").casefold()


def _not_checked(claims: Sequence[MemoryClaim], why: str) -> Problem:
    what = "a memory was" if len(claims) == 1 else f"{len(claims)} memories were"
    message = f"{what} not verified: {why}; expected a memory of the project"
    return NOT_CHECKED.problem(message, path=claims[0].where, found=excerpt(claims[0].title))

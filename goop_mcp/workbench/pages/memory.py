"""The page Memory: search as agents do, read, and forget."""

import json
from collections.abc import Sequence
from typing import Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from goop_mcp import memory
from goop_mcp.memory.drafts import MEMORY_TYPES
from goop_mcp.memory.limits import MOST_QUERIES
from goop_mcp.store.records import StoredMemory
from goop_mcp.workbench.visits import RouteList, Visit, whole_number

__all__ = ["ROUTES"]

ROUTES: Final = RouteList()

_PAGE: Final = 25
_REDACTED: Final = ("[REDACTED]", "[PRIVATE]")
_MOST_REPORTS: Final = 100


@ROUTES.page("/memory", label="Memory", part="memory")
def _show(visit: Visit) -> Response:
    """Show what was found, or the newest memories without a question."""
    query, here = visit.query, visit.application
    asked = query.text("q")
    types = [query.text("type")] if query.text("type") in MEMORY_TYPES else []
    concepts = [query.text("concept")] if query.text("concept").strip() else []
    before = query.number("before")
    problem: str | None = None
    notes: Sequence[str] = ()
    rows: Sequence[tuple[StoredMemory, str]] = ()
    has_more = False

    try:
        if asked.strip():
            # Agents ask in several phrasings at once; here each line or part is one.
            phrasings = [part.strip() for part in asked.split("|") if part.strip()]
            found = memory.searching.search_memory(
                here.store,
                memory.searching.SearchRequest(
                    queries=phrasings[:MOST_QUERIES], types=types, concepts=concepts, limit=_PAGE
                ),
            )
            rows = [(each.memory, each.snippet) for each in found.items]
            notes = found.notes
        else:
            newest = memory.repository.list_memories(
                here.store, types=types, concepts=concepts, limit=_PAGE + 1, before_id=before
            )
            has_more = len(newest) > _PAGE
            rows = [(each, each.content[:240]) for each in newest[:_PAGE]]
    except memory.searching.SearchArgumentError as error:
        problem = str(error)

    return visit.show(
        "memory.html",
        rows=rows,
        asked=asked,
        type=types[0] if types else "",
        concept=query.text("concept"),
        types=list(MEMORY_TYPES),
        notes=notes,
        problem=problem,
        older=rows[-1][0].id if rows and has_more else None,
        is_filtered=bool(types or concepts or before),
    )


@ROUTES.page("/memory/{id}", of="/memory")
def _read(visit: Visit) -> Response:
    found = _memory(visit)
    reports = visit.application.store.read(
        lambda reading: reading.reports(include_retired=True, limit=_MOST_REPORTS)
    )
    # Envelopes are kept as JSON, in which the title stands with its escapes.
    wanted = json.dumps(found.title, ensure_ascii=False)
    used = [(each.id, each.agent or "") for each in reports if wanted in each.envelope]
    redactions = sum(found.content.count(mark) for mark in _REDACTED)

    return visit.show("memory_one.html", memory=found, redactions=redactions, used=used)


@ROUTES.page("/memory/{id}/forget", of="/memory")
def _ask(visit: Visit) -> Response:
    return visit.show("memory_forget.html", memory=_memory(visit))


@ROUTES.action("/memory/{id}/forget")
def _forget(visit: Visit) -> Response:
    """Forget a memory; its page asked before, and only the page with the question leads here."""
    found = _memory(visit)
    forgotten = memory.repository.forget_memory(visit.application.writing_store(), found.id)
    return visit.go("/memory", f"Memory {forgotten.id} is forgotten: {forgotten.title}")


def _memory(visit: Visit) -> StoredMemory:
    """Return the memory that the address names. Raises HTTPException."""
    try:
        return memory.repository.get_memory(
            visit.application.store, whole_number(visit.params["id"]) or 0
        )
    except memory.repository.MemoryNotFoundError as error:
        raise HTTPException(404, str(error)) from error

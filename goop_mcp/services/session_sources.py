"""What a session handoff is composed from: the records since a session last resumed from one."""

from collections.abc import Sequence
from dataclasses import dataclass

from goop_mcp.services.project_snapshot import ProjectSnapshot
from goop_mcp.services.waiting import waiting_in
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.store.records import Event, MemoryFilter, StoredMemory, StoredReport
from goop_mcp.workspace.layout import HANDOFF
from goop_mcp.workspace.projection_text import GIVEN_KIND, HIDDEN_KINDS, RESUMED_KIND

__all__ = ["HANDOFF_KIND", "SessionSources", "session_sources"]

HANDOFF_KIND = "handoff"
"""The kind of the events from which HANDOFF.md is built."""

_MOST_MEMORIES = 50
_MOST_REPORTS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSources:
    """The sources of a session handoff, oldest first.

    They begin where a session last resumed from a handoff, or else with the present round: the
    newest 1,000 reports, the memories, `given`, which are the fields that callers gave for earlier
    handoffs (events of GIVEN_KIND), `notes`, what people added to them, and `waiting`, what waits
    for a person.
    """

    snapshot: ProjectSnapshot
    reports: Sequence[StoredReport] = ()
    memories: Sequence[StoredMemory] = ()
    given: Sequence[Event] = ()
    notes: Sequence[str] = ()
    waiting: Sequence[str] = ()


def session_sources(snapshot: ProjectSnapshot, reading: ReadTransaction) -> SessionSources:
    """Return the sources of the next session handoff.

    A handoff that no session has resumed from is replaced by one that contains all of it.
    """
    # Nothing of a closed round belongs to what comes after it.
    begin = snapshot.round.closed_revision or snapshot.round.first_revision - 1

    # A session that resumed from the handoff has read what was in it until then.
    resumed = reading.events(document=HANDOFF, kinds=(RESUMED_KIND,))
    last = max(resumed[-1].revision if resumed else 0, begin)

    events = reading.events(document=HANDOFF, after_revision=last, kinds=(GIVEN_KIND, "imported"))
    # A note that was added after the last handoff is copied to the next one when that is shown.
    handoffs = reading.event_revisions(HANDOFF, without=HIDDEN_KINDS, limit=1)
    shown = max(handoffs, default=0)
    memories = [
        each
        for each in reading.memories(MemoryFilter(), limit=_MOST_MEMORIES)
        if each.revision > last
    ]

    return SessionSources(
        snapshot=snapshot,
        reports=reading.reports(
            after_revision=last, round=snapshot.round.number, limit=_MOST_REPORTS
        )[::-1],
        memories=memories[::-1],
        given=[each for each in events if each.kind == GIVEN_KIND],
        waiting=tuple(each.note for each in waiting_in(reading, snapshot)),
        notes=[each.text for each in events if each.kind != GIVEN_KIND and each.revision <= shown],
    )

"""Render documents from the database, with the text that a written file would have.

This is for databases that many machines share, where no file is written. If this machine has the
project's folder, people's text in it is part of the document; no row and no file is changed here.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import time

from goop_mcp.errors import WorkspaceError
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.store.records import Event
from goop_mcp.workspace.archive import MOST_ENTRIES, archive_text, newest_blocks
from goop_mcp.workspace.document_lookup import find_current_document
from goop_mcp.workspace.documents.dates import comparable_moment
from goop_mcp.workspace.documents.handoff import read_handoff
from goop_mcp.workspace.documents.state_block import place_state_block
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import HANDOFF
from goop_mcp.workspace.projection_text import (
    HIDDEN_KINDS,
    blocks_of,
    handoff_of,
    insert_blocks,
    line_end_of,
    state_block_of,
)
from goop_mcp.workspace.projections import PROJECTED, newest_state_block

__all__ = ["recorded_documents", "render_archive", "render_document", "render_documents"]


def recorded_documents(reading: ReadTransaction) -> tuple[str, ...]:
    """Return the names of the documents with recorded entries."""
    return tuple(name for name in PROJECTED if reading.document_revision(name) > 0)


def render_documents(reading: ReadTransaction, files: ProjectFiles) -> Mapping[str, str]:
    """Return the text of each document with recorded entries, by name.

    A document whose file cannot be read is left out; reading the folder reports it.
    """
    texts: dict[str, str] = {}
    for name in PROJECTED:
        with suppress(WorkspaceError):
            if (text := render_document(reading, files, name)) is not None:
                texts[name] = text

    return texts


def render_document(reading: ReadTransaction, files: ProjectFiles, name: str) -> str | None:
    """Return the document `name` with its recorded entries, None if the file needs no change.

    Entries follow those of people, each between its marks. Of two handoffs the one generated later
    counts. Raises WorkspaceError for an unreadable file.
    """
    if not reading.document_revision(name):
        return None

    found = files.read_text(find_current_document(files, name))
    if name == HANDOFF:
        ours = handoff_of(_newest_events(reading, name, 2))
        if ours is None or found is None:
            return ours

        # A handoff of people that only has a date counts as generated at the start of that day, so
        # that one of ours from the same day precedes it.
        theirs = comparable_moment(read_handoff(found).generated or "", of_day=time.min)
        own = comparable_moment(read_handoff(ours).generated or "") or ""
        return None if theirs is not None and theirs > own else ours

    _, kept = newest_blocks(blocks_of(_newest_events(reading, name, MOST_ENTRIES + 1)))
    # A file on this machine may have some of the entries, for instance from a checkout.
    missing = [block for block in kept if found is None or not block.stands_in(found)]

    text = insert_blocks(found, missing, document=name)
    if (state := newest_state_block(reading, name)) is not None:
        text = place_state_block(text, state_block_of(state).text, line_end=line_end_of(text))

    return None if text == found else text


def render_archive(reading: ReadTransaction, document: str, month: str) -> str | None:
    """Return the archive of `document` for `month`, None without archived entries."""
    newest = blocks_of(_newest_events(reading, document, MOST_ENTRIES + 1))
    _, kept = newest_blocks(newest)
    shown = kept[0].revision if kept else 0
    events = reading.events(document=document, month=month)
    blocks = blocks_of(event for event in events if event.revision < shown)
    return archive_text(document, month, blocks) if blocks else None


def _newest_events(reading: ReadTransaction, name: str, wanted: int) -> list[Event]:
    """Return at least the newest `wanted` of our entries, and all events since the oldest."""
    revisions = reading.event_revisions(name, without=HIDDEN_KINDS, limit=wanted)
    return reading.events(after_revision=min(revisions, default=1) - 1, document=name)

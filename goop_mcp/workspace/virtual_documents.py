"""Documents of a database that many machines share, where no file is written.

Documents of ours are rendered with the text that a written file would have. If this machine has the
project's folder, people's text in it is part of them, and people's documents are read there; else
those count that a step has kept. No row and no file is changed here.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import time

from goop_mcp.errors import WorkspaceError
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.store.records import Event
from goop_mcp.workspace.archive import MOST_ENTRIES, archive_text, newest_blocks
from goop_mcp.workspace.checkpoints import (
    MOST_READ,
    Checkpoint,
    Checkpoints,
    read_checkpoint,
    read_checkpoints,
)
from goop_mcp.workspace.document_lookup import find_current_document
from goop_mcp.workspace.documents.dates import comparable_moment
from goop_mcp.workspace.documents.handoff import read_handoff
from goop_mcp.workspace.documents.state_block import place_state_block
from goop_mcp.workspace.file_changes import CHECKPOINT
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import (
    DOCUMENTS,
    FOLDER,
    HANDOFF,
    PEOPLES_DOCUMENTS,
    STATE,
    document_uri,
)
from goop_mcp.workspace.project import Project, read_project
from goop_mcp.workspace.projection_text import (
    HIDDEN_KINDS,
    blocks_of,
    handoff_of,
    insert_blocks,
    line_end_of,
    state_block_of,
)
from goop_mcp.workspace.projections import PROJECTED, newest_state_block

__all__ = [
    "find_shared_document",
    "read_shared_checkpoints",
    "read_shared_project",
    "recorded_documents",
    "render_archive",
    "render_document",
    "render_documents",
]


def read_shared_project(reading: ReadTransaction, files: ProjectFiles) -> Project:
    """Return the project as the database and the folder of this machine show it.

    Without a folder it exists if the database has its state or a document that a step has kept.
    """
    texts = render_documents(reading, files)
    project = read_project(files, rendered=texts)
    if project.has_folder:
        return project

    # Nothing here can contradict our own documents, and rendering them takes long, so that only
    # their URIs are given. Which other documents there are is known where the folder is.
    paths = {
        name: document_uri(name)
        for name in DOCUMENTS
        if name in texts or (name in PROJECTED and reading.document_revision(name))
    }

    return replace(project, exists=bool(texts), paths=paths, missing=())


def read_shared_checkpoints(reading: ReadTransaction, files: ProjectFiles) -> Checkpoints:
    """Return the checkpoints that the database keeps and those in the folder, newest first.

    Of those in the database at least the newest MOST_READ are read, of every round.
    """
    saved = read_checkpoints(files)
    found = {each.id: each for each in saved.found}
    for round in reading.rounds():
        if len(found) >= MOST_READ:
            break
        for kept in reading.kept_documents(step=CHECKPOINT, round=round.number):
            read = read_checkpoint(kept.name, kept.text, path=kept.name)
            if isinstance(read, Checkpoint):
                found[read.id] = read

    newest = sorted(found.values(), key=lambda each: each.saved_at, reverse=True)

    return replace(saved, found=tuple(newest))


def recorded_documents(reading: ReadTransaction, files: ProjectFiles) -> tuple[str, ...]:
    """Return the names of the documents that the database has, in the order of DOCUMENTS."""
    kept = () if files.exists(FOLDER) else PEOPLES_DOCUMENTS
    return tuple(
        name
        for name in DOCUMENTS
        if (name in PROJECTED and reading.document_revision(name))
        or (name in kept and reading.kept_document(name) is not None)
        or (name == STATE and reading.stored_state() is not None)
    )


def render_documents(reading: ReadTransaction, files: ProjectFiles) -> Mapping[str, str]:
    """Return the texts that count in place of files, by name.

    Where the folder is, those are the state and the documents with recorded entries; elsewhere the
    state and the documents that a step has kept. A document whose file cannot be read is left out;
    reading the folder reports it.
    """
    texts: dict[str, str] = {}
    for name in (STATE, *(PROJECTED if files.exists(FOLDER) else PEOPLES_DOCUMENTS)):
        with suppress(WorkspaceError):
            if (text := render_document(reading, files, name)) is not None:
                texts[name] = text

    return texts


def find_shared_document(reading: ReadTransaction, files: ProjectFiles, name: str) -> str | None:
    """Return the text of the document `name` for readers, None if it does not exist.

    Raises WorkspaceError for an unreadable file.
    """
    rendered = render_document(reading, files, name)
    if rendered is not None:
        return rendered
    return files.read_text(find_current_document(files, name, stored=reading.stored_state()))


def render_document(reading: ReadTransaction, files: ProjectFiles, name: str) -> str | None:
    """Return the document `name` as the database shows it, None if the file in the folder counts.

    Recorded entries follow those of people, each between its marks. Of two handoffs the one
    generated later counts. Raises WorkspaceError for an unreadable file.
    """
    if name == STATE:
        return reading.stored_state()

    if name in PEOPLES_DOCUMENTS:
        last = None if files.exists(FOLDER) else reading.kept_document(name)
        return None if last is None else last.text

    if name not in PROJECTED or not reading.document_revision(name):
        return None

    found = files.read_text(find_current_document(files, name, stored=reading.stored_state()))
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

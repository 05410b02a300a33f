"""The documents that what is recorded shows in, where no file is written: as they would stand in the folder.

Many machines share one database then (STORAGE, section 4). What people keep in the folder of this machine, if it has
one, stays part of the document; nothing here changes a row or a file.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import time

from goop_mcp.errors import WorkspaceError
from goop_mcp.store.interface import Reading
from goop_mcp.workspace.documents.handoff import read_handoff
from goop_mcp.workspace.documents.moments import comparable_moment
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import HANDOFF
from goop_mcp.workspace.places import find_current_document
from goop_mcp.workspace.projection_text import blocks_of, handoff_of, insert_blocks
from goop_mcp.workspace.projections import PROJECTED

__all__ = ["recorded_documents", "render_document", "render_documents"]


def recorded_documents(reading: Reading) -> tuple[str, ...]:
    """Return the names of the documents that something recorded shows in."""
    return tuple(name for name in PROJECTED if reading.document_revision(name) > 0)


def render_documents(reading: Reading, files: ProjectFiles) -> Mapping[str, str]:
    """Return the text of each document that something recorded shows in, by name.

    One whose file cannot be read is left out; whoever reads the folder says so.
    """
    texts: dict[str, str] = {}
    for name in PROJECTED:
        with suppress(WorkspaceError):
            if (text := render_document(reading, files, name)) is not None:
                texts[name] = text
    return texts


def render_document(reading: Reading, files: ProjectFiles, name: str) -> str | None:
    """Return the document `name` with what is recorded; None where the file, if there is one, is all there is.

    Entries stand behind those of people, each between its marks. Of two handoffs the one that was generated later
    counts. Raises WorkspaceError for a file that is there and cannot be read.
    """
    events = reading.events(document=name)
    if not events:
        return None
    found = files.read_text(find_current_document(files, name))
    if name == HANDOFF:
        ours = handoff_of(events)
        return None if ours is None or (found is not None and _is_later(found, ours)) else ours
    missing = [block for block in blocks_of(events) if found is None or not block.stands_in(found)]
    return insert_blocks(found, missing, document=name) if missing else None


def _is_later(found: str, ours: str) -> bool:
    """Tell whether `found` says that it was generated after `ours`; one that names but the same day does not."""
    theirs = comparable_moment(read_handoff(found).generated or "", of_day=time.min)
    return theirs is not None and theirs > (comparable_moment(read_handoff(ours).generated or "") or "")

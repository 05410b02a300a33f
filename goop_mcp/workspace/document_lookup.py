"""Locate a document of the project in the folders of workflow, root and phase."""

from contextlib import suppress

from goop_mcp.errors import WorkspaceError
from goop_mcp.workspace.files import FileKind, ProjectFiles
from goop_mcp.workspace.layout import (
    GOOPSPEC_DATABASE,
    STATE,
    document_path,
    document_places,
    is_named_session,
)
from goop_mcp.workspace.state import ProjectState, read_state

__all__ = ["find_current_document", "find_document", "has_session", "is_there"]


def find_current_document(files: ProjectFiles, name: str, *, stored: str | None = None) -> str:
    """Return the path of the document `name` at present; its path in the root if it is missing.

    `stored` is the text of the state that a shared database keeps.
    """
    state = None
    if name != STATE:
        with suppress(WorkspaceError):
            state = read_state(files, stored=stored)

    return find_document(files, name, state=state if isinstance(state, ProjectState) else None)


def find_document(files: ProjectFiles, name: str, *, state: ProjectState | None) -> str:
    """Return the path of `name` for the workflow and phase of `state`; with None, in the root."""
    if state is None:
        return document_path(name)

    has_default = state.profile == "v1" and is_there(files, document_path(GOOPSPEC_DATABASE))
    places = document_places(
        name, workflow=state.workflow_id, phase=state.phase, has_default=has_default
    )

    return next((path for path in places if is_there(files, path)), document_path(name))


def has_session(files: ProjectFiles, id: str) -> bool:
    """Whether the project has documents of the named session `id`; its folder is enough.

    Nobody asked for documents of a session without one.
    """
    if not is_named_session(id):
        return False

    folder = document_path("", session=id).rstrip("/")
    try:
        return files.kind(folder) is FileKind.FOLDER
    except WorkspaceError:
        return False


def is_there(files: ProjectFiles, path: str) -> bool:
    """Whether `path` exists; a refused path counts, so that reading it gives the reason."""
    try:
        return files.exists(path)
    except WorkspaceError:
        return True

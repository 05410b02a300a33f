"""Which of its possible places a document of the project is read from: workflow, root, phase (WORKFLOW, section 5)."""

from goop_mcp.errors import WorkspaceError
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import GOOPSPEC_DATABASE, STATE, document_path, document_places
from goop_mcp.workspace.state import ProjectState, read_state

__all__ = ["find_current_document", "find_document", "is_there"]


def find_current_document(files: ProjectFiles, name: str) -> str:
    """Return where the document `name` lies now; its path in the root when it lies nowhere."""
    return find_document(files, name, state=None if name == STATE else _state(files))


def find_document(files: ProjectFiles, name: str, *, state: ProjectState | None) -> str:
    """Return where the document `name` lies for the workflow and the phase of `state`; None knows the root only."""
    if state is None:
        return document_path(name)

    has_default = state.profile == "v1" and is_there(files, document_path(GOOPSPEC_DATABASE))
    places = document_places(
        name, workflow=state.workflow_id, phase=state.phase, has_default=has_default
    )

    return next((path for path in places if is_there(files, path)), document_path(name))


def is_there(files: ProjectFiles, path: str) -> bool:
    """Return whether there is something at `path`; what may not be looked at counts, so that reading it says why."""
    try:
        return files.exists(path)
    except WorkspaceError:
        return True


def _state(files: ProjectFiles) -> ProjectState | None:
    try:
        state = read_state(files)
    except WorkspaceError:
        return None
    return state if isinstance(state, ProjectState) else None
